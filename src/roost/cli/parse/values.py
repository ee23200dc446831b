"""Parse values typed on the command line: durations, sizes, times of day, lists. Pure.

A ValueError says which values are accepted. No `re`, no `datetime`: every `roost submit` imports this module.
"""

import time

_UNIT_S = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_LONG_UNITS = {"sec": "s", "second": "s", "min": "m", "minute": "m", "hour": "h", "hr": "h", "day": "d", "week": "w"}
_MIB = {"k": 1 / 1024, "m": 1, "g": 1024, "t": 1024 * 1024}
_MAX_S = 100 * 366 * 86400
NONE, AUTO, ANY = "none", "auto", "any"


class InvalidValue(ValueError):
    """A value that an option does not accept; its text is a message of the catalogue `cli`."""

    def __init__(self, code: str, /, **params: object) -> None:
        super().__init__(code)
        self.params = params

    def __str__(self) -> str:
        from roost.messages.terminal import say

        return say(self.args[0], **self.params)


class BareMinutes(int):
    """Seconds from a number without a unit, which is taken as minutes; the command says so."""


def seconds(text: str) -> int:
    """A duration in seconds; a bare number is minutes."""
    word = text.strip().lower()
    if is_bare(word):
        total: int = BareMinutes(round(float(word) * 60))
    elif ":" in word or _is_days_dash(word):
        total = _clock(word)
    else:
        total = _units(word)
    if total > _MAX_S:
        raise InvalidValue("cli.hundred_years")
    return total


def is_bare(text: str) -> bool:
    """True for a number without a unit."""
    word = text.strip()
    return word.isascii() and word.replace(".", "", 1).isdigit()


def in_words(total_s: int) -> str:
    """`2 hours 30 minutes`."""
    from roost.messages.terminal import say

    return " ".join(say(f"shown.unit_{name}", n=count) for count, name in in_units(total_s) or [(0, "second")])


def in_units(total_s: int) -> list[tuple[int, str]]:
    """Days, hours, minutes and seconds, without those that are 0."""
    parts = []
    for size, name in ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second")):
        count, total_s = divmod(total_s, size)
        parts.append((count, name))
    return [(count, name) for count, name in parts if count]


def brief(total_s: float) -> str:
    """The same in at most six characters: `12s`, `5m03s`, `1h02m`, `3d04h`."""
    whole = max(0, int(total_s))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    if whole < 86400:
        return f"{whole // 3600}h{whole % 3600 // 60:02}m"
    days = whole // 86400
    return f"{days}d{whole % 86400 // 3600:02}h" if days < 100 else f"{days}d"


def lasted(total_s: float) -> str:
    """A measured duration: like `brief`, but `0.8s`, `40ms` or `<1ms` below a second."""
    if total_s >= 1:
        return brief(total_s)
    if total_s < 0.001:
        return "<1ms"
    return f"{int(total_s * 10) / 10}s" if total_s >= 0.1 else f"{int(total_s * 1000)}ms"


def plural(count: int, noun: str) -> str:
    """`1 job`, `2,000 jobs`."""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


def mebibytes(text: str) -> int:
    """A size in MiB; G means GiB."""
    word = text.strip().lower()
    number = word.rstrip("kmgtib")
    unit = word[len(number) :]
    if unit.removesuffix("ib").removesuffix("b") not in _MIB or not is_bare(number):
        raise InvalidValue("cli.size")
    size = float(number) * _MIB[unit[0]]
    if not 1 <= size < 1 << 40:
        raise InvalidValue("cli.least_size")
    return round(size)


def shared_memory(text: str) -> "int | str":
    """A size in MiB, or `auto`."""
    return AUTO if text.strip().lower() == AUTO else mebibytes(text)


def least_memory(text: str) -> int:
    """A size in MiB; 0 for `any`."""
    return 0 if text.strip().lower() == ANY else mebibytes(text)


def simulated(text: str) -> str:
    """Simulated GPUs: `4`, `4x24G`, `2x80G,1x24G`, `lab:4x24G` for those that servers share; `off` for real ones."""
    word = text.strip()
    name, colon, rest = word.partition(":")
    if colon and not is_simulation_name(name):
        raise InvalidValue("cli.sim_name")
    for part in () if word == "off" else (rest if colon else word).split(","):
        number, cross, amount = part.strip().lower().partition("x")
        if not number.isdecimal() or not 0 < int(number) <= 4096 or (cross and not _is_size(amount)):
            raise InvalidValue("cli.sim_form")
    return word


def is_simulation_name(text: str) -> bool:
    """Whether a simulation that servers share can be called that."""
    plain = text.replace("-", "a").replace("_", "a")
    return text[:1].isalpha() and len(text) <= 32 and plain.isascii() and plain.isalnum()


def _is_size(text: str) -> bool:
    try:
        return mebibytes(text) > 0
    except ValueError:
        return is_bare(text)


def size(mib: float) -> str:
    """`8.0G`, `800M`."""
    if mib < 1000:
        return f"{mib:.0f}M"
    return f"{mib / 1024:.1f}G" if mib < 1000 * 1024 else f"{mib / 1024 / 1024:.1f}T"


def begin(text: str, now_s: float | None = None) -> str:
    """A moment as RFC 3339 in UTC: `+2h`, `22:00` (the next one), `tomorrow 8:00`, `2026-11-20 08:00`, RFC 3339."""
    now = time.time() if now_s is None else now_s
    word = text.strip().lower()
    if word.startswith("now"):
        word = word[3:].strip() or "+0s"
    if word.startswith("+"):
        return rfc3339(now + seconds(word[1:]))
    if word.startswith(("today", "tomorrow")):
        day, _, clock = word.partition(" ")
        return rfc3339(_on_day(now, 1 if day == "tomorrow" else 0, clock.strip() or "0:00"))
    if len(word) >= 10 and word[4] == "-":
        return rfc3339(_date_time(text.strip()))
    at = _on_day(now, 0, word)
    return rfc3339(at if at > now else _on_day(now, 1, word))


def since(text: str, now_s: float | None = None) -> str:
    """A moment that has passed as RFC 3339 in UTC: `2h` ago, or `2026-11-20`, `2026-11-20 08:00`, RFC 3339."""
    word = text.strip()
    if len(word) >= 10 and word[4] == "-":
        return rfc3339(_date_time(word))
    try:
        return rfc3339((time.time() if now_s is None else now_s) - seconds(word))
    except ValueError:
        raise InvalidValue("cli.past_time") from None


def rfc3339(epoch_s: float) -> str:
    """UTC, to the second."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch_s))


def integer(text: str) -> int:
    """A whole number."""
    try:
        return int(text)
    except ValueError:
        raise InvalidValue("cli.whole_number") from None


def count(text: str) -> int:
    """A whole number, not negative."""
    value = integer(text)
    if value < 0:
        raise InvalidValue("cli.negative")
    return value


def port(text: str) -> int:
    """A port of TCP."""
    value = count(text)
    if value > 65535:
        raise InvalidValue("cli.max_port")
    return value


def file(text: str) -> str:
    """A file by its whole path."""
    import os

    return os.path.abspath(text)


def file_or_off(text: str) -> str:
    """A file by its whole path, or `off`."""
    return text if text == "off" else file(text)


def percent(text: str) -> int:
    """0 to 100, with or without the sign."""
    value = count(text.removesuffix("%"))
    if value > 100:
        raise InvalidValue("cli.max_percent")
    return value


def weight(text: str) -> float:
    """A finite number; it may be 0 or negative."""
    try:
        value = float(text)
    except ValueError:
        raise InvalidValue("cli.number") from None
    if not -1e6 <= value <= 1e6:
        raise InvalidValue("cli.weight_range")
    return value


def quota(text: str) -> "int | str":
    """A whole number, not negative; `none` lifts a quota."""
    return NONE if text == NONE else count(text)


def items(text: str) -> list[str]:
    """Split at commas."""
    found = [item.strip() for item in text.split(",") if item.strip()]
    if not found:
        raise InvalidValue("cli.empty")
    return found


def alternatives(text: str) -> list[str]:
    """Split at commas or bars: `A100|H100`."""
    return items(text.replace("|", ","))


def since_any(names: list[str]) -> list[str]:
    """Each name once, after the last `any`, which cancels the names before it."""
    start = max((at + 1 for at, name in enumerate(names) if name.lower() == ANY), default=0)
    return list(dict.fromkeys(names[start:]))


def assignment(text: str) -> list[str]:
    """`NAME=value`, or `NAME` alone for the value it has here."""
    name = text.partition("=")[0]
    if not name or "\0" in text:
        raise InvalidValue("cli.name_value")
    return [text]


def ids(text: str) -> list[str]:
    """Job ids: `12`, `10-20`, `@`, `@~2`, several with commas."""
    found = items(text)
    for item in found:
        if not is_id(item):
            raise InvalidValue("cli.job_ids")
    return found


def is_id(item: str) -> bool:
    """True when this can name jobs."""
    if item in ("@", "all"):
        return True
    if item.startswith("@~"):
        return item[2:].isdecimal()
    low, dash, high = item.partition("-")
    if not low.isdecimal():
        return False
    return not dash or (high.isdecimal() and int(low) <= int(high))


def expand(id_items: list[str], most: int = 100_000) -> list[int]:
    """Plain ids and ranges as numbers."""
    numbers: list[int] = []
    for item in id_items:
        low, dash, high = item.partition("-")
        first, last = int(low), int(high if dash else low)
        if last - first >= most:
            raise InvalidValue("cli.too_many_jobs", item=item, most=most)
        numbers.extend(range(first, last + 1))
    return numbers


def compress(numbers: list[int]) -> str:
    """`1-3, 7`."""
    parts: list[str] = []
    ordered = sorted(set(numbers))
    at = 0
    while at < len(ordered):
        end = at
        while end + 1 < len(ordered) and ordered[end + 1] == ordered[end] + 1:
            end += 1
        if end - at < 2:
            parts.extend(str(number) for number in ordered[at : end + 1])
        else:
            parts.append(f"{ordered[at]}-{ordered[end]}")
        at = end + 1
    return ", ".join(parts)


def _units(word: str) -> int:
    total = 0.0
    at = 0
    compact = word.replace(" ", "")
    while at < len(compact):
        end = at
        while end < len(compact) and (compact[end].isdigit() or compact[end] == "."):
            end += 1
        stop = end
        while stop < len(compact) and compact[stop].isalpha():
            stop += 1
        number, unit = compact[at:end], compact[end:stop]
        unit = _LONG_UNITS.get(unit if unit in ("s", "hrs") else unit.removesuffix("s") or unit, unit)
        if not is_bare(number) or unit not in _UNIT_S:
            raise InvalidValue("cli.duration")
        total += float(number) * _UNIT_S[unit]
        at = stop
    if not compact:
        raise InvalidValue("cli.duration")
    return round(total)


def _is_days_dash(word: str) -> bool:
    days, dash, hours = word.partition("-")
    return bool(dash) and days.isdecimal() and hours.isdecimal()


def _clock(word: str) -> int:
    """Slurm's: `MM:SS`, `HH:MM:SS`, `D-HH`, `D-HH:MM`, `D-HH:MM:SS`."""
    days, dash, rest = word.rpartition("-")
    fields = rest.split(":")
    if not all(field.isdecimal() for field in fields) or (dash and not days.isdecimal()) or len(fields) > 3:
        raise InvalidValue("cli.duration")
    numbers = [int(field) for field in fields]
    if dash:
        numbers += [0] * (3 - len(numbers))
        return int(days) * 86400 + numbers[0] * 3600 + numbers[1] * 60 + numbers[2]
    if len(numbers) == 2:
        numbers = [0, *numbers]
    return numbers[0] * 3600 + numbers[1] * 60 + numbers[2]


def _on_day(now: float, days: int, clock: str) -> float:
    hour, minute, second = _time_of_day(clock)
    here = time.localtime(now)
    return time.mktime((here[0], here[1], here[2] + days, hour, minute, second, 0, 0, -1))


def _time_of_day(clock: str) -> tuple[int, int, int]:
    fields = clock.split(":")
    if not 2 <= len(fields) <= 3 or not all(field.isdecimal() and len(field) <= 2 for field in fields):
        raise InvalidValue("cli.begin")
    hour, minute, second = [int(field) for field in fields] + [0] * (3 - len(fields))
    if hour > 23 or minute > 59 or second > 59:
        raise InvalidValue("cli.begin")
    return hour, minute, second


def _date_time(text: str) -> float:
    from datetime import datetime

    try:
        return datetime.fromisoformat(text.upper().replace(" ", "T", 1)).timestamp()
    except (ValueError, OverflowError, OSError):
        raise InvalidValue("cli.begin") from None
