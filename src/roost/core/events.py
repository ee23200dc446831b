"""What has happened, in the past tense. Events are the only way in which the cluster state changes.

Those above the line are kept in the store; those below are about the moment (a link, a sample) and die with the process.
"""

import msgspec

from roost.core.accounts import Account, Channel
from roost.core.model import (
    Access,
    Conditions,
    Gpu,
    GpuRules,
    Host,
    Job,
    Left,
    Login,
    NodeHold,
    Observation,
    Recall,
    Stop,
    UserRules,
)
from roost.core.states import Outcome


class Event(msgspec.Struct, frozen=True, tag=True):
    """Something that happened."""


class JobEvent(Event, frozen=True):
    """Something that happened to one job."""

    id: int
    at_ms: int


class Submitted(JobEvent, frozen=True):
    job: Job
    conditions: Conditions
    held: bool


class JobHeld(JobEvent, frozen=True):
    pass


class Released(JobEvent, frozen=True):
    pass


class Moved(JobEvent, frozen=True):
    """Its place in the queue changed."""

    job: Job


class Edited(JobEvent, frozen=True):
    """What it asks or runs changed."""

    job: Job
    conditions: Conditions


class StartIntended(JobEvent, frozen=True):
    """Committed before the node is told: a start is made once, under this attempt."""

    attempt: int
    node: str
    gpus: tuple[str, ...]
    indices: tuple[int, ...] = ()
    granted_mib: int | None = None
    nonce: str = ""


class Started(JobEvent, frozen=True):
    attempt: int
    pid: int


class StartRefused(JobEvent, frozen=True):
    """The node could not claim what was planned; nothing ran. It waits again, and not before `again_ms`."""

    attempt: int
    reason: str
    again_ms: int


class Paused(JobEvent, frozen=True):
    pass


class Resumed(JobEvent, frozen=True):
    pass


class StopAsked(JobEvent, frozen=True):
    why: Stop


class Usage(msgspec.Struct, frozen=True):
    """What an attempt used, as far as the node could see."""

    pid: int | None = None
    started_ms: int | None = None
    peak_mem_mib: int | None = None
    peak_rss_mib: int | None = None
    cpu_ms: int | None = None
    util_mean: float | None = None


class Ended(JobEvent, frozen=True):
    outcome: Outcome
    exit_code: int | None = None
    error: str | None = None
    usage: Usage = Usage()


class Requeued(JobEvent, frozen=True):
    """An attempt ended, and the job did not: it waits again, as `job` says, and not before `again_ms`."""

    attempt: int
    outcome: Outcome
    why: str
    """What it is tried again for: `retry`, `oom`, `preempt`, or `elsewhere` when its node lacked something."""
    again_ms: int
    job: Job
    retried: int = 0
    """How often it was tried again after failures, this time included; the next one, after out of memory."""
    oom_retried: int = 0
    exit_code: int | None = None
    error: str | None = None
    usage: Usage = Usage()


class Rerun(JobEvent, frozen=True):
    """An ended job waits again for a further attempt."""

    job: Job
    conditions: Conditions
    was: Outcome


class Removed(JobEvent, frozen=True):
    was: Outcome


class SettingChanged(Event, frozen=True):
    key: str
    value: str | int | float | bool | None


class SchedulingSwitched(Event, frozen=True):
    paused: bool


class GpuRuled(Event, frozen=True):
    uuid: str
    rules: GpuRules


class UserRuled(Event, frozen=True):
    user: str
    rules: UserRules


class GroupLimited(Event, frozen=True):
    """At most so many jobs of a sweep may run at once; None: any number."""

    group: int
    max_running: int | None


class NodeKnown(Event, frozen=True):
    """A node was added, or how it is reached has changed."""

    node: str
    access: Access


class NodeRemoved(Event, frozen=True):
    """Nobody speaks of it any more. Nothing of ours ran there."""

    node: str


class LoginSet(Event, frozen=True):
    """A user's jobs run on that node through their own login; None: no longer."""

    node: str
    user: str
    login: Login | None


class GivenUp(Event, frozen=True):
    """A run is lost, and may be alive on a node that cannot be reached: its GPUs are not free before that is known."""

    node: str
    run: str
    left: Left


class Accounted(Event, frozen=True):
    """A run that was given up is over, or never was."""

    node: str
    run: str


class FilesLeft(Event, frozen=True):
    """What a run wrote is to be deleted on its node, by the program that had it."""

    node: str
    run: str
    channel: Channel


class FilesGone(Event, frozen=True):
    """It is deleted."""

    node: str
    run: str
    channel: Channel


class Recalled(Event, frozen=True):
    """After a restore: a node has said what it runs, or nobody will ask it any more."""

    recall: Recall


class NodeDrained(Event, frozen=True):
    node: str
    drained: bool


class NodeSeen(Event, frozen=True):
    """A node attached and said what it has. Kept, so that the next server knows what can ever run."""

    node: str
    cpus: int
    mem_mib: int
    gpus: tuple[Gpu, ...]
    hostname: str | None = None
    """What it calls itself, which need not be its name here."""


# -- of the moment, never stored ------------------------------------------------------------------------------------


class NodeAttached(Event, frozen=True):
    node: str
    skew_ms: int = 0


class NodeDetached(Event, frozen=True):
    node: str
    reason: str
    at_ms: int = 0


class Orphaned(Event, frozen=True):
    """A run of an attempt that is over here is still alive there: its GPUs are not free."""

    node: str
    run: str
    gpus: tuple[str, ...]


class Laid(Event, frozen=True):
    """It is over there too."""

    node: str
    run: str


class Barred(Event, frozen=True):
    """Nothing can run there through that channel, until somebody mends it; None: it can."""

    node: str
    channel: Channel
    why: str | None
    until_ms: int = 0


class AccountsKnown(Event, frozen=True):
    """The UNIX accounts of jobs that wait: `open`, or why nothing may run as them."""

    states: dict[Account, str]


class Sampled(Event, frozen=True):
    node: str
    host: Host
    gpus: tuple[tuple[str, Observation], ...]


class Measured(Event, frozen=True):
    """What runs have of the host's memory. Nothing is decided by it."""

    rss_mib: tuple[tuple[str, int], ...]


class TimeCame(Event, frozen=True):
    """`begin` times that have passed open their jobs."""

    now_ms: int


class ClockStepped(Event, frozen=True):
    """The server's wall clock was set: what lies so many milliseconds ahead by it lies as far ahead in truth as before."""

    by_ms: int


class PauseShortened(Event, frozen=True):
    """A pause before a further attempt, which a clock that was set back since had made long, ends then."""

    job: int
    begin_ms: int


class HoldChanged(Event, frozen=True):
    """What is held for a wide job now, what is left of the allowance, and for which job a hold was abandoned."""

    now_ms: int
    hold: NodeHold | None
    allowance: float
    abandoned: int | None = None
    again_ms: int = 0
    """No new hold is considered before."""
    savings: float = 0.0
    in_vain: float = 0.0
    """GPU seconds that stood idle for the job whose hold was abandoned."""


MOMENTARY = (
    *(NodeAttached, NodeDetached, Orphaned, Laid, Barred, AccountsKnown),
    *(Sampled, Measured, TimeCame, ClockStepped, PauseShortened, HoldChanged),
)
LAZY = (Started, FilesGone)
"""Facts that the node keeps on disk as well: their commit may wait for the next batch."""
