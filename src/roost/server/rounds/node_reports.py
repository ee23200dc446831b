"""What nodes tell, and what follows from it. No I/O: a report becomes events and messages.

A node's files are the truth about a run, the store about the job. Every report may come twice, late, or under an old
attempt; what does not fit the attempt that is active changes nothing.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from roost.core import events as ev
from roost.core import results
from roost.core.accounts import NODE_CHANNEL, Channel, channel_account
from roost.core.model import Active, Claimant, Gpu, Host, Left, Observation, Process
from roost.core.nodes import channel
from roost.core.plan.placement import impossible
from roost.core.plan.planner import effective
from roost.core.plan.retries import PREEMPT
from roost.core.states import Outcome, State
from roost.links import messages as m
from roost.links.link import plain
from roost.messages import Message
from roost.server.rounds import recall
from roost.server.rounds.actions import own_grace_ms, remove
from roost.server.rounds.attempt_end import Causes, settle
from roost.server.rounds.file_removal import ask_again, removed
from roost.server.rounds.orphans import (
    MAX_UNASKED,
    At,
    Orphans,
    active_at,
    is_remote,
    job_of,
    lay,
    lay_all,
    left_at,
    unasked,
)
from roost.server.rounds.start_errors import believed, told, with_node
from roost.server.rounds.turn import StartRun, Turn
from roost.store.rows import ResultRow

BARRED_MS = 300_000
"""How long nothing is tried as an account that a node does not have."""
MAX_HOSTNAME = 64
MAX_SKEW_MS = 1_000
"""Clocks that differ by no more are taken for equal."""
MAX_PROCESSES = 8_192
"""So many of all that are on a node's GPUs are looked at, as many on each: the others would change nothing."""
LINGER_MS = 3_000
"""So long after the end of a run a process of it may still be in a sample."""
RETRY_MS = 1_000
"""How long a job waits after a node refused to start it; doubled with every refusal, up to a minute."""


class NodeReport(msgspec.Struct, frozen=True):
    """A message from a node."""

    node: str
    message: m.Report
    channel: Channel = NODE_CHANNEL


class LinkLost(msgspec.Struct, frozen=True):
    """The link to a node ended; for good, when nobody can become that account there any more."""

    node: str
    reason: str
    channel: Channel = NODE_CHANNEL
    for_good: bool = False


def take_in(turn: Turn, report: NodeReport, orphans: Orphans) -> None:
    """Let a report have its consequences. `orphans` are runs on nodes that no job here knows."""
    if report.node not in turn.cluster.nodes:
        return  # its last words: it was removed
    if report.channel and isinstance(report.message, (m.Inventory, m.Sample)):
        return  # what the machine has and does is its own program's to say
    take = _TAKE.get(type(report.message))
    if take is not None:
        take(turn, At(report.node, report.channel), report.message, orphans)


def lose(turn: Turn, lost: LinkLost) -> None:
    """A link ended. What runs is not touched by it, unless nobody will ever be asked about it again."""
    if lost.node not in turn.cluster.nodes:
        return
    if not lost.channel:
        turn.record(ev.NodeDetached(lost.node, lost.reason, turn.now_ms))
    elif lost.for_good:
        reason = with_node(lost.reason, lost.node) if is_remote(turn, lost.node) else lost.reason
        turn.record(ev.Barred(lost.node, lost.channel, reason, turn.now_ms + BARRED_MS))
        for active in _runs_at(turn, At(lost.node, lost.channel)):
            _shut_out(turn, active, reason)
        for run in left_at(turn, At(lost.node, lost.channel)):  # nobody can be asked any more
            turn.record(ev.Accounted(lost.node, run))
        recall.drop(turn, lost.node, lost.channel)


def _shut_out(turn: Turn, active: Active, reason: str) -> None:
    """Nobody can be asked about a run any more. One that was only to begin waits again, where another node would do."""
    job, now = active.job.id, turn.now_ms
    if active.state is State.STARTING and impossible(turn.cluster, effective(turn.cluster, active.job.shape)) is None:
        turn.record(ev.StartRefused(job, now, active.attempt, str(Message.of_text(reason)), now))
        return
    outcome = Outcome.CANNOT_START if active.state is State.STARTING else Outcome.LOST
    settle(turn, active, ev.Ended(job, now, outcome, None, reason), Causes())
    _remove_if_asked(turn, active)


def give_up(turn: Turn, node: str, error: str) -> list[int]:
    """Nobody will say what became of the runs of a node: they are lost. Their jobs."""
    given_up = [active for active in turn.cluster.active.values() if active.node == node]
    for active in given_up:
        turn.record(ev.GivenUp(node, active.run, Left(turn.channel(active), active.gpus)))
        settle(turn, active, ev.Ended(active.job.id, turn.now_ms, Outcome.LOST, None, error), Causes())
        if active.is_to_be_removed:
            remove(turn, active.job.id, None)
    recall.drop(turn, node)
    return [active.job.id for active in given_up]


def _runs_at(turn: Turn, at: At) -> list[Active]:
    """What that program there should run."""
    return [a for a in turn.cluster.active.values() if a.node == at.node and turn.channel(a) == at.channel]


def _hello(turn: Turn, at: At, hello: m.Hello, orphans: Orphans) -> None:
    """A node attached: compare what it runs with what should run there, and set right what differs."""
    if not at.channel:
        _attached(turn, at.node, hello)
    elif (at.node, at.channel) in turn.cluster.barred:
        turn.record(ev.Barred(at.node, at.channel, None))
    lay_all(turn, at, orphans)
    recall.hear(turn, at, hello)
    turn.send(at.node, at.channel, "configure", sample_ms=turn.cluster.settings["node.sample_ms"])
    ask_again(turn, at)
    known = {run.run: run for run in hello.runs}
    for run in left_at(turn, at):
        if run not in known:  # one that has only begun is not named yet: it is asked for, and answers when it is over
            turn.send(at.node, at.channel, "stop", run=run, why="stale", grace_ms=None)
    for active in _runs_at(turn, at):
        report = known.get(active.run)
        if report is None or not active.is_said_by(report.nonce):
            _missing(turn, active)
            continue
        del known[active.run]
        if isinstance(report, m.RunExited):
            _exited(turn, at, report, orphans)
        else:
            _still_running(turn, at, report, orphans)
    beginning = [run for run in hello.beginning if active_at(turn, at, run.run, run.nonce) is None]
    unasked(turn, at, [*known.values(), *beginning][: MAX_UNASKED if at.channel else None], orphans)
    recall.settle(turn, at, orphans)


def _attached(turn: Turn, node: str, hello: m.Hello) -> None:
    gpus = hello.gpus
    if not hello.gpus_known:  # a driver that is slow to answer: what was there before still is, as far as anybody knows
        gpus = [m.GpuInfo(*msgspec.structs.astuple(g)) for g in turn.cluster.node(node).gpus.values()]
    _seen(turn, node, gpus, ev.NodeSeen(node, hello.cpus, hello.mem_mib, (), plain(hello.node, MAX_HOSTNAME)))
    skew_ms = turn.now_ms - hello.at_ms if hello.at_ms is not None and is_remote(turn, node) else 0
    turn.record(ev.NodeAttached(node, skew_ms if abs(skew_ms) > MAX_SKEW_MS else 0))


def _missing(turn: Turn, active: Active) -> None:
    """A run that the node did not name: never begun, beginning this moment, or gone with its files.

    What may be beginning is asked for by name; only a `gone` in answer to that proves that there is nothing.
    """
    is_moved = turn.cluster.recall.is_moved and active.job.id <= turn.cluster.recall.last
    match active.state:
        case State.STARTING if is_moved and not is_remote(turn, active.node):
            _lost(turn, active)  # it may have begun where the server was before
        case State.STARTING:
            turn.starts.append(StartRun(active.node, active.job.id, active.attempt))
        case State.STOPPING:
            turn.tell(active, "stop", why=active.stop_word, grace_ms=own_grace_ms(turn, active.job.id))
        case _:
            _lost(turn, active)


def _lost(turn: Turn, active: Active) -> None:
    error = told("attempt.run_forgotten", node=active.node)
    settle(turn, active, ev.Ended(active.job.id, turn.now_ms, Outcome.LOST, None, error), Causes())


def _still_running(turn: Turn, at: At, run: m.RunStarted, orphans: Orphans) -> None:
    _started(turn, at, run, orphans)
    active = turn.cluster.active[job_of(run.run)]
    if active.state is State.STOPPING:
        turn.tell(active, "stop", why=active.stop_word, grace_ms=own_grace_ms(turn, active.job.id))
    elif (active.state is State.PAUSED) != run.paused:
        turn.tell(active, "pause" if active.state is State.PAUSED else "resume")


def _started(turn: Turn, at: At, run: m.RunStarted, orphans: Orphans) -> None:
    active = active_at(turn, at, run.run, run.nonce)
    if active is None:
        unasked(turn, at, [run], orphans)
    elif active.pid is None:
        turn.record(ev.Started(active.job.id, _moment(turn, at, active, run.at_ms), active.attempt, run.pid))


def _refused(turn: Turn, at: At, run: m.RunRefused, orphans: Orphans) -> None:
    active = active_at(turn, at, run.run, run.nonce)
    if active is None:
        return
    job, now = active.job.id, turn.now_ms
    if active.state is State.STARTING:
        # A GPU that another Roost has is known from the samples: it is not tried again before it is free.
        wait = RETRY_MS if run.claimed else min(60_000, RETRY_MS << min(active.attempt - 1, 6))
        wait = 0 if run.past else wait  # the next attempt has another name, which may be free
        turn.record(ev.StartRefused(job, now, active.attempt, run.reason, now + wait))
    else:
        _never_began(turn, active)
    turn.send(at.node, at.channel, "forget", runs=[run.run])


def _exited(turn: Turn, at: At, run: m.RunExited, orphans: Orphans) -> None:
    lay(turn, at, run.run, orphans, run.nonce)
    if (active := active_at(turn, at, run.run, run.nonce)) is not None:
        run = _believable(turn, at, active, run)
        outcome, error = _outcome(run, active)
        usage = ev.Usage(run.pid, run.started_ms, run.peak_mem_mib, run.peak_rss_mib, run.cpu_ms, run.util_mean)
        code = run.status if run.status is not None or outcome is not Outcome.KILLED else 137
        asked = run.why if run.why not in _BY_WHY else None
        settle(turn, active, ev.Ended(active.job.id, run.at_ms, outcome, code, error, usage), Causes(asked, run.memory))
        _remove_if_asked(turn, active)
    turn.send(at.node, at.channel, "forget", runs=[run.run])
    _over(turn, at, orphans)


def _over(turn: Turn, at: At, orphans: Orphans) -> None:
    """A run is over: it may have been the last of another past."""
    if (at.node, at.channel) in turn.cluster.recall.ask:
        recall.settle(turn, at, orphans)


def _believable(turn: Turn, at: At, active: Active, run: m.RunExited) -> m.RunExited:
    """What another's program says of an end, within what can be: others are planned and reckoned with by it."""
    if not at.channel and not is_remote(turn, at.node):
        return run
    known = turn.cluster.node(at.node).gpus
    most_mib = max((known[uuid].mem_mib for uuid in active.gpus if uuid in known), default=0)
    ended_ms = _moment(turn, at, active, run.at_ms)
    is_elsewhere = run.why == "cannot_start" and is_remote(turn, at.node)
    return msgspec.structs.replace(
        run,
        at_ms=ended_ms,
        started_ms=None if run.started_ms is None else min(_moment(turn, at, active, run.started_ms), ended_ms),
        peak_mem_mib=None if run.peak_mem_mib is None else min(run.peak_mem_mib, most_mib),
        util_mean=None if run.util_mean is None else max(0.0, min(run.util_mean, 100.0)),
        why="kill" if run.why == PREEMPT and not active.is_preempted else run.why,
        error=with_node(run.error, at.node) if run.error is not None and is_elsewhere else believed(run.error),
    )


def _moment(turn: Turn, at: At, active: Active, at_ms: int) -> int:
    """When something happened to a run, by the server's clock. Of another machine or account: not before it, not later."""
    if not at.channel and not is_remote(turn, at.node):
        return at_ms
    return max(active.since_ms, min(at_ms + turn.cluster.nodes[at.node].skew_ms, turn.now_ms))


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
        return Outcome.KILLED, told("attempt.killed_from_outside", signal=_SIGNALS[run.status])
    return Outcome.FAILED, run.error


def _remove_if_asked(turn: Turn, active: Active) -> None:
    if active.is_to_be_removed:
        remove(turn, active.job.id, None)
        runs = [f"{active.job.id}.{n}" for n in range(1, active.attempt + 1)]
        turn.send(active.node, turn.channel(active), "remove", runs=runs)


def _gone(turn: Turn, at: At, run: m.RunGone, orphans: Orphans) -> None:
    """The answer to a stop or the like: there is no such run, so it never began, or its files are gone."""
    lay(turn, at, run.run, orphans, run.nonce)
    _over(turn, at, orphans)
    active = active_at(turn, at, run.run, run.nonce)
    if active is None or active.state is State.STARTING:
        return
    if active.state is State.STOPPING:
        _never_began(turn, active)
    else:
        _lost(turn, active)


def _never_began(turn: Turn, active: Active) -> None:
    end = ev.Ended(active.job.id, turn.now_ms, Outcome.KILLED, None, told("attempt.ended_before_start"))
    settle(turn, active, end, Causes(active.stop_word))
    _remove_if_asked(turn, active)


def _reported(turn: Turn, at: At, said: m.RunReported, orphans: Orphans) -> None:
    """What a run says of itself in a file: the last word on a name stands, and what is there already is not written again.

    Nobody waits for it, and the node says it again until the end of the run is committed: it goes with the next commit.
    """
    if (active := active_at(turn, at, said.run, said.nonce)) is None:
        return
    job, known = active.job.id, turn.reported(active.job.id)
    for key, value in results.sound(said.results).items():
        row = ResultRow(job, key, msgspec.json.encode(value).decode(), active.attempt, turn.now_ms)
        old = known.get(key)
        if len(known) < results.MAX_KEYS if old is None else (old.value, old.attempt) != (row.value, row.attempt):
            known[key] = row
            turn.keep(row)


def _inventory(turn: Turn, at: At, inventory: m.Inventory, orphans: Orphans) -> None:
    known = turn.cluster.node(at.node)
    _seen(turn, at.node, inventory.gpus, ev.NodeSeen(at.node, known.cpus, known.mem_mib, (), known.hostname))


def _seen(turn: Turn, node: str, gpus: list[m.GpuInfo], machine: ev.NodeSeen) -> None:
    """Record what the machine is, with those of its GPUs that are no other node's."""
    known = turn.cluster.node(node)
    own = {g.uuid: Gpu(g.uuid, g.index, g.model, g.mem_mib, g.mig) for g in gpus if not _is_elsewhere(turn, node, g.uuid)}
    found = tuple(sorted(own.values(), key=lambda g: (g.index, g.uuid)))
    now = msgspec.structs.replace(machine, gpus=found)
    if now != ev.NodeSeen(node, known.cpus, known.mem_mib, tuple(known.gpus.values()), known.hostname):
        turn.record(now)


def _is_elsewhere(turn: Turn, node: str, uuid: str) -> bool:
    """Whether a GPU is another node's: it has it, or a run there does, should it have fallen off for a moment."""
    cluster = turn.cluster
    if cluster.node_of.get(uuid, node) != node:
        return True
    return any(cluster.active[job].node != node for job in cluster.claims.get(uuid, ()))


def _sample(turn: Turn, at: At, sample: m.Sample, orphans: Orphans) -> None:
    host = Host(sample.host.mem_mib, sample.host.mem_available_mib, sample.host.load)
    known = turn.cluster.nodes[at.node].gpus
    at_ms = turn.now_ms if is_remote(turn, at.node) else sample.at_ms
    own = {g.uuid: g for g in sample.gpus if g.uuid in known}
    most = MAX_PROCESSES // max(1, len(own))
    seen = tuple(
        (uuid, _observation(turn, at.node, msgspec.structs.replace(g, procs=g.procs[:most]), at_ms, orphans))
        for uuid, g in own.items()
    )
    turn.record(ev.Sampled(at.node, host, seen))


def _using(turn: Turn, at: At, using: m.Using, orphans: Orphans) -> None:
    """What runs have of the host's memory: of those that are there, and no more than there is."""
    most_mib = turn.cluster.node(at.node).mem_mib
    known = {use.run: min(use.rss_mib, most_mib) for use in using.runs if active_at(turn, at, use.run) is not None}
    turn.record(ev.Measured(tuple(known.items())))


def _observation(turn: Turn, node: str, g: m.GpuSample, at_ms: int, orphans: Orphans) -> Observation:
    guests = _guests(turn, node, g.uuid) if turn.cluster.logins else {}
    procs = tuple(
        Process(p.pid, p.user, p.command, p.mem_mib, guests.get(p.user) or _run_of(turn, node, p, at_ms, orphans))
        for p in g.procs
    )
    claimed_by = Claimant(g.claimed_by.user, g.claimed_by.pid) if g.claimed_by is not None else None
    if claimed_by is not None and claimed_by.user in guests:
        claimed_by = None  # our own run, through its user's login
    return Observation(g.mem_used_mib, g.util, g.temp_c, g.power_w, g.fault, procs, claimed_by)


def _guests(turn: Turn, node: str, uuid: str) -> dict[str, str]:
    """Runs on a GPU through users' own logins, by the account that each is there: only it knows its own processes."""
    found = {}
    for job in turn.cluster.claims.get(uuid, ()):
        active = turn.cluster.active[job]
        if (login := turn.cluster.logins.get((node, active.job.shape.user))) is not None:
            found[login.name] = active.run
    return found


def _run_of(turn: Turn, node: str, process: m.ProcessInfo, at_ms: int, orphans: Orphans) -> str | None:
    """The run that a process belongs to. Where it says so itself, it is believed while the account of that run has it."""
    if process.run is None or (node, process.run) in orphans or (job := job_of(process.run)) < 0:
        return None
    active = turn.cluster.active.get(job)
    has = turn.channel(active) if active is not None else NODE_CHANNEL
    if active is not None and active.node != node:
        return None
    if process.own:
        return process.run if not has else None
    if active is not None:
        is_theirs = process.user == channel_account(has)
        return process.run if is_theirs and active.run == process.run else None
    return process.run if _is_just_over(turn, node, job, process.user, at_ms) else None


def _is_just_over(turn: Turn, node: str, job: int, user: str, at_ms: int) -> bool:
    """Whether a run of that account's job may still have been there at that moment."""
    row = turn.row(job)
    if row is None or channel(turn.cluster, node, row.user, row.account) != user or not user:
        return False
    return job in turn.ended or (row.ended_ms is not None and at_ms <= row.ended_ms + LINGER_MS)


# A `RunPaused` or `RunResumed` changes nothing: the state changed when it was asked.
_TAKE: dict[type, Callable[[Turn, At, Any, Orphans], None]] = {
    m.Hello: _hello,
    m.RunStarted: _started,
    m.RunRefused: _refused,
    m.RunExited: _exited,
    m.RunGone: _gone,
    m.RunsRemoved: removed,
    m.Inventory: _inventory,
    m.Sample: _sample,
    m.Using: _using,
    m.RunReported: _reported,
}
