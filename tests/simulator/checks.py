"""What must hold, always and at the end. Each check compares the server with what the machines' disks say."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from tests.simulator.machine import Files
from tests.simulator.people import CLONE
from tests.simulator.program import CPUS
from tests.simulator.server import SimServer
from tests.simulator.truth import End, Truth, Violation

from roost.core import events as ev
from roost.core.cluster import Cluster
from roost.core.model import Active
from roost.core.plan.planner import explain
from roost.core.states import Outcome, State
from roost.server.rounds.controller import Round
from roost.store import listing, reads
from roost.store.load import load
from roost.store.rows import AttemptRow, Filter, JobRow
from roost.store.store import Store


def living(server: SimServer) -> list[Files]:
    """Every run of which something is alive, on any machine."""
    return [files for program in server.programs.values() for files in program.machine.living()]


def living_runs_are_claimed(server: SimServer) -> None:
    """What lives on a machine is the active attempt of its job: nothing else may have its GPU meanwhile."""
    active = server.controller.cluster.active
    jobs = Counter(int(files.run.partition(".")[0]) for files in living(server))
    for job, count in jobs.items():
        if count > 1:
            raise Violation(f"job {job} has {count} living attempts")
    for files in living(server):
        job = int(files.run.partition(".")[0])
        if job not in active or active[job].run != files.run:
            raise Violation(f"run {files.run} is alive, but the server says that job {job} is {_story(server, job)}")


def starts_fit(server: SimServer, done: Round) -> None:
    """No planned start puts more on a GPU than it has; a start that a person forced may."""
    cluster = server.controller.cluster
    for i, event in enumerate(done.turn.events):
        if isinstance(event, ev.StartIntended) and i not in done.turn.actors and event.id in cluster.active:
            for uuid in event.gpus:
                _gpu_holds(cluster, uuid)
            if not event.gpus:
                _cpus_hold(cluster, event.node)


def _gpu_holds(cluster: Cluster, uuid: str) -> None:
    slots = cluster.rules_of(uuid).slots
    total = next(gpu.mem_mib for _, gpu in cluster.gpus() if gpu.uuid == uuid)
    holders = [active for active in cluster.active.values() if uuid in active.gpus]
    used = [_takes(active, slots, total) for active in holders]
    if sum(s for s, _ in used) > slots or sum(m for _, m in used) > total:
        runs = ", ".join(active.run for active in holders)
        raise Violation(f"GPU {uuid} has {slots} slots and {total} MiB, and was promised to {runs}: {used}")


def _takes(active: Active, slots: int, total: int) -> tuple[int, int]:
    request = active.job.shape.request
    if request.mem_mib is not None:
        return 0, request.mem_mib
    return (slots, total) if request.exclusive else (1, total // slots)


def _cpus_hold(cluster: Cluster, node: str) -> None:
    slots = cluster.settings["cpu.slots"] or CPUS
    used = [active.run for active in cluster.active.values() if active.node == node and not active.gpus]
    if not isinstance(slots, int) or len(used) > slots:
        raise Violation(f"{node} has {slots} CPU slots, and they were promised to {', '.join(used)}")


class Waits:
    """Dependencies: no job is planned before those it waits for have ended. A job that will be retried has not ended."""

    def __init__(self) -> None:
        self._after: dict[int, tuple[int, ...]] = {}
        self._ended: set[int] = set()

    def follow(self, done: Round) -> None:
        """Take in a committed round. A start that a person forced may come at any time; then nothing is waited for."""
        for i, event in enumerate(done.turn.events):
            if isinstance(event, (ev.Submitted, ev.Edited, ev.Rerun)):
                self._after[event.id] = tuple(d.job for d in event.conditions.after)
            elif isinstance(event, ev.Ended):
                self._ended.add(event.id)
            elif isinstance(event, ev.StartIntended):
                early = [job for job in self._after.pop(event.id, ()) if job not in self._ended]
                if early and i not in done.turn.actors:
                    raise Violation(f"job {event.id} was started although it waits for {early}")


def store_agrees(server: SimServer, now_ms: int) -> None:
    """A server started now would know what this one knows. Only for a moment at which nothing is uncommitted."""
    if server.controller.has_lazy or server.is_busy:
        return
    kept, live = load(server.store), server.controller.cluster
    for name, of in _VIEWS.items():
        if (a := of(kept, now_ms)) != (b := of(live, now_ms)):
            raise Violation(f"store and memory differ in {name}: {_difference(a, b)}")


_VIEWS: dict[str, Any] = {
    "states": lambda c, now: {job: c.state_of(job) for job in (*c.jobs, *c.active)},
    "jobs": lambda c, now: dict(c.jobs),
    "active": lambda c, now: {job: (a.run, a.node, a.gpus, a.pid, a.stop, a.job) for job, a in c.active.items()},
    "claims": lambda c, now: {gpu.uuid: c.claims.get(gpu.uuid) for _, gpu in c.gpus()},
    "GPUs held": lambda c, now: {uuid: set(claims) for uuid, claims in c.claims.items()},
    "CPU slots": lambda c, now: {name: node.cpu_used for name, node in c.nodes.items() if node.cpu_used},
    "dependencies": lambda c, now: {job: held.after for job, held in c.conditions.items() if held.after},
    "rules": lambda c, now: {gpu.uuid: c.rules_of(gpu.uuid) for _, gpu in c.gpus()},
    "users": lambda c, now: dict(c.users),
    "waiting of each": lambda c, now: dict(+c.queued_by),
    "nodes": lambda c, now: {name: (n.cpus, n.mem_mib, n.drained, n.gpus) for name, n in c.nodes.items() if n.cpus},
    "settings": lambda c, now: (c.settings, c.is_paused),
    "counts": lambda c, now: {str(key): n for key, n in c.counts.items() if n},
}


def _difference(kept: Any, live: Any) -> str:
    if isinstance(kept, dict) and isinstance(live, dict):
        keys = [key for key in {**kept, **live} if kept.get(key) != live.get(key)]
        return "; ".join(f"{key}: stored {kept.get(key)}, in memory {live.get(key)}" for key in keys[:4])
    return f"stored {kept}, in memory {live}"


def is_done(server: SimServer) -> bool:
    """Nothing waits, nothing runs, everything is said."""
    cluster = server.controller.cluster
    return server.is_quiet and not cluster.jobs and not cluster.active


def unfinished(server: SimServer, now_ms: int) -> str:
    """What is left when it should be quiet, and why."""
    cluster = server.controller.cluster
    waiting = (f"{j}: {[r.text() for r in explain(cluster, job, now_ms)]}" for j, job in list(cluster.jobs.items())[:3])
    running = (f"{a.run} is {a.state.value} on {a.node}" for a in list(cluster.active.values())[:3])
    return "; ".join((*waiting, *running)) or f"is_up={server.is_up} is_busy={server.is_busy}"


def all_ended_well(server: SimServer, truth: Truth) -> None:
    """At the end: nothing lost, nothing leaked, everything told as it was."""
    cluster, store = server.controller.cluster, server.store
    _nothing_leaked(cluster)
    ids = sorted(truth.accepted)
    rows, attempts = store.read(reads.jobs, ids), store.read(reads.attempts, ids)
    for job in ids:
        if job not in rows:
            if job not in truth.maybe_removed:
                raise Violation(f"job {job} was accepted and is lost")
            continue
        if job in truth.removed:
            raise Violation(f"job {job} was to be removed, and is still there")
        if rows[job].state != State.ENDED or rows[job].outcome is None:
            raise Violation(f"job {job} was accepted and is {rows[job].state}")
        _told_as_it_was(rows[job], attempts.get(job, []), truth)
        tried_as_often_as_asked(rows[job], attempts.get(job, []), store)
    _counts_are_right(cluster, store)
    _submitted_once(store)


def _submitted_once(store: Store) -> None:
    """A submit that was asked again, because its answer was lost, was made once."""
    jobs = store.read(listing.page, Filter(), listing.Cut(1_000_000)).jobs
    marks = Counter(row.decoded().desc for row in jobs)
    twice = [mark for mark, count in marks.items() if count > 1 and mark != CLONE]
    if twice:
        raise Violation(f"submitted once, queued more than once: {twice}")


def _nothing_leaked(cluster: Cluster) -> None:
    if cluster.claims:
        raise Violation(f"nothing runs, yet GPUs are held: {cluster.claims}")
    if any(node.cpu_used for node in cluster.nodes.values()):
        raise Violation("nothing runs, yet CPU slots are held")
    left = (cluster.open, cluster.held, cluster.lines, cluster.conditions, +cluster.queued_by)
    if any(left):
        raise Violation(f"nothing waits, yet something of it is left: {left}")


def _told_as_it_was(row: JobRow, attempts: list[AttemptRow], truth: Truth) -> None:
    if [a.attempt for a in attempts] != list(range(1, row.attempts + 1)):
        raise Violation(f"job {row.id} has had {row.attempts} attempts, kept are {[a.attempt for a in attempts]}")
    for attempt in attempts:
        run = f"{attempt.job}.{attempt.attempt}"
        end = truth.ended.get(run)
        if run not in truth.begun | truth.never:
            if attempt.exit_code is not None or attempt.outcome not in (None, Outcome.KILLED.value):
                raise Violation(f"run {run} never began, and is told as {attempt.outcome} {attempt.exit_code}")
        elif end is None or (attempt.exit_code, attempt.outcome) != (told := _told(end, attempt.stop)):
            raise Violation(f"run {run} ended as {told}, and is told as {attempt.exit_code, attempt.outcome}")


def _told(end: End, stop: str | None) -> tuple[int | None, str]:
    """What people must be told of such an end; `stop` is what the server had asked for."""
    status, why = end
    by_why = {"cannot_start": "cannot_start", "time": "timed_out", "lost": "lost", "oom": "out_of_memory"}
    if why is None:
        return status, "succeeded" if status == 0 else "killed" if status in (137, 143) else "failed"
    if why == "preempt" and status == 0 and (stop or "preempt").startswith("preempt"):
        return status, "succeeded"
    return status, by_why.get(why, "killed")


def tried_as_often_as_asked(row: JobRow, attempts: list[AttemptRow], store: Store) -> None:
    """Never more often than asked; and it was not given up, except by a person, while a try was left."""
    spec = row.decoded()
    story = [(e.kind, e.data) for e in store.read(reads.events, row.id, 100_000)]
    reruns = [i for i, (kind, _) in enumerate(story) if kind == "Rerun"]
    again = Counter(json.loads(data)["why"] for kind, data in story[reruns[-1] if reruns else 0 :] if kind == "Requeued")
    if (again["retry"], again["oom"]) != (row.retried, row.oom_retried):
        raise Violation(f"job {row.id} was tried again {again}, and counts {row.retried}, {row.oom_retried}")
    if row.retried > spec.retries or row.oom_retried > spec.retry_oom:
        raise Violation(f"job {row.id} was tried again more often than asked: {again}")
    last = attempts[-1] if attempts else None
    if last is None or last.stop is not None or last.outcome != row.outcome or last.ended_ms != row.ended_ms:
        return
    left = {
        Outcome.FAILED: spec.retries - row.retried,
        Outcome.LOST: spec.retries - row.retried,
        Outcome.OUT_OF_MEMORY: spec.retry_oom - row.oom_retried,
    }
    if left.get(Outcome(row.outcome or ""), 0) > 0:
        raise Violation(f"job {row.id} ended as {row.outcome} although it was to be tried again")


def _counts_are_right(cluster: Cluster, store: Store) -> None:
    ended = {key: n for key, n in cluster.counts.items() if n}
    kept = store.read(reads.outcomes)
    expected = {**kept, State.ENDED.value: sum(kept.values())} if kept else {}
    if {str(k): n for k, n in ended.items()} != expected:
        raise Violation(f"counts say {ended}, the store has {expected}")


def _story(server: SimServer, job: int) -> str:
    active = server.controller.cluster.active.get(job)
    return f"active as {active.run}" if active else str(server.controller.cluster.state_of(job) or "ended")
