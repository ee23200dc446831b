"""After a restore: what the nodes run that the backup does not know of, heard and ended before its jobs may start. No I/O.

A job that waits in the backup may have begun since, on any node. None of them starts before every program of every node has
said what it runs, and what it should not run has ended; or before its node was given up or removed.
"""

from roost.core import events as ev
from roost.core.accounts import Account, Channel, account_channel
from roost.core.model import Recall
from roost.links import messages as m
from roost.server.rounds.orphans import At, Orphans, job_of
from roost.server.rounds.turn import Turn

MAX_ACCOUNTS = 500
MAX_AHEAD = 1_000_000
"""A node that names a job so far ahead of all that are known talks nonsense."""


def hear(turn: Turn, at: At, hello: m.Hello) -> None:
    """A program says hello: ids that it knows were given; accounts that have runs there are to be asked too."""
    recall = turn.cluster.recall
    if at.channel or (at.node, at.channel) not in recall.ask:
        return
    known = [job_of(run.run) for run in (*hello.runs, *hello.beginning)]
    turn.last_job = max(turn.last_job, *(job for job in known if job <= turn.last_job + MAX_AHEAD), 0)
    accounts = [(at.node, account_channel(Account(name))) for name in hello.accounts[:MAX_ACCOUNTS]]
    _become(turn, (*recall.ask, *(key for key in accounts if key not in recall.ask)))


def settle(turn: Turn, at: At, orphans: Orphans) -> None:
    """That program has said what it runs: it is no longer waited for, once nothing of another past lives there."""
    last = turn.cluster.recall.last
    if not any(job_of(run) <= last for run in orphans.of(at)):
        drop(turn, at.node, at.channel)


def drop(turn: Turn, node: str, channel: Channel | None = None) -> None:
    """Nobody waits any more for that program; without a channel, for any of the node."""
    _become(turn, tuple(key for key in turn.cluster.recall.ask if key[0] != node or channel not in (None, key[1])))


def _become(turn: Turn, ask: tuple[tuple[str, Channel], ...]) -> None:
    recall = turn.cluster.recall
    if ask != recall.ask:
        turn.record(ev.Recalled(Recall(recall.last, ask, recall.is_moved)))
