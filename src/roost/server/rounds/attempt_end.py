"""What an attempt's end means for its job: the job's own end, or a further attempt. No I/O."""

import msgspec

from roost.core import events as ev
from roost.core.model import Active, Job
from roost.core.plan.placement import impossible
from roost.core.plan.retries import OOM, PREEMPT, Tries, pause_ms, preempted_message, roomier, why_again
from roost.core.spec import JobSpec
from roost.core.states import Outcome
from roost.messages import Message
from roost.server.rounds.submit import why_never
from roost.server.rounds.turn import Turn
from roost.store.rows import AttemptRow, JobRow

MAX_PLACES = 3
"""So many nodes are tried by a job that cannot start: what none of them has is a slip of the pen."""


class Causes(msgspec.Struct, frozen=True):
    """What the node knows of an end besides the outcome."""

    asked: str | None = None
    """For what it stopped the run; None: it ended by itself."""
    memory: str | None = None
    """Which memory was too small: `gpu` or `host`."""


def settle(turn: Turn, active: Active, end: ev.Ended, causes: Causes) -> None:
    """Nothing of the attempt is left: end its job, or let it wait for a further attempt."""
    if end.outcome is Outcome.CANNOT_START and active.stop is None and _tries_elsewhere(turn, active, end):
        return
    why = why_again(end.outcome, active.stop, causes.asked)
    row = turn.row(active.job.id) if why is not None else None
    tries = tries_of(row) if row is not None else Tries()
    if why is None or row is None or not tries.allow(why):
        turn.end(end)
        return
    if why == PREEMPT:
        end = msgspec.structs.replace(end, error=preempted_message(active.stop).as_text())
    job = _again(turn, active, why == OOM and causes.memory == "gpu")
    _requeue(turn, active, end, why, job, tries.after(why), turn.now_ms + pause_ms(tries, why))


def _requeue(turn: Turn, active: Active, end: ev.Ended, why: str, job: Job, used: Tries, again_ms: int) -> None:
    """The attempt ended and the job did not."""
    how = (end.outcome, why, again_ms, job, used.retried, used.oom_retried, end.exit_code, end.error, end.usage)
    turn.record(ev.Requeued(end.id, end.at_ms, active.attempt, *how))


def _tries_elsewhere(turn: Turn, active: Active, end: ev.Ended) -> bool:
    """What one machine lacks, a directory or a program, another may have: a node must not swallow the queue."""
    cluster, shape = turn.cluster, active.job.shape
    rest = tuple(n for n in shape.request.nodes or sorted(cluster.nodes) if n != active.node)
    if active.attempt >= MAX_PLACES or not rest or (row := turn.row(active.job.id)) is None:
        return False
    request = msgspec.structs.replace(shape.request, nodes=rest)
    if impossible(cluster, request) is not None:
        return False
    job = msgspec.structs.replace(active.job, shape=turn.reshaped(shape, request=request))
    _requeue(turn, active, end, "elsewhere", job, tries_of(row), turn.now_ms)
    return True


def tries_of(row: JobRow) -> Tries:
    """What the job may and did, as it is kept."""
    spec = row.decoded()
    return Tries(spec.retries, spec.retry_oom, row.retried, row.oom_retried)


def _again(turn: Turn, active: Active, needs_room: bool) -> Job:
    """The job as it waits again, of the same age; with more room where that may help and can ever be had."""
    if not needs_room or not active.gpus:
        return active.job
    request = roomier(turn.cluster, active)
    if why_never(turn, request) is not None:
        return active.job
    return msgspec.structs.replace(active.job, shape=turn.reshaped(active.job.shape, request=request))


def retry_message(row: JobRow, spec: JobSpec, attempts: list[AttemptRow], now_asks: Message | None) -> Message | None:
    """`retry 1 of 3 after CUDA out of memory, alone on its GPU`; None when it is no retry. `now_asks` is what differs."""
    last = next((a for a in reversed(attempts) if a.state == "ended" and a.outcome is not None), None)
    if row.state == "ended" or last is None:
        return None
    why = Message.of_text(last.error or "")
    if why.code in _PREEMPTED:
        return Message("attempt.queued_again", why=why) if row.state in ("queued", "held") else why
    if last.outcome == Outcome.OUT_OF_MEMORY.value and row.oom_retried:
        ran_out = Message(_MEMORY.get(why.code, "word.out_of_memory"))
        retry = Message("attempt.retry", n=row.oom_retried, of=spec.retry_oom, why=ran_out)
        return retry if now_asks is None else Message("attempt.retry_changed", retry=retry, changed=now_asks)
    if not row.retried:
        return None
    failed = last.outcome == Outcome.FAILED.value and last.exit_code is not None
    ended = Message("attempt.failed", code=last.exit_code) if failed else Message(f"word.{last.outcome}")
    return Message("attempt.retry", n=row.retried, of=spec.retries, why=ended)


_PREEMPTED = frozenset(("attempt.preempted", "attempt.preempted_for"))
_MEMORY = {
    "attempt.cuda_memory_log": "attempt.cuda_memory",
    "attempt.hip_memory_log": "attempt.hip_memory",
    "attempt.host_memory_log": "attempt.host_memory",
    "attempt.host_memory_killed": "attempt.host_memory",
    "attempt.host_memory_count": "attempt.host_memory",
}
