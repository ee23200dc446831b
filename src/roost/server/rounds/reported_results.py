"""What jobs say of themselves in a file, as their nodes tell it: kept as if they had said it to the API. No I/O.

Nobody waits for it, and the node says it again until the end of the run is committed: it goes with the next commit.
"""

from __future__ import annotations

import msgspec

from roost.core import results
from roost.links import messages as m
from roost.server.rounds.orphans import At, Orphans, active_at
from roost.server.rounds.turn import Turn
from roost.store.rows import ResultRow


def reported(turn: Turn, at: At, said: m.RunReported, orphans: Orphans) -> None:
    """Of a run that this program has: the last word on a name stands. What is there already is not written again."""
    if (active := active_at(turn, at, said.run)) is None:
        return
    job, known = active.job.id, turn.reported(active.job.id)
    for key, value in results.sound(said.results).items():
        row = ResultRow(job, key, msgspec.json.encode(value).decode(), active.attempt, turn.now_ms)
        old = known.get(key)
        if len(known) < results.MAX_KEYS if old is None else (old.value, old.attempt) != (row.value, row.attempt):
            known[key] = row
            turn.keep(row)
