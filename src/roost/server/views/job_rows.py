"""Jobs in brief, for tables and live pages: a row of what one glance needs. Made from rows and from memory, cheaply.

Jobs of one shape lack the same, so that a reason is thought out once for all of them; starts come from one forecast.
"""

from collections.abc import Mapping

from msgspec.structs import replace

from roost.answers import reasons as reason_answers
from roost.answers.jobs import BriefJob
from roost.core.cluster import Cluster
from roost.core.model import Shape
from roost.core.plan.planner import explain, own_reasons
from roost.core.reasons import Ahead, Reason
from roost.core.spec import display_command
from roost.core.states import ACTIVE, WAITING
from roost.messages import from_column
from roost.server.clock import rfc3339
from roost.server.views.job_views import shown_state
from roost.store.overview import Kept
from roost.store.rows import JobRow

LONGEST_COMMAND = 200
"""Characters of a command that are shown."""


class Moment:
    """The cluster at one moment, for the rows of many jobs: which reasons they wait for, and until when."""

    def __init__(self, cluster: Cluster, now_ms: int, etas: Mapping[int, int]) -> None:
        self._cluster, self._now_ms, self._etas = cluster, now_ms, etas
        self._reasons: dict[Shape, Reason] = {}

    def row(self, fixed: BriefJob, place: int | None) -> BriefJob:
        """A job as it is now, from what `fixed` made of its row; `place` is its place in the queue, where that is known."""
        if fixed.state in ACTIVE:
            now = self._ahead(fixed) if fixed.state == "starting" else fixed
            state, _ = shown_state(self._cluster, now.state, now.node, self._now_ms)
            return now if state == now.state else replace(now, state=state)
        if fixed.state not in WAITING:
            return fixed
        job = fixed.id
        eta_ms = self._etas.get(job) if job in self._cluster.jobs else None
        eta = None if eta_ms is None else rfc3339(eta_ms // 1000 * 1000)
        return replace(fixed, queue_position=place, reason=self._reason(job, place), eta=eta)

    def _ahead(self, fixed: BriefJob) -> BriefJob:
        """Memory is ahead of the row by what is lazily committed, a start that was just reported."""
        active = self._cluster.active.get(fixed.id)
        if active is None or active.pid is None or active.attempt != fixed.attempts:
            return fixed
        return replace(fixed, state=active.state.value, started_at=rfc3339(active.since_ms))

    def _reason(self, job: int, place: int | None) -> reason_answers.Reason | None:
        """The first reason why it waits."""
        cluster, now_ms = self._cluster, self._now_ms
        if (waiting := cluster.jobs.get(job)) is None:
            return None
        if (own := next(own_reasons(cluster, waiting, now_ms), None)) is not None:
            return reason_answers.shown(own)
        is_kept_for = cluster.node_hold is not None and cluster.node_hold.job == job
        reason = None if is_kept_for else self._reasons.get(waiting.shape)
        if reason is None:
            reason = explain(cluster, waiting, now_ms, place)[0]
            if not is_kept_for:
                self._reasons[waiting.shape] = reason
        return reason_answers.shown(Ahead(jobs=place) if isinstance(reason, Ahead) else reason)


def fixed(kept: Kept) -> BriefJob:
    """The part of a brief row that is in the store: it changes only when something happens to the job."""
    row, last = kept.row, kept.last
    spec = row.decoded()
    command = display_command(spec)
    where = last if last is not None and last.state != "refused" else None
    return BriefJob(
        id=row.id,
        name=row.name,
        user=row.user,
        state=row.state,
        outcome=row.outcome,
        exit_code=row.exit_code,
        error=from_column(row.error),
        command_line=command if len(command) <= LONGEST_COMMAND else command[: LONGEST_COMMAND - 1] + "…",
        gpus=spec.gpus,
        mem_mib=spec.mem_mib,
        node=where.node if where is not None else None,
        gpu_indices=[index for _, index in where.devices()] if where is not None else [],
        priority=row.priority,
        labels=spec.labels,
        sweep=spec.sweep,
        queue_position=None,
        reason=None,
        eta=None,
        attempts=row.attempts,
        submitted_at=rfc3339(row.submitted_ms),
        started_at=rfc3339(_started_ms(row, kept)),
        ended_at=rfc3339(row.ended_ms),
        preemptible=spec.preemptible,
        time_limit_s=spec.time_limit_s,
    )


def _started_ms(row: JobRow, kept: Kept) -> int | None:
    return kept.last.started_ms if kept.last is not None and row.state == "starting" else row.started_ms
