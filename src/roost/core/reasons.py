"""Why not: every refusal as data, and its words.

A reason is made where the no is made. It carries what was asked and what there was. `text` is its English, the same
for CLI, API and pages; other languages have a sentence for each code, in `web/src/words`.
"""

from typing import ClassVar

import msgspec

from roost.core.model import Claimant, Process
from roost.messages import size, span


class Reason(msgspec.Struct, frozen=True, tag_field="code", kw_only=True):
    """One answer to "why does it wait?" or "why not there?"."""

    words: ClassVar[str] = ""
    """Its text, with the names of its fields in braces; for those that need no more."""

    def text(self) -> str:
        """The reason in a line of plain words."""
        return self.words.format_map(msgspec.structs.asdict(self))


class Holder(msgspec.Struct, frozen=True):
    """A job that has what another one waits for."""

    job: int
    user: str
    state: str


class Held(Reason, frozen=True, tag="held"):
    words = "held: it waits for `roost release`"


class SchedulingPaused(Reason, frozen=True, tag="scheduling_paused"):
    words = "scheduling is paused: `roost scheduler resume` goes on"


class WaitsForJob(Reason, frozen=True, tag="waits_for_job"):
    job: int
    wants: str
    state: str

    def text(self) -> str:
        how = {"any": "to end", "success": "to succeed", "failure": "to fail"}[self.wants]
        return f"waits for job {self.job} {how} (it is {self.state})"


class NotBefore(Reason, frozen=True, tag="not_before"):
    begin_ms: int
    left_s: int
    attempts: int = 0
    """How often it was tried already: then it pauses before the next attempt."""

    def text(self) -> str:
        if self.attempts:
            return f"pauses for {span(self.left_s)} before attempt {self.attempts + 1}"
        return f"not before its begin time, in {span(self.left_s)}"


class NodeAway(Reason, frozen=True, tag="node_unreachable"):
    node: str
    why: str
    words = "{node} cannot be reached: {why}"


class NodeBarred(Reason, frozen=True, tag="node_barred"):
    """Nothing of that user can run there."""

    node: str
    why: str
    words = "{node} cannot run it: {why}"


class NodeIsDrained(Reason, frozen=True, tag="node_drained"):
    node: str
    words = "{node} is drained: `roost undrain {node}` opens it"


class NodeKept(Reason, frozen=True, tag="node_kept"):
    """It would fit there, but the node is kept free for a wide job that has waited long."""

    node: str
    job: int
    until_ms: int
    words = "{node} is kept free for job {job}, which needs more at once and has waited long"


class QuotaReached(Reason, frozen=True, tag="quota"):
    """The user has as much as he may have at once."""

    user: str
    what: str
    has: int
    most: int
    asked: int = 1

    def text(self) -> str:
        rules = f"(`roost user show {self.user}`)"
        if self.asked > self.most:
            return f"it asks for {self.asked} {self.what}, and {self.user} may never have more than {self.most} {rules}"
        return f"{self.user} has {self.has} {self.what} running, {self.most} are allowed {rules}"


class SweepFull(Reason, frozen=True, tag="sweep_limit"):
    """As many jobs of its sweep run as may run at once."""

    sweep: int
    running: int
    most: int
    words = "{running} jobs of sweep {sweep} run, {most} may (`roost sweep limit {sweep} N`)"


class NobodyElse(Reason, frozen=True, tag="nobody_else"):
    """While a job of a user with a negative weight waits, nobody else's starts."""

    user: str
    words = "a job of {user} waits, and nobody else's starts before it (negative weight)"


class HostMemory(Reason, frozen=True, tag="host_memory"):
    node: str
    available_mib: int
    floor_mib: int

    def text(self) -> str:
        return (
            f"{self.node} has {size(self.available_mib)} of memory available, under the floor of {size(self.floor_mib)} "
            "(safety.host_mem)"
        )


class CpuSlots(Reason, frozen=True, tag="cpu_slots"):
    node: str
    slots: int
    holders: tuple[Holder, ...] = ()

    def text(self) -> str:
        return f"all {self.slots} CPU slots of {self.node} are taken{_by(self.holders)}"


class TooFewGpus(Reason, frozen=True, tag="gpus_busy"):
    """The sum of it; the reasons of the single GPUs follow."""

    node: str
    asked: int
    free: int
    total: int

    def text(self) -> str:
        gpus = "1 GPU" if self.asked == 1 else f"{self.asked} GPUs at once"
        return f"needs {gpus} on {self.node}: {self.free} of {self.total} would do now"


class GpuReason(Reason, frozen=True, kw_only=True):
    """Why one GPU will not do."""

    gpu: str
    """`node:index`, for people."""


class GpuTaken(GpuReason, frozen=True, tag="gpu_taken"):
    slots: int
    holders: tuple[Holder, ...]

    def text(self) -> str:
        what = "is taken" if self.slots == 1 else f"has all {self.slots} slots taken"
        return f"GPU {self.gpu} {what}{_by(self.holders)}"


class GpuForeign(GpuReason, frozen=True, tag="gpu_foreign"):
    procs: tuple[Process, ...]

    def text(self) -> str:
        who = "; ".join(f"pid {p.pid} of {p.user}, {size(p.mem_mib)}: {p.command}" for p in self.procs)
        return f"GPU {self.gpu} is used by others: {who}"


class GpuMemory(GpuReason, frozen=True, tag="gpu_memory"):
    asked_mib: int
    free_mib: int
    total_mib: int
    holders: tuple[Holder, ...] = ()
    procs: tuple[Process, ...] = ()

    def text(self) -> str:
        held = f"; held{_by(self.holders)}" if self.holders else ""
        others = "".join(f"; pid {p.pid} of {p.user} has {size(p.mem_mib)}: {p.command}" for p in self.procs)
        return (
            f"GPU {self.gpu} has {size(self.free_mib)} of {size(self.total_mib)} free, {size(self.asked_mib)} needed"
            f"{held}{others}"
        )


class GpuBusy(GpuReason, frozen=True, tag="gpu_utilization"):
    util: int | None
    max_util: int

    def text(self) -> str:
        if self.util is None:
            return f"GPU {self.gpu} does not report its utilization, at most {self.max_util} % was asked"
        return f"GPU {self.gpu} is {self.util} % busy, at most {self.max_util} % was asked"


class GpuFault(GpuReason, frozen=True, tag="gpu_fault"):
    fault: str
    words = "GPU {gpu} is set aside: {fault}"


class GpuClaimed(GpuReason, frozen=True, tag="gpu_claimed"):
    """Another Roost on the same machine has given it out."""

    by: Claimant

    def text(self) -> str:
        return f"GPU {self.gpu} is claimed by {self.by.text()}"


class GpuOrphaned(GpuReason, frozen=True, tag="gpu_orphaned"):
    """An attempt that was given up while its node could not be reached still runs on it, and is being ended."""

    runs: tuple[str, ...]

    def text(self) -> str:
        return f"GPU {self.gpu} still has {', '.join(self.runs)} on it, which was given up and is being ended"


class GpuUnknown(GpuReason, frozen=True, tag="gpu_unknown"):
    words = "GPU {gpu} has not been read yet"


class GpuClosed(GpuReason, frozen=True, tag="gpu_drained"):
    how: str

    def text(self) -> str:
        verb = "undrain" if self.how == "drained" else "gpu enable"
        return f"GPU {self.gpu} is {self.how}: `roost {verb} {self.gpu}` opens it"


class GpuNotAsked(GpuReason, frozen=True, tag="gpu_not_asked"):
    asked: tuple[str, ...]

    def text(self) -> str:
        return f"GPU {self.gpu} was not asked for (--gpu-id {','.join(self.asked)})"


class NoNodes(Reason, frozen=True, tag="no_nodes"):
    words = "no node is known yet"


class Ahead(Reason, frozen=True, tag="behind"):
    """It would fit; others are first."""

    jobs: int | None

    def text(self) -> str:
        if not self.jobs:
            return "it would fit now: it starts in a moment" if self.jobs == 0 else "many jobs are ahead of it"
        return f"{self.jobs} job{'s are' if self.jobs > 1 else ' is'} ahead of it"


class Refusal(msgspec.Struct, frozen=True):
    """Why a request was not placed now."""

    reasons: tuple[Reason, ...]

    def text(self) -> str:
        """All of it in one line."""
        return "; ".join(reason.text() for reason in self.reasons)


def _by(holders: tuple[Holder, ...]) -> str:
    if not holders:
        return ""
    named = ", ".join(f"job {h.job} of {h.user}" for h in holders[:4])
    return f" by {named}" + (f" and {len(holders) - 4} more" if len(holders) > 4 else "")
