"""The node protocol as the server sees it: typed, checked as it is decoded. `docs/reference/protocol.md` has the meaning."""

from typing import Annotated, Any

import msgspec

from roost.core.results import MAX_KEY_LENGTH, MAX_KEYS, MAX_TEXT_LENGTH

PROTOCOL = 1

# A program that works as an account is its user's: every number fits the store, every text is short.
Number = Annotated[int, msgspec.Meta(ge=-1, le=1 << 53)]
Small = Annotated[int, msgspec.Meta(ge=-1, le=1 << 31)]
Name = Annotated[str, msgspec.Meta(max_length=200)]
Text = Annotated[str, msgspec.Meta(max_length=20_000)]
MAX_GPUS, MAX_RUNS, MAX_REMOVED = 1024, 200_000, 1000
"""What one node may say that it has."""
MAX_PIECE = 128 << 10
"""The longest piece of a log that is followed: hundreds may wait for a reader who is slow."""


class Message(msgspec.Struct, frozen=True, tag_field="op"):
    """A line from a node."""


class GpuInfo(msgspec.Struct, frozen=True):
    uuid: Name
    index: Small
    model: Text
    mem_mib: Number
    mig: bool = False


Gpus = Annotated[list[Name], msgspec.Meta(max_length=MAX_GPUS)]


Nonce = Name | None
"""What a run was started with; empty: an earlier release started it; None: nobody knows any more."""


class RunStarted(Message, frozen=True, tag="started"):
    run: Name
    pid: Small
    at_ms: Number
    paused: bool = False
    gpus: Gpus = []
    nonce: Nonce = None


class RunExited(Message, frozen=True, tag="exited"):
    run: Name
    at_ms: Number
    status: Small | None = None
    why: Text | None = None
    error: Text | None = None
    pid: Small | None = None
    started_ms: Number | None = None
    peak_mem_mib: Number | None = None
    peak_rss_mib: Number | None = None
    cpu_ms: Number | None = None
    util_mean: float | None = None
    memory: Text | None = None
    """Which memory was too small, where `why` is `oom`: `gpu` or `host`."""
    nonce: Nonce = None


class RunRefused(Message, frozen=True, tag="refused"):
    run: Name
    reason: Text
    claimed: bool = False
    """Whether another Roost has a GPU of it: it can be tried as soon as a sample says that it is free."""
    past: bool = False
    """Whether the node has a run of that name which was started with another nonce."""
    nonce: Nonce = None


class RunPaused(Message, frozen=True, tag="paused"):
    run: Name
    at_ms: Number


class RunResumed(Message, frozen=True, tag="resumed"):
    run: Name
    at_ms: Number


class RunGone(Message, frozen=True, tag="gone"):
    run: Name
    nonce: Nonce = None


class RunsRemoved(Message, frozen=True, tag="removed"):
    runs: Annotated[list[Name], msgspec.Meta(max_length=MAX_REMOVED)]


class Hello(Message, frozen=True, tag="hello"):
    protocol: Small
    program: Name
    node: Name
    pid: Small
    boot: Name
    cpus: Small
    mem_mib: Number
    gpus: Annotated[list[GpuInfo], msgspec.Meta(max_length=MAX_GPUS)]
    runs: Annotated[list[RunStarted | RunExited], msgspec.Meta(max_length=MAX_RUNS)]
    at_ms: Number | None = None
    """What its clock said."""
    python: Name = ""
    uid: Small = 0
    state_dir: Text = ""
    sim_dir: Text | None = None
    gpus_known: bool = True
    devices: Name = "not_root"
    """Why the kernel does not keep jobs from GPUs that they were not given; empty: it does."""
    beginning: Annotated[list[RunStarted], msgspec.Meta(max_length=MAX_RUNS)] = []
    """Runs whose own process is not there yet; they have no pid."""
    accounts: Annotated[list[Name], msgspec.Meta(max_length=10_000)] = []
    """Accounts that have runs of their own programs there."""


class Fenced(Message, frozen=True, tag="fenced"):
    """In place of `hello`: a later epoch of this server has attached."""

    epoch: Text


class Inventory(Message, frozen=True, tag="inventory"):
    gpus: Annotated[list[GpuInfo], msgspec.Meta(max_length=MAX_GPUS)]


class ProcessInfo(msgspec.Struct, frozen=True):
    pid: Small
    run: Name | None = None
    user: Name = "?"
    command: Text = ""
    mem_mib: Number = 0
    own: bool = True
    """Whether it is the node program itself that vouches for `run`, not a process of another account."""


class ClaimInfo(msgspec.Struct, frozen=True):
    user: Name
    pid: Small | None = None


class GpuSample(msgspec.Struct, frozen=True):
    uuid: Name
    mem_used_mib: Number | None = None
    util: Small | None = None
    temp_c: Small | None = None
    power_w: float | None = None
    fault: Text | None = None
    procs: Annotated[list[ProcessInfo], msgspec.Meta(max_length=10_000)] = []
    claimed_by: ClaimInfo | None = None


class HostSample(msgspec.Struct, frozen=True):
    mem_available_mib: Number
    mem_mib: Number
    load: float = 0.0


class Sample(Message, frozen=True, tag="sample"):
    at_ms: Number
    host: HostSample
    gpus: Annotated[list[GpuSample], msgspec.Meta(max_length=MAX_GPUS)]


class RunUse(msgspec.Struct, frozen=True):
    run: Name
    rss_mib: Number


class Using(Message, frozen=True, tag="using"):
    runs: Annotated[list[RunUse], msgspec.Meta(max_length=MAX_RUNS)]


ResultName = Annotated[str, msgspec.Meta(max_length=MAX_KEY_LENGTH)]
ResultText = Annotated[str, msgspec.Meta(max_length=MAX_TEXT_LENGTH)]


class RunReported(Message, frozen=True, tag="reported"):
    run: Name
    results: Annotated[dict[ResultName, int | float | ResultText], msgspec.Meta(max_length=MAX_KEYS)]
    nonce: Nonce = None


class Log(Message, frozen=True, tag="log"):
    id: int
    data: bytes
    """Base64 on the wire, as in `log_data`."""
    offset: Number
    size: Number
    eof: bool
    dropped: tuple[Number, Number] | None = None


class LogData(Message, frozen=True, tag="log_data"):
    id: int
    offset: Number
    data: Annotated[bytes, msgspec.Meta(max_length=MAX_PIECE)]


class LogEnd(Message, frozen=True, tag="log_end"):
    id: int


class Pong(Message, frozen=True, tag="pong"):
    id: int


class NodeError(Message, frozen=True, tag="error"):
    message: Text
    id: int | None = None


RunReport = RunStarted | RunExited | RunRefused | RunPaused | RunResumed | RunGone | RunReported
Report = RunReport | RunsRemoved | Hello | Fenced | Inventory | Sample | Using
Answer = Log | LogData | LogEnd | Pong | NodeError

decode = msgspec.json.Decoder(Report | Answer).decode


def encode(message: dict[str, Any]) -> bytes:
    """A line for a node."""
    return msgspec.json.encode(message) + b"\n"
