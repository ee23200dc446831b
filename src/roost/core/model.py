"""The nouns: what is asked, what there is, who holds what. Values only; no behaviour beyond arithmetic on themselves."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from roost.core.accounts import SERVER_ACCOUNT, Account, Channel
from roost.core.states import Outcome, State
from roost.messages import Message

RANK_STEP = 1 << 32
"""Distance between the ranks of two jobs submitted one after the other: room to move others between them."""


class Request(msgspec.Struct, frozen=True, cache_hash=True, omit_defaults=True):
    """What a job asks for. `mem_mib` set means that it shares its GPUs by memory."""

    gpus: int = 1
    mem_mib: int | None = None
    max_util: int | None = None
    exclusive: bool = False
    gpu_ids: tuple[str, ...] = ()
    prefer_gpus: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    """It may run on these nodes only; empty: on any."""
    prefer_nodes: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    """Words, one of which must be in the GPU's model; case does not matter."""
    min_gpu_mem_mib: int | None = None
    """What its GPUs must have in all, free or not."""
    mem_auto: bool = False
    """It shares with as much memory as its like used before; a whole GPU while nothing is known."""
    spread: bool = False
    """It may take whole nodes, when one does not suffice."""

    @property
    def is_shared(self) -> bool:
        """Whether it may sit beside others, with a memory need of its own."""
        return self.mem_mib is not None


class Shape(msgspec.Struct, frozen=True, cache_hash=True):
    """What makes two waiting jobs alike: an answer for one is an answer for all. They wait in one line."""

    user: str
    priority: int
    request: Request
    work: str = ""
    """What it runs, without the values that change from run to run: predictions are made for this."""
    group: int = 0
    """The sweep that it belongs to, whose running jobs may be limited; 0: none."""
    preemptible: bool = False
    limit_s: int = 0
    """Its time limit, which says something of how long it will run; 0: none."""
    account: Account = SERVER_ACCOUNT
    """The UNIX account that it runs as; empty: the server's own."""


class Job(msgspec.Struct, frozen=True, gc=False):
    """A job that is not ended, as far as deciding needs it. All else about it is in the store."""

    id: int
    shape: Shape
    rank: int
    submitted_ms: int
    attempts: int = 0

    @property
    def order(self) -> tuple[int, int, int]:
        """First come, first served, inside a priority."""
        return (-self.shape.priority, self.rank, self.id)


class UserRules(msgspec.Struct, frozen=True):
    """An administrator's rules for a user: weight and quotas."""

    weight: float = 1.0
    max_gpus: int | None = None
    max_jobs: int | None = None
    max_queued: int | None = None


class Dependency(msgspec.Struct, frozen=True):
    """`job` must have ended first; `wants` says how: any, success or failure."""

    job: int
    wants: str

    def is_met_by(self, outcome: Outcome) -> bool:
        """Whether that end of the other job lets this one go."""
        if self.wants == "any":
            return True
        return (outcome is Outcome.SUCCEEDED) == (self.wants == "success")


class Conditions(msgspec.Struct, frozen=True):
    """What a queued job waits for besides resources."""

    after: tuple[Dependency, ...] = ()
    begin_ms: int | None = None


class StopKind(StrEnum):
    """What a stop is for; the node is told this word."""

    KILL = "kill"
    REMOVE = "rm"
    PREEMPT = "preempt"


class Stop(msgspec.Struct, frozen=True):
    """Why a run was asked to stop; a preemption may name the job that it makes room for."""

    kind: StopKind
    for_job: int | None = None

    @classmethod
    def parse(cls, text: str) -> Stop:
        """A stop as `str` writes it: `kill`, `rm`, `preempt`, `preempt 17`."""
        kind, _, job = text.partition(" ")
        return cls(StopKind(kind), int(job) if job else None)

    def __str__(self) -> str:
        return self.kind.value if self.for_job is None else f"{self.kind.value} {self.for_job}"

    def after(self, earlier: Stop | None) -> Stop:
        """Which of two reasons stands: the first, but a removal is kept and a preemption gives way to everything else."""
        is_final = earlier is not None and earlier.kind is not StopKind.PREEMPT
        return earlier if earlier is not None and is_final and self.kind is not StopKind.REMOVE else self


class Active(msgspec.Struct, frozen=True):
    """A job that has an attempt on a node: from the intent to start until nothing of it is left."""

    job: Job
    state: State
    attempt: int
    node: str
    gpus: tuple[str, ...]
    since_ms: int
    pid: int | None = None
    stop: Stop | None = None
    granted_mib: int | None = None
    """What a job that shares was given of each GPU; None: whole GPUs."""
    nonce: str = ""
    """What no other attempt has, in whatever past: only a run that was started with it is this one."""

    @property
    def request(self) -> Request:
        """What it was given, which is what it asked, but for memory that was found out."""
        asked = self.job.shape.request
        return msgspec.structs.replace(asked, mem_mib=self.granted_mib) if asked.mem_auto else asked

    @property
    def run(self) -> str:
        """The attempt's name, the same on the wire, on disk and for people."""
        return f"{self.job.id}.{self.attempt}"

    def is_said_by(self, nonce: str | None) -> bool:
        """Whether a node that names this run may mean it; None: it does not know with what it was started."""
        return nonce is None or nonce == self.nonce

    @property
    def is_preempted(self) -> bool:
        """Whether it was asked to make room, and by nobody to end for good."""
        return self.stop is not None and self.stop.kind is StopKind.PREEMPT

    @property
    def is_to_be_removed(self) -> bool:
        """Whether its job is removed as soon as nothing of the run is left."""
        return self.stop is not None and self.stop.kind is StopKind.REMOVE

    @property
    def stop_word(self) -> str:
        """Why it stops, in the one word that a node is told."""
        return (self.stop.kind if self.stop is not None else StopKind.KILL).value


class Recall(msgspec.Struct, frozen=True):
    """What a restored server does not know yet: whether jobs that wait here run on a node, since the backup was made."""

    last: int
    """Jobs up to this one are in doubt."""
    ask: tuple[tuple[str, Channel], ...] = ()
    """Programs of nodes that have not said what they run, or still run what must end."""
    is_moved: bool = False
    """Whether the server's own machine is another, or its home: nobody knows what ran there."""

    def doubts(self, job: int) -> bool:
        """Whether that job may run somewhere."""
        return 0 < job <= self.last and bool(self.ask)


class Gpu(msgspec.Struct, frozen=True):
    """A device as the node found it."""

    uuid: str
    index: int
    model: str
    mem_mib: int
    mig: bool = False


class GpuRules(msgspec.Struct, frozen=True):
    """What an administrator said about a device."""

    slots: int = 1
    disabled: bool = False
    drained: bool = False
    alias: str | None = None


class Process(msgspec.Struct, frozen=True):
    """A process on a GPU; `run` is None when it is not one of Roost's."""

    pid: int
    user: str
    command: str
    mem_mib: int
    run: str | None = None


UNKNOWN_USER = "somebody"
"""What a node says of a user that it cannot find out."""


class Claimant(msgspec.Struct, frozen=True):
    """Whose Roost has claimed a GPU of the same machine; the pid of its node program, where that is known."""

    user: str
    pid: int | None = None

    def message(self) -> Message:
        """`ana's Roost (pid 4711)`."""
        if self.user == UNKNOWN_USER:
            return (
                Message("gpu.claimed_by_another")
                if self.pid is None
                else Message("gpu.claimed_by_another_pid", pid=self.pid)
            )
        claimed = Message("gpu.claimed_by", user=self.user)
        return claimed if self.pid is None else Message("gpu.claimed_by_pid", user=self.user, pid=self.pid)


class Observation(msgspec.Struct, frozen=True):
    """What the driver said of a device last. Unknown is None, and unknown is not free."""

    mem_used_mib: int | None = None
    util: int | None = None
    temp_c: int | None = None
    power_w: float | None = None
    fault: str | None = None
    procs: tuple[Process, ...] = ()
    claimed_by: Claimant | None = None
    """Another Roost on the same machine has given it out."""

    @property
    def foreign(self) -> tuple[Process, ...]:
        """The processes that are not Roost's."""
        return tuple(p for p in self.procs if p.run is None)


class Claim(msgspec.Struct, frozen=True):
    """What one job holds of one GPU."""

    job: int
    slots: int
    mem_mib: int


class NodeHold(msgspec.Struct, frozen=True):
    """Nodes held for a wide job that has waited long, and what that has cost so far. Costs are GPU seconds."""

    job: int
    nodes: tuple[str, ...]
    since_ms: int
    chosen_ms: int
    """When the nodes were last chosen: later, others may empty earlier."""
    until_ms: int
    """When all of them will probably be empty."""
    expected: float
    spent: float = 0.0
    idle: int = 0
    """GPUs of them that stand idle."""
    is_saved_for: bool = False
    """Whether it may use the savings."""


class AbandonedHold(msgspec.Struct, frozen=True):
    """When a hold was abandoned, and how many GPU seconds stood idle for nothing."""

    at_ms: int
    in_vain: float


class Access(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a node is reached that is not the server's own machine. No secret: a key is named by its file."""

    target: str
    host_key: str | None = None
    """Its public host key, as a line of a known_hosts file has it: kind and key."""
    each: bool = False
    """Whether it is reached as root: then a job runs there as the account of its user, otherwise as the login."""
    own: Account = SERVER_ACCOUNT
    """As which account the jobs of the server's own account run there, where that is not the login itself."""
    key: str | None = None
    python: str | None = None
    dir: str | None = None
    sim: str | None = None


class Login(msgspec.Struct, frozen=True, omit_defaults=True):
    """A user's own login on a node."""

    target: str
    name: str = ""
    """The account there."""
    key: str | None = None
    ssh_as: str = ""
    """The account that ssh is run as here, with its configuration and keys: the user's own; empty: the server's."""


class Left(msgspec.Struct, frozen=True):
    """A run that was given up and that nobody has accounted for: which program of its node has it, and on which GPUs."""

    channel: Channel
    gpus: tuple[str, ...] = ()


class Host(msgspec.Struct, frozen=True):
    """What a node said of its memory and load last."""

    mem_mib: int
    mem_available_mib: int
    load: float = 0.0
