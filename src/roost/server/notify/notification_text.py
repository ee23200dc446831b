"""What a notification says, in English or Chinese. Pure: facts and the end of a log in, subject and body out.

All that comes from a job (its name, its error, its log) is cleaned: no control character reaches a subject or a terminal.
"""

import re
import unicodedata

import msgspec

from roost.core.notify_events import GPU_FREE, IDLE, START
from roost.core.states import Outcome
from roost.server.notify.phrases import PHRASES

MAX_SUBJECT = 200
MAX_LINE = 300
MAX_LOG = 3000
"""Characters of log in a message: what chat services take, less the rest of it."""
MOODS: dict[str, str] = {
    **dict.fromkeys(Outcome, "failure"),
    Outcome.SUCCEEDED: "success",
    Outcome.KILLED: "warning",
    IDLE: "warning",
}
"""How services may colour a message."""
_COLOUR = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")
_TURNS = frozenset(map(chr, (0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))))
"""Line and paragraph separators, and what turns the direction of text."""


class Facts(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of the thing to be told. `kind` is `start`, an outcome, `idle`, `gpu_free`, `more` or `test`."""

    kind: str
    job: int = 0
    attempt: int = 0
    name: str = ""
    user: str = ""
    node: str = ""
    gpus: tuple[int, ...] = ()
    exit_code: int | None = None
    error: str | None = None
    waited_ms: int | None = None
    ran_ms: int | None = None
    peak_mem_mib: int | None = None
    peak_rss_mib: int | None = None
    idle_ms: int | None = None
    where: tuple[tuple[str, int], ...] = ()
    """Of free GPUs, node and index."""
    count: int = 0


def subject(facts: Facts, lang: str) -> str:
    """One line."""
    say = PHRASES[lang]
    if facts.kind == GPU_FREE:
        text = say["subject_free"].format(gpus=_places(facts.where))
    elif facts.kind in ("more", "test"):
        text = say[f"subject_{facts.kind}"].format(count=facts.count)
    else:
        how = say[f"how_{facts.kind}"] + _exit(facts, say)
        text = say["subject"].format(job=facts.job, name=cleaned(facts.name, 80), how=how)
        text += say["on"].format(node=cleaned(facts.node, 80)) if facts.node else ""
    return cleaned(text, MAX_SUBJECT)


def _exit(facts: Facts, say: dict[str, str]) -> str:
    if facts.exit_code is None or facts.kind not in ("failed", "killed", "out_of_memory"):
        return ""
    return say["exit"].format(code=facts.exit_code)


def body(facts: Facts, lang: str, log: list[str]) -> str:
    """The rest: what is known, a line each, how to look further, and the last lines of the log."""
    say = PHRASES[lang]
    if facts.kind in ("more", "test"):
        return say[f"body_{facts.kind}"].format(count=facts.count)
    if facts.kind == GPU_FREE:
        return say["body_free"].format(gpus=_places(facts.where))
    pairs = [(say[name], value) for name, value in _pairs(facts, lang) if value]
    lines = [f"{name}{say['colon']}{value}" for name, value in pairs]
    if facts.kind == IDLE:
        lines.insert(0, say["body_idle"].format(time=duration(facts.idle_ms or 0, lang)))
    lines.append(f"{say['look']}{say['colon']}roost log {facts.job}")
    if log:
        lines += ["", say["last_lines"].format(count=len(log)), *log]
    return "\n".join(lines)


def _pairs(facts: Facts, lang: str) -> list[tuple[str, str]]:
    gpus = ",".join(map(str, facts.gpus))
    where = cleaned(facts.node, 80) + (f", GPU {gpus}" if gpus else "")
    attempt = f" ({PHRASES[lang]['attempt'].format(n=facts.attempt)})" if facts.attempt > 1 else ""
    ended = facts.kind not in (START, IDLE)
    return [
        ("job", f"{facts.job}{attempt}"),
        ("name", cleaned(facts.name, 200)),
        ("user", cleaned(facts.user, 80)),
        ("where", where if facts.node else ""),
        ("waited", duration(facts.waited_ms, lang) if facts.waited_ms is not None else ""),
        ("ran", duration(facts.ran_ms, lang) if facts.ran_ms is not None else ""),
        ("code", str(facts.exit_code) if ended and facts.exit_code is not None else ""),
        ("error", cleaned(facts.error or "", 500)),
        ("peak_gpu", _mib(facts.peak_mem_mib)),
        ("peak_ram", _mib(facts.peak_rss_mib)),
    ]


def _places(where: tuple[tuple[str, int], ...]) -> str:
    by_node: dict[str, list[str]] = {}
    for node, index in where:
        by_node.setdefault(node, []).append(str(index))
    return "; ".join(f"{cleaned(node, 80)}: GPU {','.join(indices)}" for node, indices in by_node.items())


def _mib(mib: int | None) -> str:
    if mib is None:
        return ""
    return f"{mib / 1024:.1f} GiB" if mib >= 1024 else f"{mib} MiB"


def duration(ms: int, lang: str) -> str:
    """A length of time, in its two largest units."""
    say, seconds = PHRASES[lang], max(0, ms) // 1000
    units = [(seconds // 86_400, "d"), (seconds // 3600 % 24, "h"), (seconds // 60 % 60, "m"), (seconds % 60, "s")]
    while len(units) > 1 and not units[0][0]:
        units.pop(0)
    return " ".join(f"{count}{say[unit]}" for i, (count, unit) in enumerate(units[:2]) if count or not i)


def cleaned(text: str, most: int) -> str:
    """One line without control characters, not longer than that."""
    found = "".join(" " if _is_control(c) else c for c in _COLOUR.sub("", text[: 4 * most])).strip()
    return found if len(found) <= most else found[: most - 1] + "…"


def _is_control(c: str) -> bool:
    return c in _TURNS or unicodedata.category(c) in ("Cc", "Cs")


def last_lines(out: bytes, err: bytes, count: int) -> list[str]:
    """The end of what a job wrote, errors last; both streams as one where they are one file."""
    errors = [] if err == out else _lines(err, count)
    output = _lines(out, max(count - len(errors), 0))
    kept: list[str] = []
    room = MAX_LOG
    for line in reversed([*output, *errors]):
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return kept[::-1]


def _lines(data: bytes, count: int) -> list[str]:
    """The last lines. Of one that was written over and over, like a progress bar, what stood there at the end."""
    if not count:
        return []
    lines = [line.rstrip("\r").rpartition("\r")[2] for line in data.decode("utf-8", "replace").split("\n")]
    return [found for line in lines[-count - 1 :] if (found := cleaned(line.expandtabs(4), MAX_LINE))][-count:]
