"""One round in the making: what happened in it, what must be committed, and what may be told once it is."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import msgspec

from roost.core import events as ev
from roost.core.accounts import NODE_CHANNEL, SERVER_ACCOUNT, Account, Channel
from roost.core.cluster import NO_CONDITIONS, Cluster
from roost.core.errors import RoostError
from roost.core.model import Active, Job, Request, Shape
from roost.core.nodes import shape_channel
from roost.core.spec import JobSpec, work_of
from roost.core.states import Outcome
from roost.messages import Message
from roost.store import reads
from roost.store.load import Interned
from roost.store.rows import AuditRow, JobRow, ResultRow, SweepRow
from roost.store.store import Store
from roost.store.usage import Used
from roost.store.writes import Batch, NewJob


class Send(msgspec.Struct, frozen=True):
    """A message for one of the programs of a node, to go out after the commit."""

    node: str
    message: dict[str, Any]
    channel: Channel = NODE_CHANNEL


class Owner(msgspec.Struct, frozen=True):
    """Whose job it is, and the UNIX account that it runs as."""

    user: str
    account: Account = SERVER_ACCOUNT


class StartRun(msgspec.Struct, frozen=True):
    """A run to be started once its intent is committed; the words for the node are made from the fetched row."""

    node: str
    job: int
    attempt: int


class Turn:
    """Collects one round. What is obeyed and taken in changes the cluster by `record` alone."""

    def __init__(
        self, cluster: Cluster, store: Store, interned: Interned, now_ms: int, last_job: int, nonce: Callable[[], str]
    ) -> None:
        self.cluster, self.interned, self.nonce = cluster, interned, nonce
        self.read = store.read
        """Asks a question of `reads`: what was true at the last commit."""
        self.now_ms, self.last_job = now_ms, last_job
        self.first_job = last_job
        self.events: list[ev.Event] = []
        self.actors: dict[int, str] = {}
        self.new: dict[int, NewJob] = {}
        self.envs: dict[str, bytes] = {}
        self.sends: list[Send] = []
        self.starts: list[StartRun] = []
        self.history: list[dict[str, Any]] = []
        self.used: list[Used] = []
        self.ended: dict[int, Outcome] = {}
        self.removed: set[int] = set()
        self.freed: set[int] = set()
        """Waiting jobs, one of whose dependencies has ended."""
        self.submissions: dict[str, tuple[int, int]] = {}
        self.sweeps: dict[int, SweepRow] = {}
        self.results: dict[int, dict[str, ResultRow]] = {}
        """What jobs have said of themselves, to be written."""
        self.never: dict[Request, RoostError | None] = {}
        self.sound: set[Hashable] = set()
        """What `spec.check` found right in this round."""
        self.audit: list[AuditRow] = []
        self._rows: dict[int, JobRow] = {}
        self._kept: dict[int, dict[str, ResultRow]] = {}

    def record(self, event: ev.Event, actor: str | None = None) -> None:
        """It happened: apply it, and keep it for the commit."""
        if isinstance(event, (ev.Ended, ev.Requeued)):
            self._remember(event)
            self._use(event)
        self.cluster.apply(event)
        if actor is not None:
            self.actors[len(self.events)] = actor
        self.events.append(event)
        if isinstance(event, ev.Ended):
            self.ended[event.id] = event.outcome
        elif isinstance(event, ev.Rerun):
            self.ended.pop(event.id, None)

    def _remember(self, event: ev.Ended | ev.Requeued) -> None:
        """Keep what a run teaches, for the servers after this one."""
        if (ran := self.cluster.ran(event)) is None:
            return
        waited_ms = None if ran.waited_s is None else int(1000 * ran.waited_s)
        self.history.append(
            {
                "job": event.id,
                "user": ran.user,
                "work": ran.work,
                "gpus": ran.gpus,
                "limit_s": ran.limit_s,
                "submitted_ms": self.cluster.active[event.id].job.submitted_ms,
                "started_ms": event.at_ms - int(1000 * ran.run_s),
                "ended_ms": event.at_ms,
                "outcome": event.outcome.value,
                "waited_ms": waited_ms,
                "peak_mem_mib": ran.peak_mib,
            }
        )

    def _use(self, event: ev.Ended | ev.Requeued) -> None:
        """Count what a run had, also one that taught nothing because it was lost."""
        active = self.cluster.active.get(event.id)
        if active is None or active.pid is None:
            return
        job, ended_ms = active.job, min(event.at_ms, self.now_ms)
        started_ms = max(event.usage.started_ms or active.since_ms, job.submitted_ms)  # whatever a node's clock says
        waited_ms = max(0, started_ms - self.cluster.ready_ms(job)) if active.attempt == 1 else None
        self.used.append(Used(job.shape.user, len(active.gpus), started_ms, ended_ms, waited_ms))

    def end(self, event: ev.Ended, actor: str | None = None) -> None:
        """A job ended; jobs that waited for it to end otherwise can never start, and end with it, and so on."""
        doomed = [
            (job, event)
            for job in self.cluster.dependents.get(event.id, ())
            if any(d.job == event.id and not d.is_met_by(event.outcome) for d in self.cluster.conditions[job].after)
        ]
        self.freed.update(self.cluster.dependents.get(event.id, ()))
        self.record(event, actor)
        for job, cause in doomed:
            if self.cluster.find(job) is not None:
                text = Message("attempt.after_other_end", job=cause.id, outcome=cause.outcome.value).as_text()
                self.end(ev.Ended(job, self.now_ms, Outcome.CANNOT_START, None, text), actor)

    def send(self, node: str, channel: Channel, op: str, **fields: Any) -> None:
        """Say that to a program of a node, after the commit."""
        self.sends.append(Send(node, {"op": op, **fields}, channel))

    def tell(self, active: Active, op: str, **fields: Any) -> None:
        """Say that about a run to the program which has it, after the commit."""
        self.send(active.node, self.channel(active), op, run=active.run, nonce=active.nonce, **fields)

    def channel(self, active: Active) -> Channel:
        """Which program of its node has that run."""
        return shape_channel(self.cluster, active.node, active.job.shape)

    def next_id(self) -> int:
        """A fresh job id."""
        self.last_job += 1
        return self.last_job

    def shaped(self, owner: Owner, spec: JobSpec, request: Request) -> Shape:
        """The shared shape of a job that asks that."""
        rest = (work_of(spec), spec.sweep or 0, spec.preemptible, spec.time_limit_s or 0, owner.account)
        return self.interned.shape(Shape(owner.user, spec.priority, request, *rest))

    def reshaped(self, shape: Shape, **changes: Any) -> Shape:
        """The same shape with another priority or request."""
        return self.interned.shape(msgspec.structs.replace(shape, **changes))

    def sweep(self, sweep: int) -> SweepRow | None:
        """A sweep, as it is at this point of the round."""
        return self.sweeps.get(sweep) or (self.read(reads.sweep, sweep) if 0 < sweep < 1 << 31 else None)

    def next_sweep(self) -> int:
        """A fresh sweep id."""
        return max(self.read(reads.last_sweep), self.read(reads.sweeps_given), *self.sweeps, 0) + 1

    def owner(self, job: int) -> Owner | None:
        """Whose job it is; None when there is none of that number."""
        if (found := self.cluster.find(job)) is not None:
            return Owner(found.shape.user, found.shape.account)
        row = self.row(job)
        return Owner(row.user, row.account) if row is not None else None

    def row(self, job: int) -> JobRow | None:
        """What the store knows of a job."""
        known = 0 < job <= self.last_job and job not in self.removed  # a larger number might not fit the store
        return self._rows.get(job) or self.read(reads.jobs, [job]).get(job) if known else None

    def look_up(self, jobs: Sequence[int]) -> None:
        """Read at once what `row` will be asked of those: thousands of questions, one by one, hold up everybody."""
        known = [job for job in jobs if 0 < job <= self.last_job and self.cluster.find(job) is None]
        self._rows |= self.read(reads.jobs, known)

    def reported(self, job: int) -> dict[str, ResultRow]:
        """What a job has said of itself, as it is at this point of the round."""
        if job not in self._kept:
            self._kept[job] = {row.key: row for row in self.read(reads.results, [job]).get(job, ())}
        return self._kept[job] | self.results.get(job, {})

    def keep(self, row: ResultRow) -> None:
        """Have that written down."""
        self.results.setdefault(row.job, {})[row.key] = row

    def outcome_of(self, job: int) -> Outcome | None:
        """How a job ended; None when it has not, or never was."""
        if job in self.ended:
            return self.ended[job]
        row = self.row(job)
        return Outcome(row.outcome) if row is not None and row.outcome and self.cluster.find(job) is None else None

    def exists(self, job: int) -> bool:
        """Whether there is such a job, waiting, active or ended."""
        if job in self.removed:
            return False
        return job in self.new or self.cluster.find(job) is not None or job in self.ended or self.row(job) is not None

    def batch(self) -> Batch:
        """All of it as one transaction."""
        last = self.last_job if self.last_job != self.first_job else None
        keys = [(key, first, count, self.now_ms) for key, (first, count) in self.submissions.items()]
        waiting = (job for job in sorted(self.freed) if job in self.cluster.jobs)
        waits = {job: self.cluster.conditions.get(job, NO_CONDITIONS) for job in waiting}
        fetch = [s.job for s in self.starts]
        sweeps, results = list(self.sweeps.values()), [row for rows in self.results.values() for row in rows.values()]
        rest = (keys, waits, sweeps, results, self.history, self.audit, self.used)
        return Batch(self.events, self.new, self.envs, self.actors, fetch, last, *rest)


class Reply(msgspec.Struct):
    """What the asker hears after the commit."""

    value: Any = None
    error: RoostError | None = None


def moved(job: Job, shape: Shape, rank: int) -> Job:
    """The same job in another place of the queue."""
    return Job(job.id, shape, rank, job.submitted_ms, job.attempts)
