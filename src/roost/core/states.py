"""The life of a job, as one table.

A job is always in exactly one state. What may happen to it there is a row of `TABLE`; what is not in the table cannot
happen, and `after` raises with the reason. The chart in the documentation is drawn from this table.

Waiting is two states: `held` waits for a person, `queued` for anything else (GPUs, another job, a time; the reasons say
which). `starting` begins when the intent to start is committed and ends when the node says what became of it. `stopping`
lasts until nothing of the job is alive: its GPUs are not free before. An attempt may end and the job not: one that is to be
tried again, or made room for another, is `queued again`. Only an ended job has an outcome, and a rerun puts the same job
back into the queue for a further attempt.
"""

from enum import StrEnum


class State(StrEnum):
    """Where a job is in its life."""

    HELD = "held"
    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPING = "stopping"
    ENDED = "ended"


class Outcome(StrEnum):
    """How a job ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANNOT_START = "cannot_start"
    OUT_OF_MEMORY = "out_of_memory"
    TIMED_OUT = "timed_out"
    KILLED = "killed"
    LOST = "lost"


class Change(StrEnum):
    """What can happen to a job."""

    HOLD = "hold"
    RELEASE = "release"
    INTEND = "intend to start"
    START = "started"
    REFUSE = "refused by the node"
    PAUSE = "paused"
    RESUME = "resumed"
    STOP = "asked to stop"
    END = "ended"
    REQUEUE = "queued again"
    RERUN = "rerun"


_S, _C = State, Change

TABLE: dict[tuple[State, Change], State] = {
    (_S.QUEUED, _C.HOLD): _S.HELD,
    (_S.HELD, _C.RELEASE): _S.QUEUED,
    (_S.HELD, _C.INTEND): _S.STARTING,
    (_S.QUEUED, _C.INTEND): _S.STARTING,
    (_S.STARTING, _C.START): _S.RUNNING,
    (_S.STARTING, _C.REFUSE): _S.QUEUED,
    (_S.STARTING, _C.STOP): _S.STOPPING,
    (_S.RUNNING, _C.PAUSE): _S.PAUSED,
    (_S.PAUSED, _C.RESUME): _S.RUNNING,
    (_S.RUNNING, _C.STOP): _S.STOPPING,
    (_S.PAUSED, _C.STOP): _S.STOPPING,
    (_S.STOPPING, _C.STOP): _S.STOPPING,
    (_S.HELD, _C.END): _S.ENDED,
    (_S.QUEUED, _C.END): _S.ENDED,
    (_S.STARTING, _C.END): _S.ENDED,
    (_S.RUNNING, _C.END): _S.ENDED,
    (_S.PAUSED, _C.END): _S.ENDED,
    (_S.STOPPING, _C.END): _S.ENDED,
    (_S.STARTING, _C.REQUEUE): _S.QUEUED,
    (_S.RUNNING, _C.REQUEUE): _S.QUEUED,
    (_S.PAUSED, _C.REQUEUE): _S.QUEUED,
    (_S.STOPPING, _C.REQUEUE): _S.QUEUED,
    (_S.ENDED, _C.RERUN): _S.QUEUED,
}

WAITING = frozenset({State.HELD, State.QUEUED})
ACTIVE = frozenset({State.STARTING, State.RUNNING, State.PAUSED, State.STOPPING})
UNKNOWN = "unknown"
"""How an active job is shown while its node cannot be reached: nobody can say what became of it. No state of its own."""


class RefusedChange(Exception):
    """A change that the table does not allow."""

    def __init__(self, job: int, state: State, change: Change) -> None:
        super().__init__(f"job {job} is {state.value}: it cannot be {change.value}")
        self.job, self.state, self.change = job, state, change


def is_allowed(state: State, change: Change) -> bool:
    """Whether the table has a row for it."""
    return (state, change) in TABLE


def after(job: int, state: State, change: Change) -> State:
    """The state that follows, or `RefusedChange`."""
    following = TABLE.get((state, change))
    if following is None:
        raise RefusedChange(job, state, change)
    return following


def chart() -> str:
    """The table as a Mermaid state diagram, for the documentation."""
    rows = [f"    {a.value} --> {b.value}: {change.value}" for (a, change), b in TABLE.items()]
    return "\n".join(["stateDiagram-v2", "    [*] --> queued: submit", "    [*] --> held: submit --hold", *rows])
