"""Files of removed jobs on nodes: written down until their node says that they are gone. No I/O.

A node may be away when a job is removed, or be cut off the next moment: at every hello it is asked again for what is left.
"""

from collections.abc import Sequence
from itertools import islice

from roost.core import events as ev
from roost.links import messages as m
from roost.server.rounds.orphans import At, Orphans
from roost.server.rounds.turn import Turn

AT_ONCE, MAX_AT_HELLO = 1_000, 50_000
"""So many runs are named in one message, and after one hello; what is beyond that waits for the next."""


def leave(turn: Turn, at: At, runs: Sequence[str]) -> None:
    """Have the files of these runs deleted there, now or when it can be asked."""
    for run in runs:
        turn.record(ev.FilesLeft(at.node, run, at.channel))
    turn.send(at.node, at.channel, "remove", runs=list(runs))


def ask_again(turn: Turn, at: At) -> None:
    """A program says hello: what it has not deleted yet, it is to delete."""
    left = [*islice(turn.cluster.old_files.get((at.node, at.channel), ()), MAX_AT_HELLO)]
    for start in range(0, len(left), AT_ONCE):
        turn.send(at.node, at.channel, "remove", runs=left[start : start + AT_ONCE])


def removed(turn: Turn, at: At, report: m.RunsRemoved, orphans: Orphans) -> None:
    """They are deleted: as far as it was that program which was to do it."""
    left = turn.cluster.old_files.get((at.node, at.channel), {})
    for run in [run for run in dict.fromkeys(report.runs) if run in left]:
        turn.record(ev.FilesGone(at.node, run, at.channel))
