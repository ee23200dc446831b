"""The cluster state, rebuilt from the store. Everything that is not ended comes into memory, nothing else."""

import msgspec
from sqlalchemy import Connection, select

from roost.core import events as ev
from roost.core import model
from roost.core.cluster import NO_CONDITIONS, Cluster
from roost.core.predictions import Ran
from roost.core.settings import BadSetting, check
from roost.core.states import Outcome, State
from roost.store import reads, schema
from roost.store.rows import AttemptRow, JobRow
from roost.store.store import Store

REMEMBERED = 20_000
"""So many of the newest runs are learned from when a server starts."""


class Interned:
    """One object for equal requests and shapes: a million jobs share a few."""

    def __init__(self) -> None:
        self._requests: dict[str, model.Request] = {}
        self._shapes: dict[model.Shape, model.Shape] = {}

    def request(self, text: str) -> model.Request:
        """The request behind its stored text."""
        if (known := self._requests.get(text)) is None:
            known = self._requests[text] = msgspec.json.decode(text, type=model.Request)
        return known

    def shape(self, shape: model.Shape) -> model.Shape:
        """The one shape that is equal to it."""
        return self._shapes.setdefault(shape, shape)


def load(store: Store) -> Cluster:
    """A cluster as it was at the last commit; no node is attached yet."""
    cluster, interned = Cluster(), Interned()
    meta = store.meta()
    cluster.is_paused = meta.get("paused") == "1"
    with store.reader() as db:
        for load_part in (_load_settings, _load_devices, _load_rules):
            load_part(db, cluster)
        starts = _load_history(db, cluster)
    if "recall" in meta:
        _load_recall(cluster, meta["recall"])
    actives = store.read(reads.active)
    for row, attempt in actives:
        cluster.restore(_active(row, attempt, interned))
    for _, user in sorted([*starts, *((attempt.intended_ms, row.user) for row, attempt in actives)]):
        cluster.serve(user)
    _load_waiting(store, cluster, interned)
    for outcome, count in store.read(reads.outcomes).items():
        cluster.counts[Outcome(outcome)] += count
        cluster.counts[State.ENDED] += count
    return cluster


def _load_settings(db: Connection, cluster: Cluster) -> None:
    for key, value in db.execute(select(schema.settings)):
        try:
            cluster.settings[key] = check(key, msgspec.json.decode(value))
        except BadSetting:
            continue  # a setting of another release: its row stays, its value is unused


def _load_devices(db: Connection, cluster: Cluster) -> None:
    by_node: dict[str, list[model.Gpu]] = {}
    for uuid, node, number, kind, mem_mib, mig, slots, disabled, drained, alias in db.execute(select(schema.gpus)):
        cluster.rules[uuid] = model.GpuRules(slots, disabled, drained, alias)
        if node is not None:
            by_node.setdefault(node, []).append(model.Gpu(uuid, number, kind, mem_mib, mig))
    for name, cpus, mem_mib, drained, access, hostname in db.execute(select(schema.nodes)):
        cluster.apply(ev.NodeSeen(name, cpus, mem_mib, tuple(by_node.get(name, ())), hostname))
        cluster.nodes[name].drained = drained
        if access is not None:
            cluster.apply(ev.NodeKnown(name, msgspec.json.decode(access, type=model.Access)))
    for node, run, left in db.execute(select(schema.given_up)):
        cluster.apply(ev.GivenUp(node, run, msgspec.json.decode(left, type=model.Left)))
    for node, run, channel in db.execute(select(schema.old_files)):
        cluster.apply(ev.FilesLeft(node, run, channel))
    for node, user, login in db.execute(select(schema.logins)):
        cluster.apply(ev.LoginSet(node, user, msgspec.json.decode(login, type=model.Login)))


def _load_recall(cluster: Cluster, text: str) -> None:
    """What is still unknown after a restore, of nodes that there are."""
    recall = msgspec.json.decode(text, type=model.Recall)
    ask = tuple(key for key in recall.ask if key[0] in cluster.nodes)
    cluster.apply(ev.Recalled(msgspec.structs.replace(recall, ask=ask)))


def _load_rules(db: Connection, cluster: Cluster) -> None:
    for name, *rules in db.execute(select(schema.users)):
        cluster.apply(ev.UserRuled(name, model.UserRules(*rules)))
    limits = select(schema.sweeps.c.id, schema.sweeps.c.max_running).where(schema.sweeps.c.max_running.is_not(None))
    for sweep, max_running in db.execute(limits):
        cluster.apply(ev.GroupLimited(sweep, max_running))


def _load_history(db: Connection, cluster: Cluster) -> list[tuple[int, str]]:
    """What earlier runs taught, as far as they are remembered; when each began, and whose it was."""
    starts = []
    for user, work, gpus, limit_s, waited_ms, run_ms, peak_mib, started_ms in reads.remembered(db, REMEMBERED):
        waited_s = None if waited_ms is None else waited_ms / 1000
        cluster.learned.take(Ran(user, work, gpus, limit_s, waited_s, run_ms / 1000, peak_mib))
        if waited_s is not None:
            cluster.learned.waited(waited_s)
        starts.append((started_ms, user))
    return starts


def _active(row: JobRow, attempt: AttemptRow, interned: Interned) -> model.Active:
    job = model.Job(row.id, shape_of(row, interned), row.rank, row.submitted_ms, row.attempts)
    gpus = tuple(uuid for uuid, _ in attempt.devices())
    since, state = attempt.started_ms or attempt.intended_ms, State(row.state)
    stop = model.Stop.parse(attempt.stop) if attempt.stop is not None else None
    run = (attempt.attempt, attempt.node, gpus, since, attempt.pid, stop, attempt.granted_mib, attempt.nonce)
    return model.Active(job, state, *run)


def shape_of(row: JobRow, interned: Interned) -> model.Shape:
    """The shape of a kept job."""
    request = interned.request(row.request)
    rest = (row.work, row.sweep, bool(row.preemptible), row.limit_s, row.account)
    return interned.shape(model.Shape(row.user, row.priority, request, *rest))


def _load_waiting(store: Store, cluster: Cluster, interned: Interned) -> None:
    with_conditions: list[tuple[model.Job, str, bool]] = []
    with store.reader() as db:
        for row in reads.waiting(db):
            job_id, user, priority, rank, request, waits, attempts, submitted_ms, state, *rest = row
            shape = interned.shape(model.Shape(user, priority, interned.request(request), *rest))
            job = model.Job(job_id, shape, rank, submitted_ms, attempts)
            if waits is not None:
                with_conditions.append((job, waits, state == "held"))
            else:
                cluster.apply(ev.Submitted(job_id, submitted_ms, job, NO_CONDITIONS, state == "held"))
    for job, waits, held in with_conditions:
        conditions = _still_open(store, msgspec.json.decode(waits, type=model.Conditions))
        cluster.apply(ev.Submitted(job.id, job.submitted_ms, job, conditions, held))


def _still_open(store: Store, conditions: model.Conditions) -> model.Conditions:
    """Strike out what was met while nobody looked: a dependency that has ended as wanted."""
    ended = store.read(reads.jobs, [d.job for d in conditions.after])

    def is_open(dependency: model.Dependency) -> bool:
        row = ended.get(dependency.job)
        return row is not None and (row.outcome is None or not dependency.is_met_by(Outcome(row.outcome)))

    return model.Conditions(tuple(d for d in conditions.after if is_open(d)), conditions.begin_ms)
