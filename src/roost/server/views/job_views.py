"""What people and programs are shown: rows and the cluster as answers. Never an environment."""

from collections import Counter

import msgspec

from roost.answers import reasons as reason_answers
from roost.answers.gpus import CpuSlots, GpuFacts, GpuJob, GpuProcess
from roost.answers.gpus import Gpu as GpuAnswer
from roost.answers.jobs import Attempt, Awaited, Estimate, Why
from roost.answers.jobs import Job as JobAnswer
from roost.answers.jobs import Request as RequestAnswer
from roost.answers.settings import TYPES
from roost.answers.settings import Setting as SettingAnswer
from roost.core import policy as policies
from roost.core.cluster import Cluster
from roost.core.estimates.queue_ahead import Queue
from roost.core.model import Conditions, Gpu, Process, Request
from roost.core.nodes import Node
from roost.core.plan.placement import Space, cpu_slots
from roost.core.plan.planner import explain
from roost.core.plan.retries import difference
from roost.core.settings import Setting, Value, unit_of
from roost.core.spec import JobSpec, display_command
from roost.core.states import ACTIVE, UNKNOWN, WAITING
from roost.messages import Message, from_column
from roost.server.clock import rfc3339
from roost.server.rounds.attempt_end import retry_message
from roost.store.rows import AttemptRow, JobRow


def job_view(
    cluster: Cluster, row: JobRow, attempts: list[AttemptRow], now_ms: int, place: int | None, own: str | None = None
) -> JobAnswer:
    """A job, whole; `place` is its place in the queue, as far as it is counted; `own` is the server's own account."""
    spec = row.decoded()
    active = cluster.active.get(row.id)
    state, last_state = shown_state(cluster, _state(cluster, row), active.node if active is not None else None, now_ms)
    attempts = _ahead(cluster, attempts)
    started_ms = attempts[-1].started_ms if attempts and row.state == "starting" else row.started_ms
    last = attempts[-1] if attempts else None
    return JobAnswer(
        id=row.id,
        name=row.name,
        desc=spec.desc,
        user=row.user,
        submitter=row.submitter or row.user,
        runs_as=row.account or own,
        state=state,
        last_state=last_state,
        outcome=row.outcome,
        exit_code=row.exit_code,
        error=from_column(row.error),
        command=spec.command,
        command_line=display_command(spec),
        script=spec.script is not None,
        cwd=spec.cwd,
        gpus=spec.gpus,
        request=_request(spec),
        labels=spec.labels,
        node=last.node if last is not None and last.state != "refused" else None,
        priority=row.priority,
        queue_position=place,
        attempts=[attempt_view(a) for a in attempts],
        reasons=reasons_view(cluster, row.id, now_ms, place),
        after=[Awaited(d.job, d.wants) for d in spec.dependencies()],
        begin_at=rfc3339(_begin_ms(row)) if spec.begin_at or state in WAITING else None,
        retries=spec.retries,
        retried=row.retried,
        retry_oom=spec.retry_oom,
        oom_retried=row.oom_retried,
        retry=retry_view(row, spec, attempts),
        preemptible=spec.preemptible,
        notify=spec.notify,
        time_limit_s=spec.time_limit_s,
        submitted_at=rfc3339(row.submitted_ms),
        started_at=rfc3339(started_ms),
        ended_at=rfc3339(row.ended_ms),
        stdout=spec.stdout,
        stderr=spec.stderr,
        sweep=spec.sweep,
        point=spec.point,
    )


def retry_view(row: JobRow, spec: JobSpec, attempts: list[AttemptRow]) -> Message | None:
    """What the present attempt, or the one it waits for, is tried again for."""
    if row.attempts == 0 or row.state == "ended":
        return None
    differs = difference(spec.request(), msgspec.json.decode(row.request, type=Request)) if row.oom_retried else None
    return retry_message(row, spec, attempts, differs)


AWAY_MS = 2_000
"""A node that is away for less is not worth a word."""


def shown_state(cluster: Cluster, state: str, node: str | None, now_ms: int) -> tuple[str, str | None]:
    """The state that is shown, and, where that is `unknown`, the last that was known."""
    known = cluster.nodes.get(node) if state in ACTIVE and node is not None else None
    return (UNKNOWN, state) if known is not None and _is_away(known, now_ms) else (state, None)


def away(cluster: Cluster, now_ms: int) -> tuple[str, ...]:
    """The nodes whose jobs are shown as unknown."""
    return tuple(name for name, node in sorted(cluster.nodes.items()) if _is_away(node, now_ms))


def _is_away(node: Node, now_ms: int) -> bool:
    """The server's own machine is not away just because the server has only now begun to reach its program. A clock that was
    set back makes nobody present."""
    if node.attached:
        return False
    return node.access is not None if node.away_ms is None else not 0 <= now_ms - node.away_ms < AWAY_MS


def _state(cluster: Cluster, row: JobRow) -> str:
    """Memory is ahead of the row by what is lazily committed, a start that was just reported."""
    state = cluster.state_of(row.id)
    return state.value if state is not None and row.state != "ended" else row.state


def _ahead(cluster: Cluster, attempts: list[AttemptRow]) -> list[AttemptRow]:
    """The attempts as memory has them: what is called running has its pid and its start."""
    last = attempts[-1] if attempts else None
    active = cluster.active.get(last.job) if last is not None else None
    if last is None or active is None or active.pid is None or (last.attempt, last.pid) != (active.attempt, None):
        return attempts
    known = msgspec.structs.replace(last, state=active.state.value, pid=active.pid, started_ms=active.since_ms)
    return [*attempts[:-1], known]


def _request(spec: JobSpec) -> RequestAnswer:
    return RequestAnswer(
        gpus=spec.gpus,
        mem_mib=spec.mem_mib,
        max_util=spec.max_util,
        exclusive=spec.exclusive,
        gpu_ids=tuple(map(str, spec.gpu_ids)),
        prefer_gpus=tuple(map(str, spec.prefer_gpus)),
        nodes=spec.nodes,
        prefer_nodes=spec.prefer_nodes,
        gpu_models=spec.gpu_models,
        min_gpu_mem_mib=spec.min_gpu_mem_mib,
        mem_auto=spec.mem_auto,
    )


def _begin_ms(row: JobRow) -> int | None:
    return msgspec.json.decode(row.waits, type=Conditions).begin_ms if row.waits else None


def attempt_view(a: AttemptRow) -> Attempt:
    """One attempt of a job."""
    devices = a.devices()
    return Attempt(
        attempt=a.attempt,
        run=f"{a.job}.{a.attempt}",
        state=a.state,
        outcome=a.outcome,
        node=a.node,
        gpu_uuids=[uuid for uuid, _ in devices],
        gpu_indices=[index for _, index in devices],
        pid=a.pid,
        intended_at=rfc3339(a.intended_ms),
        started_at=rfc3339(a.started_ms),
        ended_at=rfc3339(a.ended_ms),
        exit_code=a.exit_code,
        error=from_column(a.error),
        peak_mem_mib=a.peak_mem_mib,
        granted_mib=a.granted_mib,
        peak_rss_mib=a.peak_rss_mib,
        cpu_s=None if a.cpu_ms is None else a.cpu_ms / 1000,
        util_mean=a.util_mean,
    )


def reasons_view(cluster: Cluster, job: int, now_ms: int, place: int | None = None) -> list[reason_answers.Reason]:
    """Why a waiting job waits; nothing for any other."""
    waiting = cluster.jobs.get(job)
    return [reason_answers.shown(r) for r in explain(cluster, waiting, now_ms, place)] if waiting is not None else []


def why_view(job: JobAnswer, estimate: Estimate | None) -> Why:
    """Why a job waits, from its whole view and its estimate, which is None unless it waits."""
    text = reason_answers.text_of(job.reasons) if job.reasons else _where_it_is(job)
    foreseen = msgspec.structs.asdict(estimate or NO_ESTIMATE)
    return Why(id=job.id, state=job.state, outcome=job.outcome, reasons=job.reasons, text=text, **foreseen)


NO_ESTIMATE = Estimate(
    ahead=Queue(0, ()), holders=[], eta=None, not_before=None, instead=(), predicted_run_s=None, predicted_from=None
)


def _where_it_is(job: JobAnswer) -> Message:
    """The one thing to say of a job that does not wait."""
    if job.outcome is not None:
        ended = Message("reason.job_ended", outcome=job.outcome)
        return Message("reason.job_ended_error", outcome=job.outcome, error=job.error) if job.error else ended
    if not job.attempts:  # it has just been started, and that was not yet on the disk when it was read
        return Message("reason.job_active", state=job.state)
    gpus = job.attempts[-1].gpu_indices
    at = Message("reason.job_active_on", state=job.state, node=job.node)
    return Message("reason.job_active_gpus", state=job.state, node=job.node, gpus=gpus) if gpus else at


def gpus_view(cluster: Cluster, names: dict[int, str]) -> list[GpuAnswer]:
    """Every GPU, what is on it and who. `names` are the names of the active jobs."""
    space = Space(cluster)
    return [
        GpuAnswer(
            **msgspec.structs.asdict(gpu_facts(cluster, space, node.name, gpu)),
            jobs=[
                GpuJob(
                    id=c.job, user=active.job.shape.user, name=names.get(c.job, ""), state=active.state, mem_mib=c.mem_mib
                )
                for c in cluster.claims.get(gpu.uuid, {}).values()
                if (active := cluster.active[c.job])
            ],
            procs=[
                GpuProcess(pid=p.pid, user=p.user, command=p.command, mem_mib=p.mem_mib, job=_job_of(p.run))
                for p in processes_on(cluster, gpu)
            ],
        )
        for node, gpu in cluster.gpus()
    ]


def processes_on(cluster: Cluster, gpu: Gpu) -> tuple[Process, ...]:
    """The processes that were seen on a GPU."""
    seen = cluster.seen.get(gpu.uuid)
    return seen.procs if seen is not None else ()


def cpu_view(cluster: Cluster) -> CpuSlots:
    """The room for jobs without a GPU."""
    slots = sum(cpu_slots(cluster, node) for node in cluster.nodes.values())
    return CpuSlots(slots, sum(n.cpu_used for n in cluster.nodes.values()))


def gpu_facts(cluster: Cluster, space: Space, node: str, gpu: Gpu) -> GpuFacts:
    """What is known of one GPU."""
    rules, seen = cluster.rules_of(gpu.uuid), cluster.seen.get(gpu.uuid)
    state, reason = gpu_state(cluster, node, gpu)
    return GpuFacts(
        uuid=gpu.uuid,
        index=gpu.index,
        node=node,
        alias=rules.alias,
        model=gpu.model,
        mig=gpu.mig,
        mem_mib=gpu.mem_mib,
        mem_used_mib=seen.mem_used_mib if seen else None,
        mem_reserved_mib=sum(c.mem_mib for c in cluster.claims.get(gpu.uuid, {}).values()),
        mem_free_mib=space.free_mib(gpu),
        util=seen.util if seen else None,
        temp_c=seen.temp_c if seen else None,
        power_w=seen.power_w if seen else None,
        slots=rules.slots,
        drained=rules.drained,
        disabled=rules.disabled,
        state=state,
        reason=reason,
    )


def _job_of(run: str | None) -> int | None:
    return int(run.partition(".")[0]) if run is not None else None


def gpu_state(cluster: Cluster, node: str, gpu: Gpu) -> tuple[str, str | None]:
    """What one word says of a GPU, and the reason when it cannot be used."""
    where, rules, seen = cluster.nodes[node], cluster.rules_of(gpu.uuid), cluster.seen.get(gpu.uuid)
    if not where.attached:
        return "unreachable", where.reason
    if rules.disabled:
        return "disabled", None
    if seen is not None and seen.fault is not None:
        return "fault", seen.fault
    if rules.drained or where.drained:
        return "drained", None
    if seen is None:
        return "unknown", "not read yet"
    if gpu.uuid in cluster.claims:
        return "used", None
    if seen.claimed_by is not None:
        return "claimed", f"claimed by {seen.claimed_by.message()}"
    if seen.foreign:
        return "foreign", f"used by pid {', '.join(str(p.pid) for p in seen.foreign)}"
    return "free", None


def faults_view(cluster: Cluster) -> list[str]:
    """What is wrong with GPUs, a line for each fault, however many have it."""
    found: dict[str, list[str]] = {}
    for node, gpu in cluster.gpus():
        state, reason = gpu_state(cluster, node.name, gpu)
        if state == "fault":
            found.setdefault(reason or "?", []).append(f"{node.name}:{gpu.index}")
    return [f"GPU {', '.join(gpus)} set aside: {fault}" for fault, gpus in found.items()]


def counts_view(cluster: Cluster, now_ms: int) -> dict[str, int]:
    """How many jobs are shown in which state, and how many ended how."""
    counts = Counter({str(key): n for key, n in cluster.counts.items()})
    if gone := set(away(cluster, now_ms)):
        lost = Counter(str(active.state) for active in cluster.active.values() if active.node in gone)
        counts.subtract(lost)
        counts[UNKNOWN] = lost.total()
    return {key: n for key, n in sorted(counts.items()) if n}


def setting_view(row: Setting, value: Value) -> SettingAnswer:
    """A setting: what it is, what it means, and which values it takes."""
    return SettingAnswer(
        key=row.key,
        value=value,
        default=row.default,
        meaning=row.meaning,
        type=TYPES[row.kind],
        minimum=row.range[0],
        maximum=row.range[1],
        unit=unit_of(row.key),
        choices=policies.names() if row.key == "policy" else list(row.choices),
        was=row.was,
    )


def totals_view(cluster: Cluster) -> dict[str, int]:
    """How many GPUs there are in which state."""
    totals: dict[str, int] = {"total": 0, "free": 0}
    for node, gpu in cluster.gpus():
        state, _ = gpu_state(cluster, node.name, gpu)
        totals[state] = totals.get(state, 0) + 1
        totals["total"] += 1
    return totals
