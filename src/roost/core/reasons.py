"""Why not: every refusal as data, and the message that it is.

A reason is made where the no is made. It carries what was asked and what there was. Its sentences are in the catalogues
(`messages/LANGUAGE/reason.txt`), most under its own code; `message` says which, and what it is given.
"""

import msgspec

from roost.core.model import Claimant, Process
from roost.messages import Message

MAX_HOLDERS = 4
"""Jobs and processes of each GPU that are named."""


class Reason(msgspec.Struct, frozen=True, tag_field="code", kw_only=True):
    """One answer to "why does it wait?" or "why not there?"."""

    def message(self) -> Message:
        """The reason in a sentence; its fields are the parameters, unless its kind says otherwise."""
        return self._said()

    def text(self) -> str:
        """The reason in a line of plain English."""
        return str(self.message())

    def _said(self, variant: str = "", /, **params: object) -> Message:
        """The sentence of this code, or of a variant of it, with the fields and these parameters."""
        message = Message(f"reason.{self.__struct_config__.tag}{variant}")
        message.params.update(msgspec.structs.asdict(self))
        message.params.update(params)
        return message


class Holder(msgspec.Struct, frozen=True):
    """A job that has what another one waits for."""

    job: int
    user: str
    state: str


class Held(Reason, frozen=True, tag="held"):
    pass


class SchedulingPaused(Reason, frozen=True, tag="scheduling_paused"):
    pass


class Recalling(Reason, frozen=True, tag="recalling"):
    """After a restore it may run on a node that has not said so yet, or that still ends what it ran."""

    node: str


class WaitsForJob(Reason, frozen=True, tag="waits_for_job"):
    job: int
    wants: str
    state: str

    def message(self) -> Message:
        return self._said(f"_{self.wants}")


class NotBefore(Reason, frozen=True, tag="not_before"):
    begin_ms: int
    left_s: int
    attempts: int = 0
    """How often it was tried already: then it pauses before the next attempt."""

    def message(self) -> Message:
        return self._said("_retry", attempt=self.attempts + 1) if self.attempts else self._said()


class NodeUnreachable(Reason, frozen=True, tag="node_unreachable"):
    node: str
    why: str


class NodeBarred(Reason, frozen=True, tag="node_barred"):
    """Nothing of that user can run there."""

    node: str
    why: str


class NodeDrained(Reason, frozen=True, tag="node_drained"):
    node: str


class NodeHeld(Reason, frozen=True, tag="node_kept"):
    """It would fit there, but the node is kept free for a wide job that has waited long."""

    node: str
    job: int
    until_ms: int


class AccountClosed(Reason, frozen=True, tag="account_closed"):
    """Nothing may run as the UNIX account of the job."""

    account: str
    state: str
    """`locked`, `expired`, `refused` (by PAM), or `unknown` as long as nobody has answered."""

    def message(self) -> Message:
        return self._said(f"_{self.state}")


class QuotaReached(Reason, frozen=True, tag="quota"):
    """The user has as much as they may have at once."""

    user: str
    what: str
    """`GPUs` or `jobs`."""
    has: int
    most: int
    asked: int = 1

    def message(self) -> Message:
        return self._said(f"_{self.what.lower()}" + ("_never" if self.asked > self.most else ""))


class SweepFull(Reason, frozen=True, tag="sweep_limit"):
    """As many jobs of its sweep run as may run at once."""

    sweep: int
    running: int
    most: int


class BehindUser(Reason, frozen=True, tag="nobody_else"):
    """While a job of a user with a negative weight waits, nobody else's starts."""

    user: str


class HostMemory(Reason, frozen=True, tag="host_memory"):
    node: str
    available_mib: int
    floor_mib: int


class CpuSlots(Reason, frozen=True, tag="cpu_slots"):
    node: str
    slots: int
    holders: tuple[Holder, ...] = ()

    def message(self) -> Message:
        return self._said("_of", by=_users(self.holders)) if self.holders else self._said()


class TooFewGpus(Reason, frozen=True, tag="gpus_busy"):
    """The sum of it; the reasons of the single GPUs follow."""

    node: str
    asked: int
    free: int
    total: int


class GpuReason(Reason, frozen=True, kw_only=True):
    """Why one GPU will not do."""

    gpu: str
    """`node:index`, for people."""


class GpuTaken(GpuReason, frozen=True, tag="gpu_taken"):
    slots: int
    holders: tuple[Holder, ...]

    def message(self) -> Message:
        variant = ("_slots" if self.slots > 1 else "") + ("_of" if self.holders else "")
        return self._said(variant, by=_users(self.holders))


class GpuForeign(GpuReason, frozen=True, tag="gpu_foreign"):
    procs: tuple[Process, ...]

    def message(self) -> Message:
        return self._said(by=_users((), self.procs))


class GpuMemory(GpuReason, frozen=True, tag="gpu_memory"):
    asked_mib: int
    free_mib: int
    total_mib: int
    holders: tuple[Holder, ...] = ()
    procs: tuple[Process, ...] = ()
    floor_mib: int = 0
    """What must stay free besides, by `safety.gpu_mem`."""

    def message(self) -> Message:
        is_held = "_of" if self.holders or self.procs else ""
        return self._said(f"{is_held}_floor" if self.floor_mib else is_held, by=_users(self.holders, self.procs))


class GpuBusy(GpuReason, frozen=True, tag="gpu_utilization"):
    util: int | None
    max_util: int

    def message(self) -> Message:
        return self._said("_unknown" if self.util is None else "")


class GpuFault(GpuReason, frozen=True, tag="gpu_fault"):
    fault: str


class GpuClaimed(GpuReason, frozen=True, tag="gpu_claimed"):
    """Another Roost on the same machine has given it out."""

    by: Claimant

    def message(self) -> Message:
        return self._said(by=self.by.message())


class GpuOrphaned(GpuReason, frozen=True, tag="gpu_orphaned"):
    """An attempt that was given up while its node could not be reached still runs on it, and is being ended."""

    runs: tuple[str, ...]


class GpuUnknown(GpuReason, frozen=True, tag="gpu_unknown"):
    pass


class GpuClosed(GpuReason, frozen=True, tag="gpu_drained"):
    how: str
    """`drained` or `disabled`."""

    def message(self) -> Message:
        return self._said("_disabled" if self.how == "disabled" else "")


class GpuNotAsked(GpuReason, frozen=True, tag="gpu_not_asked"):
    asked: tuple[str, ...]

    def message(self) -> Message:
        return self._said(asked=",".join(self.asked))


class NoNodes(Reason, frozen=True, tag="no_nodes"):
    pass


class Ahead(Reason, frozen=True, tag="behind"):
    """It would fit; others are first."""

    jobs: int | None

    def message(self) -> Message:
        return self._said("" if self.jobs else "_many" if self.jobs is None else "_none")


def with_commands_hidden(text: Message, pids: set[int], shown: str) -> Message:
    """The message of a reason, with `shown` instead of what these processes run."""
    hidden = Message(text.code)
    hidden.params.update(text.params)
    hidden.params["by"] = [
        Message(one.code, **{**one.params, "command": shown}) if one.params.get("pid") in pids else one
        for one in text.params["by"]
    ]
    return hidden


class Refusal(msgspec.Struct, frozen=True):
    """Why a request was not placed now."""

    reasons: tuple[Reason, ...]

    def text(self) -> str:
        """All of it in one line of English."""
        return "; ".join(reason.text() for reason in self.reasons)


def _users(holders: tuple[Holder, ...], procs: tuple[Process, ...] = ()) -> list[Message]:
    """Who has it: the first jobs, then the first processes, each with how many more there are."""
    return [
        *(Message("reason.holder", job=one.job, user=one.user) for one in holders[:MAX_HOLDERS]),
        *([Message("reason.more_jobs", more=more)] if (more := len(holders) - MAX_HOLDERS) > 0 else ()),
        *(Message("reason.process", pid=p.pid, user=p.user, mib=p.mem_mib, command=p.command) for p in procs[:MAX_HOLDERS]),
        *([Message("reason.more_processes", more=more)] if (more := len(procs) - MAX_HOLDERS) > 0 else ()),
    ]
