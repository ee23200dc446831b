"""The events that users can be notified of, and which of them an outcome is.

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
    """The events that cover this: an outcome has several, anything else is its own event."""
    return _ENDS.get(kind) or frozenset({kind})


def is_wanted(kind: str, by_target: Iterable[str], by_job: Iterable[str]) -> bool:
    """Whether to notify: the job's own events decide, else the target's."""
    return not words_for(kind).isdisjoint(by_job or by_target)


def check_events(events: Iterable[str], known: tuple[str, ...] = EVENTS) -> tuple[str, ...]:
    """The events, each once, in the order of the table. Raises `BadRequest` for an unknown one."""
    asked = list(events)
    for word in asked:
        if word not in known:
            raise BadRequest("notify.unknown_event", event=repr(word[:40]), known=list(known))
    return tuple(word for word in known if word in asked)
