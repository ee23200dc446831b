"""Amounts in words, for people."""


def size(mib: int) -> str:
    """`512 MiB`, `8 GiB`, `23.5 GiB`."""
    if mib < 1024:
        return f"{mib} MiB"
    return f"{mib // 1024} GiB" if mib % 1024 == 0 else f"{mib / 1024:.1f} GiB"


def span(seconds: int) -> str:
    """`40 s`, `5 min`, `2 h 10 min`, `3 d 4 h`: the two units that matter."""
    parts = []
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        count, seconds = divmod(seconds, length)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2]) or "0 s"
