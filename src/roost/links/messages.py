"""The node protocol as the server sees it: typed, checked as it is decoded. `docs/protocol.md` has the meaning."""

from __future__ import annotations

from typing import Any

import msgspec

PROTOCOL = 1


class Message(msgspec.Struct, frozen=True, tag_field="op"):
    """A line from a node."""


class GpuInfo(msgspec.Struct, frozen=True):
    uuid: str
    index: int
    model: str
    mem_mib: int
    mig: bool = False


class RunStarted(Message, frozen=True, tag="started"):
    run: str
    pid: int
    at_ms: int
    paused: bool = False


class RunExited(Message, frozen=True, tag="exited"):
    run: str
    at_ms: int
    status: int | None = None
    why: str | None = None
    error: str | None = None
    pid: int | None = None
    started_ms: int | None = None
    peak_mem_mib: int | None = None
    peak_rss_mib: int | None = None
    cpu_ms: int | None = None
    util_mean: float | None = None
    memory: str | None = None
    """Which memory was too small, where `why` is `oom`: `gpu` or `host`."""


class RunRefused(Message, frozen=True, tag="refused"):
    run: str
    reason: str
    claimed: bool = False
    """Whether another Roost has a GPU of it: it can be tried as soon as a sample says that it is free."""


class RunPaused(Message, frozen=True, tag="paused"):
    run: str
    at_ms: int


class RunResumed(Message, frozen=True, tag="resumed"):
    run: str
    at_ms: int


class RunGone(Message, frozen=True, tag="gone"):
    run: str


class Hello(Message, frozen=True, tag="hello"):
    protocol: int
    program: str
    node: str
    pid: int
    boot: str
    cpus: int
    mem_mib: int
    gpus: list[GpuInfo]
    runs: list[RunStarted | RunExited]
    python: str = ""
    uid: int = 0
    state_dir: str = ""
    sim_dir: str | None = None
    gpus_known: bool = True


class Inventory(Message, frozen=True, tag="inventory"):
    gpus: list[GpuInfo]


class ProcessInfo(msgspec.Struct, frozen=True):
    pid: int
    run: str | None = None
    user: str = "?"
    command: str = ""
    mem_mib: int = 0


class ClaimInfo(msgspec.Struct, frozen=True):
    user: str
    pid: int | None = None


class GpuSample(msgspec.Struct, frozen=True):
    uuid: str
    mem_used_mib: int | None = None
    util: int | None = None
    temp_c: int | None = None
    power_w: float | None = None
    fault: str | None = None
    procs: list[ProcessInfo] = []
    claimed_by: ClaimInfo | None = None


class HostSample(msgspec.Struct, frozen=True):
    mem_available_mib: int
    mem_mib: int
    load: float = 0.0


class Sample(Message, frozen=True, tag="sample"):
    at_ms: int
    host: HostSample
    gpus: list[GpuSample]


class Log(Message, frozen=True, tag="log"):
    id: int
    data: str
    offset: int
    size: int
    eof: bool
    dropped: tuple[int, int] | None = None


class LogData(Message, frozen=True, tag="log_data"):
    id: int
    offset: int
    data: str


class LogEnd(Message, frozen=True, tag="log_end"):
    id: int


class Pong(Message, frozen=True, tag="pong"):
    id: int


class NodeError(Message, frozen=True, tag="error"):
    message: str
    id: int | None = None


Report = RunStarted | RunExited | RunRefused | RunPaused | RunResumed | RunGone | Hello | Inventory | Sample
Answer = Log | LogData | LogEnd | Pong | NodeError

decode = msgspec.json.Decoder(Report | Answer).decode


def encode(message: dict[str, Any]) -> bytes:
    """A line for a node."""
    return msgspec.json.encode(message) + b"\n"
