"""One run as the daemon knows it, and the messages that tell of it.

A plain record with a few questions; what happens to it is decided in `supervisor.py`.
"""

from __future__ import annotations

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


class Usage:
    """What samples saw of a run on its GPUs."""

    __slots__ = ("peak_mem_mib", "samples", "util_sum")

    def __init__(self) -> None:
        self.peak_mem_mib: Optional[int] = None
        self.util_sum = 0
        self.samples = 0

    def add(self, mem_mib: Optional[int], util: Optional[int]) -> None:
        if mem_mib is not None:
            self.peak_mem_mib = max(mem_mib, self.peak_mem_mib or 0)
        if util is not None:
            self.util_sum += util
            self.samples += 1

    @property
    def util_mean(self) -> Optional[int]:
        return round(self.util_sum / self.samples) if self.samples else None


class Run:
    """One attempt of one job on this node."""

    __slots__ = (
        "at_ms", "cpu_ms", "error", "is_adopted", "is_peak_known", "is_unnoted", "keeper", "kill_boot_ms", "kill_timer",
        "known", "limit_timer", "main_pid", "memory",
        "name", "oom_kills", "path", "paused_ms", "paused_since", "peak_rss_mib", "phase",
        "record", "report", "session", "started_ms", "status", "stop_why", "tag", "told", "usage", "was_killed",
        "was_warned", "why", "wrapper",
    )  # fmt: skip

    def __init__(self, name: str, path: str, tag: str, record: Optional[Record]) -> None:
        self.name = name
        self.path = path
        self.tag = tag
        self.record = record
        self.report = ReportFile(path)
        self.phase = STARTING
        self.is_adopted = False
        self.is_peak_known = True
        self.is_unnoted = False
        self.wrapper: Optional[ProcessId] = None
        self.keeper: Optional[int] = None  # a living runner, which shares the run's cgroup and is not of the run
        self.session: Optional[int] = None
        self.main_pid: Optional[int] = None
        self.started_ms: Optional[int] = None
        self.at_ms: Optional[int] = None
        self.status: Optional[int] = None
        self.why: Optional[str] = None
        self.error: Optional[str] = None
        self.memory: Optional[str] = None
        self.stop_why: Optional[str] = None
        self.kill_boot_ms: Optional[int] = None
        self.kill_timer: Optional[Timer] = None
        self.limit_timer: Optional[Timer] = None
        self.was_killed = False
        self.was_warned = False
        self.paused_since: Optional[int] = None
        self.paused_ms = 0
        self.known: Set[ProcessId] = set()
        self.told: Set[int] = set()
        self.usage = Usage()
        self.peak_rss_mib: Optional[int] = None
        self.cpu_ms: Optional[int] = None
        self.oom_kills: Optional[int] = None

    @property
    def cgroup(self) -> Optional[str]:
        return self.record.cgroup if self.record else None

    @property
    def is_paused(self) -> bool:
        return self.paused_since is not None

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

    def results(self) -> Optional[Message]:
        """What the job has said of itself and nobody was told; None when there is nothing."""
        new = {name: value for name, value in self.report.values.items() if name in self.report.unsaid}
        self.report.unsaid = set()
        return {"op": REPORTED, "run": self.name, "results": new} if new else None

    def _started(self) -> Message:
        return {
            "op": STARTED,
            "run": self.name,
            "pid": self.main_pid,
            "at_ms": self.started_ms,
            "paused": self.is_paused,
            "gpus": list(self.record.gpus) if self.record is not None else [],
        }

    def _exited(self) -> Message:
        return {
            "op": EXITED,
            "run": self.name,
            "status": self.status,
            "why": self.why,
            "error": self.error,
            "pid": self.main_pid,
            "started_ms": self.started_ms,
            "at_ms": self.at_ms,
            "peak_mem_mib": self.usage.peak_mem_mib,
            "peak_rss_mib": self.peak_rss_mib,
            "cpu_ms": self.cpu_ms,
            "util_mean": self.usage.util_mean,
            "memory": self.memory,
        }
