"""What nodes tell, and what follows from it. No I/O: a report becomes events and messages.

A node's files are the truth about a run, the store about the job. Every report may come twice, late, or under an old
attempt; what does not fit the attempt that is active changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from roost.core import events as ev
from roost.core.model import Active, Claimant, Gpu, Host, Observation, Process
from roost.core.preemption import PREEMPT, stop_word
from roost.core.states import Outcome, State
from roost.links import messages as m
from roost.server.acting import own_grace_ms, remove
from roost.server.retrying import Causes, settle
from roost.server.turn import StartRun, Turn

RETRY_MS = 1_000
"""How long a job waits after a node refused to start it; doubled with every refusal, up to a minute."""


class NodeReport(msgspec.Struct, frozen=True):
    """A message from a node."""

    node: str
    message: m.Report


class LinkLost(msgspec.Struct, frozen=True):
    """The link to a node ended."""

    node: str
    reason: str


def take_in(turn: Turn, report: NodeReport, orphans: set[str]) -> None:
    """Let a report have its consequences. `orphans` are runs on nodes that no job here knows."""
    _TAKE[type(report.message)](turn, report.node, report.message, orphans)


def _hello(turn: Turn, node: str, hello: m.Hello, orphans: set[str]) -> None:
    """A node attached: compare what it runs with what should run there, and set right what differs."""
    if hello.gpus_known:
        _seen(turn, node, hello.gpus, hello.cpus, hello.mem_mib)
    else:  # a driver that is slow to answer: what was there before is still there, as far as anybody knows
        known_before = turn.cluster.node(node).gpus.values()
        _seen(turn, node, [m.GpuInfo(*msgspec.structs.astuple(g)) for g in known_before], hello.cpus, hello.mem_mib)
    turn.record(ev.NodeAttached(node))
    turn.send(node, "configure", sample_ms=turn.cluster.settings["node.sample_ms"])
    known = {run.run: run for run in hello.runs}
    for active in [a for a in turn.cluster.active.values() if a.node == node]:
        report = known.pop(active.run, None)
        if report is None:
            _missing(turn, active)
        elif isinstance(report, m.RunExited):
            _exited(turn, node, report, orphans)
        else:
            _still_running(turn, node, report, orphans)
    for run in known.values():
        _unasked(turn, node, run, orphans)


def _missing(turn: Turn, active: Active) -> None:
    """A run that the node did not name: never begun, beginning this moment, or gone with its files.

    What may be beginning is asked for by name; only a `gone` in answer to that proves that there is nothing.
    """
    match active.state:
        case State.STARTING:
            turn.starts.append(StartRun(active.node, active.job.id, active.attempt))
        case State.STOPPING:
            grace = own_grace_ms(turn, active.job.id)
            turn.send(active.node, "stop", run=active.run, why=stop_word(active.stop), grace_ms=grace)
        case _:
            _lost(turn, active)


def _lost(turn: Turn, active: Active) -> None:
    error = f"{active.node} no longer knows this run"
    settle(turn, active, ev.Ended(active.job.id, turn.now_ms, Outcome.LOST, None, error), Causes())


def _still_running(turn: Turn, node: str, run: m.RunStarted, orphans: set[str]) -> None:
    _started(turn, node, run, orphans)
    active = turn.cluster.active[_job(run.run)]
    if active.state is State.STOPPING:
        grace = own_grace_ms(turn, active.job.id)
        turn.send(node, "stop", run=run.run, why=stop_word(active.stop), grace_ms=grace)
    elif (active.state is State.PAUSED) != run.paused:
        turn.send(node, "pause" if active.state is State.PAUSED else "resume", run=run.run)


def _unasked(turn: Turn, node: str, run: m.RunStarted | m.RunExited, orphans: set[str]) -> None:
    """A run that is not active here: an old attempt is ended, one of an unknown job is left alone; both hold their GPU."""
    if isinstance(run, m.RunExited):
        turn.send(node, "forget", runs=[run.run])
        return
    orphans.add(run.run)
    if turn.exists(_job(run.run)):
        turn.send(node, "stop", run=run.run, why="stale", grace_ms=None)


def _started(turn: Turn, node: str, run: m.RunStarted, orphans: set[str]) -> None:
    active = _active(turn, node, run.run)
    if active is None:
        _unasked(turn, node, run, orphans)
    elif active.pid is None:
        turn.record(ev.Started(active.job.id, run.at_ms, active.attempt, run.pid))


def _refused(turn: Turn, node: str, run: m.RunRefused, orphans: set[str]) -> None:
    active = _active(turn, node, run.run)
    if active is None:
        return
    job, now = active.job.id, turn.now_ms
    if active.state is State.STARTING:
        # A GPU that another Roost has is known from the samples: it is not tried again before it is free.
        wait = RETRY_MS if run.claimed else min(60_000, RETRY_MS << min(active.attempt - 1, 6))
        turn.record(ev.StartRefused(job, now, active.attempt, run.reason, now + wait))
    else:
        _never_began(turn, active)
    turn.send(node, "forget", runs=[run.run])


def _exited(turn: Turn, node: str, run: m.RunExited, orphans: set[str]) -> None:
    orphans.discard(run.run)
    if (active := _active(turn, node, run.run)) is not None:
        outcome, error = _outcome(run, active)
        usage = ev.Usage(run.pid, run.started_ms, run.peak_mem_mib, run.peak_rss_mib, run.cpu_ms, run.util_mean)
        code = run.status if run.status is not None or outcome is not Outcome.KILLED else 137
        asked = run.why if run.why not in _BY_WHY else None
        settle(turn, active, ev.Ended(active.job.id, run.at_ms, outcome, code, error, usage), Causes(asked, run.memory))
        _remove_if_asked(turn, active)
    turn.send(node, "forget", runs=[run.run])


_BY_WHY = {
    "cannot_start": Outcome.CANNOT_START,
    "time": Outcome.TIMED_OUT,
    "oom": Outcome.OUT_OF_MEMORY,
    "lost": Outcome.LOST,
}
_SIGNALS = {129: "HUP", 130: "INT", 137: "KILL", 143: "TERM"}


def _outcome(run: m.RunExited, active: Active) -> tuple[Outcome, str | None]:
    """How it ended, from what the node saw. One that was to make room and came to its own good end has succeeded."""
    if run.why == PREEMPT and run.status == 0 and (active.stop is None or active.is_preempted):
        return Outcome.SUCCEEDED, None
    if run.why in _BY_WHY:
        return _BY_WHY[run.why], run.error
    if run.why is not None:
        return Outcome.KILLED, run.error
    if run.status == 0:
        return Outcome.SUCCEEDED, None
    if run.status in _SIGNALS:
        return Outcome.KILLED, f"killed from outside Roost (signal {_SIGNALS[run.status]})"
    return Outcome.FAILED, run.error


def _remove_if_asked(turn: Turn, active: Active) -> None:
    if active.stop == "rm":
        remove(turn, active.job.id, None)
        turn.send(active.node, "remove", runs=[f"{active.job.id}.{n}" for n in range(1, active.attempt + 1)])


def _gone(turn: Turn, node: str, run: m.RunGone, orphans: set[str]) -> None:
    """The answer to a stop or the like: there is no such run, so it never began, or its files are gone."""
    orphans.discard(run.run)
    active = _active(turn, node, run.run)
    if active is None or active.state is State.STARTING:
        return
    if active.state is State.STOPPING:
        _never_began(turn, active)
    else:
        _lost(turn, active)


def _never_began(turn: Turn, active: Active) -> None:
    end = ev.Ended(active.job.id, turn.now_ms, Outcome.KILLED, None, "ended before it started")
    settle(turn, active, end, Causes(stop_word(active.stop)))
    _remove_if_asked(turn, active)


def _paused(turn: Turn, node: str, run: m.RunPaused, orphans: set[str]) -> None:
    pass  # the state changed when it was asked; the node confirms


def _inventory(turn: Turn, node: str, inventory: m.Inventory, orphans: set[str]) -> None:
    known = turn.cluster.node(node)
    _seen(turn, node, inventory.gpus, known.cpus, known.mem_mib)


def _seen(turn: Turn, node: str, gpus: list[m.GpuInfo], cpus: int, mem_mib: int) -> None:
    known = turn.cluster.node(node)
    found = tuple(sorted((Gpu(g.uuid, g.index, g.model, g.mem_mib, g.mig) for g in gpus), key=lambda g: (g.index, g.uuid)))
    if (known.cpus, known.mem_mib, tuple(known.gpus.values())) != (cpus, mem_mib, found):
        turn.record(ev.NodeSeen(node, cpus, mem_mib, found))


def _sample(turn: Turn, node: str, sample: m.Sample, orphans: set[str]) -> None:
    host = Host(sample.host.mem_mib, sample.host.mem_available_mib, sample.host.load)
    seen = tuple((g.uuid, _observation(g, orphans)) for g in sample.gpus)
    turn.record(ev.Sampled(node, host, seen))


def _observation(g: m.GpuSample, orphans: set[str]) -> Observation:
    procs = tuple(Process(p.pid, p.user, p.command, p.mem_mib, None if p.run in orphans else p.run) for p in g.procs)
    claimed_by = Claimant(g.claimed_by.user, g.claimed_by.pid) if g.claimed_by is not None else None
    return Observation(g.mem_used_mib, g.util, g.temp_c, g.power_w, g.fault, procs, claimed_by)


def _active(turn: Turn, node: str, run: str) -> Active | None:
    """The active attempt of that name on that node; a report about anything else is stale."""
    active = turn.cluster.active.get(_job(run))
    return active if active is not None and active.run == run and active.node == node else None


def _job(run: str) -> int:
    job = run.partition(".")[0]
    return int(job) if job.isdigit() else -1


_TAKE: dict[type, Callable[[Turn, str, Any, set[str]], None]] = {
    m.Hello: _hello,
    m.RunStarted: _started,
    m.RunRefused: _refused,
    m.RunExited: _exited,
    m.RunGone: _gone,
    m.RunPaused: _paused,
    m.RunResumed: _paused,
    m.Inventory: _inventory,
    m.Sample: _sample,
}
