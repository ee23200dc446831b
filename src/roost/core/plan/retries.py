"""Whether a job whose attempt ended badly is tried again, and what it asks for then.

Pure. Three budgets that never pay for one another: failures draw on `retries`, out of memory on `retry_oom`, making room for
another job on none. What a person ended, what ran out of time and what could not be started (no such program or directory;
what the *node* could not do is refused and costs nothing) is not tried again. Out of memory with nothing left in `retry_oom`
is the end even where `retries` are left: the same again would fail the same.
"""

from __future__ import annotations

from collections import Counter

import msgspec

from roost.core.cluster import Cluster
from roost.core.model import Active, Request, Stop, StopKind
from roost.core.plan.placement import may_use
from roost.core.states import Outcome
from roost.messages import Message

RETRY, OOM, PREEMPT = "retry", "oom", StopKind.PREEMPT.value
PAUSE_MS, MAX_PAUSE_MS = 1_000, 60_000


class Tries(msgspec.Struct, frozen=True):
    """How often a job is tried again of itself, and how often it was."""

    retries: int = 0
    retry_oom: int = 0
    retried: int = 0
    oom_retried: int = 0

    def allow(self, why: str) -> bool:
        """Whether one more is left for that."""
        left = {RETRY: self.retries - self.retried, OOM: self.retry_oom - self.oom_retried, PREEMPT: 1}
        return left[why] > 0

    def after(self, why: str) -> Tries:
        """The same with one more used."""
        return Tries(self.retries, self.retry_oom, self.retried + (why == RETRY), self.oom_retried + (why == OOM))


def why_again(outcome: Outcome, stop: Stop | None, asked: str | None) -> str | None:
    """What a further attempt would be for, if one is left; None when such an end is the end.

    `stop` is what the server had asked for; `asked` is for what the node says that it stopped the run, None when it ended
    by itself. What a person asked for wins over all else.
    """
    is_preempted = asked == PREEMPT if stop is None else stop.kind is StopKind.PREEMPT
    if stop is not None and not is_preempted:
        return None
    if is_preempted and (asked is not None or outcome is Outcome.LOST) and outcome is not Outcome.SUCCEEDED:
        return PREEMPT
    match outcome:
        case Outcome.SUCCEEDED | Outcome.TIMED_OUT | Outcome.CANNOT_START:
            return None
        case Outcome.OUT_OF_MEMORY:
            return OOM
        case Outcome.KILLED:  # by nobody who asked Roost: a death like any other
            return RETRY if asked is None else None
        case Outcome.FAILED | Outcome.LOST:
            return RETRY


def pause_ms(tries: Tries, why: str) -> int:
    """How long it waits first: doubled every time, so that a crash does not spin. One that made room lets others in."""
    doubled = 0 if why == PREEMPT else min(tries.retried + tries.oom_retried, 6)
    return min(MAX_PAUSE_MS, PAUSE_MS << doubled)


def roomier(cluster: Cluster, active: Active) -> Request:
    """What a job asks for next whose GPU had too little memory: to be alone; where it was, larger GPUs if there are any."""
    request = active.job.shape.request
    alone = msgspec.structs.replace(request, mem_mib=None, mem_auto=False, exclusive=True)
    known = cluster.node(active.node).gpus
    had_mib = min((known[uuid].mem_mib for uuid in active.gpus if uuid in known), default=None)
    if had_mib is None or not _was_alone(cluster, active):
        return alone
    larger = msgspec.structs.replace(alone, min_gpu_mem_mib=had_mib + 1)
    return larger if _exists(cluster, larger) else alone


def _was_alone(cluster: Cluster, active: Active) -> bool:
    request = active.job.shape.request
    if request.is_shared or request.mem_auto:
        return False
    return request.exclusive or all(cluster.rules_of(uuid).slots == 1 for uuid in active.gpus)


def _exists(cluster: Cluster, request: Request) -> bool:
    """Whether some node has enough such GPUs, free or not."""
    gpus = ((n, g) for n, g in cluster.gpus() if not cluster.rules_of(g.uuid).disabled)
    fitting = Counter(n.name for n, g in gpus if may_use(cluster, n, g, request))
    return any(count >= request.gpus for name, count in fitting.items() if not request.nodes or name in request.nodes)


def difference(asked: Request, now: Request) -> Message | None:
    """How the request of this attempt differs from what the user asked; None when it does not."""
    if now.min_gpu_mem_mib is not None and now.min_gpu_mem_mib != asked.min_gpu_mem_mib:
        return Message("attempt.on_larger_gpu", mib=now.min_gpu_mem_mib - 1)
    if now.exclusive and not asked.exclusive:
        return Message("attempt.alone_on_gpus", gpus=now.gpus)
    return None


def preempted_message(stop: Stop | None) -> Message:
    """What people are told of an attempt that ended so."""
    if stop is None or stop.for_job is None:
        return Message("attempt.preempted")
    return Message("attempt.preempted_for", job=stop.for_job)
