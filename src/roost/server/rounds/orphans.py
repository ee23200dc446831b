"""Runs that live on a node and that nobody wants any more: found, ended, and their GPUs kept until they are gone. No I/O.

A program is asked about its own runs alone, and believed no more than it could do itself: that of a machine speaks for the
GPUs of that machine, that of an account for those which its run was given.
"""

import msgspec

from roost.core import events as ev
from roost.core.accounts import NODE_CHANNEL, Channel
from roost.core.model import Active
from roost.core.nodes import channel
from roost.links import messages as m
from roost.server.rounds.turn import Turn
from roost.store import reads

MAX_GHOSTS, MAX_UNASKED = 2_000, 200
"""Of the program of another machine, or of an account, so many runs that nobody asked for are looked at: it may name any
number."""


class At(msgspec.Struct, frozen=True):
    """Which program on a node speaks: the node's own, or an account's (`nodes.channel`), which is believed only what it
    says of the runs that it has."""

    node: str
    channel: Channel = NODE_CHANNEL


def active_at(turn: Turn, at: At, run: str, nonce: str | None = None) -> Active | None:
    """The active attempt of that name, there, of that account and of this past; a report about anything else is stale."""
    active = turn.cluster.active.get(job_of(run))
    if active is None or active.run != run or active.node != at.node or turn.channel(active) != at.channel:
        return None
    return active if active.is_said_by(nonce) else None


class Orphans:
    """The runs, by the program that has them: one that names very many leaves room for those of the others."""

    def __init__(self) -> None:
        self._runs: dict[str, dict[str, dict[str, str | None]]] = {}

    def __contains__(self, key: tuple[str, str]) -> bool:
        node, run = key
        return any(run in runs for runs in self._runs.get(node, {}).values())

    def of(self, at: At) -> dict[str, str | None]:
        """Those that this program has, and with what each was started."""
        return self._runs.get(at.node, {}).get(at.channel, {})

    def add(self, at: At, run: str, nonce: str | None) -> None:
        """It has that one."""
        self._runs.setdefault(at.node, {}).setdefault(at.channel, {})[run] = nonce

    def drop(self, at: At, run: str) -> None:
        """It is gone."""
        programs = self._runs[at.node]
        del programs[at.channel][run]
        if not programs[at.channel]:
            del programs[at.channel]
        if not programs:
            del self._runs[at.node]


def unasked(turn: Turn, at: At, runs: list[m.RunStarted | m.RunExited], orphans: Orphans) -> None:
    """Runs that are not active there: an old attempt is ended, one of an unknown job is left alone; both hold their GPUs."""
    if over := [run.run for run in runs if isinstance(run, m.RunExited)]:
        turn.send(at.node, at.channel, "forget", runs=over)
        for name in over:
            lay(turn, at, name, orphans)
    alive = [run for run in runs if isinstance(run, m.RunStarted)]
    if at.channel or is_remote(turn, at.node):
        alive = alive[: max(0, MAX_GHOSTS - len(orphans.of(at)))]
    if len(alive) > 1:
        turn.look_up(list({job_of(run.run) for run in alive}))
    for run in alive:
        _mark_orphaned(turn, at, run, orphans)


def _mark_orphaned(turn: Turn, at: At, run: m.RunStarted, orphans: Orphans) -> None:
    job = job_of(run.run)
    active = turn.cluster.active.get(job)
    is_wanted = active is not None and active.run == run.run and active.is_said_by(run.nonce)
    if run.run in orphans.of(at) or (is_wanted and active is not None and active.node != at.node):
        return  # known, or wanted elsewhere: a machine that was added under two names says of both what it runs
    owner = turn.owner(job)
    if at.channel and owner is not None and channel(turn.cluster, at.node, owner.user, owner.account) != at.channel:
        return  # not a run of that account: nobody's word
    if owner is not None or 0 < job <= turn.last_job:  # one that was removed is this server's too
        turn.send(at.node, at.channel, "stop", run=run.run, why="stale", grace_ms=None, **_nonce_of(run))
    gpus = _orphaned(turn, at, run)
    if gpus is not None:
        orphans.add(at, run.run, run.nonce)
        turn.record(ev.Orphaned(at.node, run.run, gpus))


def _nonce_of(run: m.RunStarted) -> dict[str, str]:
    return {} if run.nonce is None else {"nonce": run.nonce}


def _orphaned(turn: Turn, at: At, run: m.RunStarted) -> tuple[str, ...] | None:
    """The GPUs that a ghost keeps; None: there was no such attempt, as far as an account's program can be believed."""
    known = turn.cluster.nodes[at.node].gpus
    said = dict.fromkeys(uuid for uuid in run.gpus if uuid in known)
    if not at.channel:
        return tuple(said)
    job = job_of(run.run)
    for attempt in turn.read(reads.attempts, [job]).get(job, ()):
        if f"{job}.{attempt.attempt}" == run.run:
            had = {uuid for uuid, _ in attempt.devices()}
            return tuple(uuid for uuid in said if uuid in had)
    if job <= turn.cluster.recall.last and (at.node, at.channel) in turn.cluster.recall.ask and turn.owner(job) is not None:
        return tuple(said)  # it may have begun since the backup was made
    return None


def lay(turn: Turn, at: At, run: str, orphans: Orphans, nonce: str | None = None) -> None:
    """It is over, if the program that says so has it; with a nonce, if it was started with that one."""
    if nonce is not None and orphans.of(at).get(run, nonce) not in (None, nonce):
        return
    left = turn.cluster.given_up.get((at.node, run))
    if left is not None and left.channel == at.channel:
        turn.record(ev.Accounted(at.node, run))
    if run in orphans.of(at):
        orphans.drop(at, run)
        turn.record(ev.Laid(at.node, run))


def lay_all(turn: Turn, at: At, orphans: Orphans) -> None:
    """A program says hello: what it has, it names again."""
    for run in list(orphans.of(at)):
        orphans.drop(at, run)
        turn.record(ev.Laid(at.node, run))


def left_at(turn: Turn, at: At) -> list[str]:
    """Runs that were given up, and that this program may have."""
    given_up = turn.cluster.given_up.items()
    return [run for (node, run), left in given_up if node == at.node and left.channel == at.channel]


def is_remote(turn: Turn, node: str) -> bool:
    """Whether it is another machine than the server's own."""
    return turn.cluster.nodes[node].access is not None


def job_of(run: str) -> int:
    """The job of a run, by its name; -1 when it is no such name."""
    job = run.partition(".")[0]
    return int(job) if job.isascii() and job.isdigit() and len(job) < 19 else -1
