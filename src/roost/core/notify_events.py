"""What people can be told of, in words: the events that a target or a job names, and which of them an end is.

Pure. Knows nothing of how a message is sent.
"""

from collections.abc import Iterable

from roost.core.errors import BadRequest
from roost.core.states import Outcome

START, IDLE, GPU_FREE, NONE = "start", "idle", "gpu_free", "none"
OF_A_JOB = (START, "end", "fail", "kill", "timeout", "lost", "oom", IDLE)
EVENTS = (*OF_A_JOB, GPU_FREE)
DEFAULT = ("end", IDLE)
LANGUAGES = ("en", "zh")

_ENDS: dict[str, frozenset[str]] = {
    Outcome.SUCCEEDED: frozenset({"end"}),
    Outcome.FAILED: frozenset({"end", "fail"}),
    Outcome.CANNOT_START: frozenset({"end", "fail"}),
    Outcome.OUT_OF_MEMORY: frozenset({"end", "fail", "oom"}),
    Outcome.TIMED_OUT: frozenset({"end", "fail", "timeout"}),
    Outcome.KILLED: frozenset({"end", "kill"}),
    Outcome.LOST: frozenset({"end", "fail", "lost"}),
}


def words_for(kind: str) -> frozenset[str]:
    """The words under which somebody may have asked for this: an outcome has several, all else is its own word."""
    return _ENDS.get(kind) or frozenset({kind})


def is_wanted(kind: str, by_target: Iterable[str], by_job: Iterable[str]) -> bool:
    """Whether it is told: as the job says, else as the target does."""
    return not words_for(kind).isdisjoint(by_job or by_target)


def check_events(events: Iterable[str], known: tuple[str, ...] = EVENTS) -> tuple[str, ...]:
    """The same words, each once, in the order of the table; `BadRequest` names one that is none."""
    asked = list(events)
    for word in asked:
        if word not in known:
            raise BadRequest(f"{word[:40]!r} is nothing to be told of; known: {', '.join(known)}")
    return tuple(word for word in known if word in asked)
