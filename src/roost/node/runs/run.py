"""One run as the daemon knows it, and the messages about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Optional, Set

from roost.node.protocol import EXITED, REPORTED, STARTED, Message
from roost.node.runs.report_file import ReportFile
from roost.node.runs.run_dir import Record
from roost.node.system.event_loop import Timer
from roost.node.system.procfs import ProcessId

# spawned, its own process not yet known → its own process runs → that one has ended, others are left → nothing is left
STARTING = "starting"
RUNNING = "running"
ENDING = "ending"
ENDED = "ended"

_TOLD_AT_THE_END = ("status", "why", "error", "started_ms", "at_ms", "peak_rss_mib", "cpu_ms", "memory")


@dataclass(eq=False)
class Usage:
    """What samples saw of a run on its GPUs."""

    peak_mem_mib: Optional[int] = None
    util_sum: int = 0
    samples: int = 0

    def add(self, mem_mib: Optional[int], util: Optional[int]) -> None:
        if mem_mib is not None:
            self.peak_mem_mib = max(mem_mib, self.peak_mem_mib or 0)
        if util is not None:
            self.util_sum += util
            self.samples += 1

    @property
    def util_mean(self) -> Optional[int]:
        return round(self.util_sum / self.samples) if self.samples else None


@dataclass(eq=False)
class Run:
    """One attempt of one job on this node."""

    name: str
    path: str
    tag: str
    record: Optional[Record]
    nonce: Optional[str] = None  # what it was started with; None: nobody knows any more
    phase: str = STARTING
    is_adopted: bool = False
    is_peak_known: bool = True
    is_unnoted: bool = False
    wrapper: Optional[ProcessId] = None
    keeper: Optional[int] = None  # a living runner, which shares the run's cgroup and is not of the run
    session: Optional[int] = None
    main_pid: Optional[int] = None
    started_ms: Optional[int] = None
    at_ms: Optional[int] = None
    status: Optional[int] = None
    why: Optional[str] = None
    error: Optional[str] = None
    memory: Optional[str] = None
    stop_why: Optional[str] = None
    kill_boot_ms: Optional[int] = None
    kill_timer: Optional[Timer] = None
    limit_timer: Optional[Timer] = None
    was_killed: bool = False
    was_warned: bool = False
    paused_since: Optional[int] = None
    paused_ms: int = 0
    known: Set[ProcessId] = field(default_factory=set)
    told: Set[int] = field(default_factory=set)
    usage: Usage = field(default_factory=Usage)
    peak_rss_mib: Optional[int] = None
    cpu_ms: Optional[int] = None
    oom_kills: Optional[int] = None

    def __post_init__(self) -> None:
        self.report = ReportFile(self.path)

    @property
    def cgroup(self) -> Optional[str]:
        return self.record.cgroup if self.record else None

    @property
    def is_paused(self) -> bool:
        return self.paused_since is not None

    def is_of(self, nonce: Optional[str]) -> bool:
        """Whether it was started with that nonce; None, on either side, stands for any."""
        return nonce is None or self.nonce is None or nonce == self.nonce

    def used_ms(self, now_boot_ms: int) -> int:
        """How long it has run, without the time it was paused."""
        start = self.record.start_boot_ms if self.record else now_boot_ms
        until = now_boot_ms if self.paused_since is None else self.paused_since
        return until - start - self.paused_ms

    def message(self) -> Optional[Message]:
        """What is known of it, as a message; None while its process is not known yet."""
        if self.phase == ENDED:
            return self._exited()
        return None if self.phase == STARTING else self._started()

    def greeting(self) -> Optional[Message]:
        """The same for a `hello`, where one that has results to tell has not ended yet: its end must come after them."""
        has_begun = self.main_pid is not None and self.started_ms is not None
        return self._started() if self.phase == ENDED and self.report.values and has_begun else self.message()

    def promise(self) -> Message:
        """That it is about to begin."""
        return {**self._started(), "pid": -1, "at_ms": -1}

    def results(self) -> Optional[Message]:
        """What the job has said of itself and nobody was told; None when there is nothing."""
        new = {name: value for name, value in self.report.values.items() if name in self.report.unsaid}
        self.report.unsaid = set()
        return {"op": REPORTED, "run": self.name, "nonce": self.nonce, "results": new} if new else None

    def _started(self) -> Message:
        return {
            "op": STARTED,
            "run": self.name,
            "nonce": self.nonce,
            "pid": self.main_pid,
            "at_ms": self.started_ms,
            "paused": self.is_paused,
            "gpus": list(self.record.gpus) if self.record is not None else [],
        }

    def _exited(self) -> Message:
        message: Message = {"op": EXITED, "run": self.name, "nonce": self.nonce, "pid": self.main_pid}
        message.update((name, getattr(self, name)) for name in _TOLD_AT_THE_END)
        return {**message, "peak_mem_mib": self.usage.peak_mem_mib, "util_mean": self.usage.util_mean}
