"""What a notification says, in English or Chinese. Pure: facts and the end of a log in, subject and body out.

All that comes from a job (its name, its error, its log) is cleaned: no control character reaches a subject or a terminal.
"""

import re
import unicodedata
from collections.abc import Iterator

import msgspec

from roost.core.notify_events import GPU_FREE, IDLE, START
from roost.core.states import Outcome
from roost.messages import Language, Message, render

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
    """What a notification is about. `kind` is `start`, an outcome, `idle`, `gpu_free`, `more` or `test`."""

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
    """Free GPUs: node and index."""
    count: int = 0


def subject(facts: Facts, lang: str) -> str:
    """One line."""
    language = _language(lang)
    if facts.kind == GPU_FREE:
        found = Message("notify.subject_free", gpus=_places(facts.where))
    elif facts.kind in ("more", "test"):
        found = Message(f"notify.subject_{facts.kind}", count=facts.count)
    else:
        said = {"job": facts.job, "name": cleaned(facts.name, 80), "how": _how(facts)}
        node = cleaned(facts.node, 80)
        found = Message("notify.subject_on", node=node, **said) if node else Message("notify.subject", **said)
    return cleaned(render(found, language), MAX_SUBJECT)


def _how(facts: Facts) -> Message:
    how = Message(f"notify.how_{facts.kind}")
    if facts.exit_code is None or facts.kind not in ("failed", "killed", "out_of_memory"):
        return how
    return Message("notify.how_exit", how=how, code=facts.exit_code)


def body(facts: Facts, lang: str, log: list[str]) -> str:
    """The rest: what is known, a line each, how to see more, and the last lines of the log."""
    language = _language(lang)
    if facts.kind in ("more", "test"):
        return render(Message(f"notify.body_{facts.kind}", count=facts.count), language)
    if facts.kind == GPU_FREE:
        return render(Message("notify.body_free", gpus=_places(facts.where)), language)
    messages = [*_lines_of(facts, language), Message("notify.line_log", job=facts.job)]
    if facts.kind == IDLE:
        messages.insert(0, Message("notify.body_idle", idle=(facts.idle_ms or 0) // 1000))
    lines = [render(message, language) for message in messages]
    if log:
        lines += ["", render(Message("notify.last_lines", count=len(log)), language), *log]
    return "\n".join(lines)


def _lines_of(facts: Facts, language: Language) -> Iterator[Message]:
    if facts.attempt > 1:
        yield Message("notify.line_attempt", job=facts.job, attempt=facts.attempt)
    else:
        yield Message("notify.line_job", job=facts.job)
    if name := cleaned(facts.name, 200):
        yield Message("notify.line_name", name=name)
    if user := cleaned(facts.user, 80):
        yield Message("notify.line_user", user=user)
    if node := cleaned(facts.node, 80):
        gpus = f", GPU {','.join(map(str, facts.gpus))}" if facts.gpus else ""
        yield Message("notify.line_node", node=node + gpus)
    if facts.waited_ms is not None:
        yield Message("notify.line_waited", waited=max(0, facts.waited_ms) // 1000)
    if facts.ran_ms is not None:
        yield Message("notify.line_ran", ran=max(0, facts.ran_ms) // 1000)
    if facts.exit_code is not None and facts.kind not in (START, IDLE):
        yield Message("notify.line_exit_code", code=facts.exit_code)
    if error := cleaned(render(Message.of_text(facts.error or ""), language), 500):
        yield Message("notify.line_error", error=error)
    if facts.peak_mem_mib is not None:
        yield Message("notify.line_peak_gpu", mib=facts.peak_mem_mib)
    if facts.peak_rss_mib is not None:
        yield Message("notify.line_peak_host", mib=facts.peak_rss_mib)


def _language(lang: str) -> Language:
    return "zh" if lang == "zh" else "en"


def _places(where: tuple[tuple[str, int], ...]) -> str:
    by_node: dict[str, list[str]] = {}
    for node, index in where:
        by_node.setdefault(node, []).append(str(index))
    return "; ".join(f"{cleaned(node, 80)}: GPU {','.join(indices)}" for node, indices in by_node.items())


def cleaned(text: str, longest: int) -> str:
    """One line without control characters, not longer than that."""
    found = "".join(" " if _is_control(c) else c for c in _COLOUR.sub("", text[: 4 * longest])).strip()
    return found if len(found) <= longest else found[: longest - 1] + "…"


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
    """The last lines. Of a line that was overwritten, like a progress bar, its last state."""
    if not count:
        return []
    lines = [line.rstrip("\r").rpartition("\r")[2] for line in data.decode("utf-8", "replace").split("\n")]
    return [found for line in lines[-count - 1 :] if (found := cleaned(line.expandtabs(4), MAX_LINE))][-count:]
