"""Ended jobs moved to a file of JSON lines: when somebody asks, and by itself past `archive.keep` of them."""

import asyncio
import logging
from pathlib import Path

import msgspec

from roost.answers.encoding import ENCODERS
from roost.answers.jobs import Acted, ArchivedJob
from roost.answers.settings import Archived
from roost.core.errors import BadRequest, NotFound, RoostError, TryLater
from roost.core.states import State
from roost.server.identity.people import Caller
from roost.server.logs.archived_logs import ArchivedLogs
from roost.server.operations.sweeps import merged
from roost.server.rounds.commands import Act
from roost.server.rounds.engine import Engine
from roost.server.store_reader import StoreReader
from roost.server.views.job_reader import JobReader
from roost.store import files, reads
from roost.store.rows import JobRow

CHUNK = 1000
MAX_BYTES = 32 << 20
"""So much is written at once, except that a job is written whole."""
AT_ONCE = 16
"""So many jobs' logs are read at the same time."""
PAUSE_S = 10.0
_log = logging.getLogger("roost.archive")


class Archive:
    """Moves ended jobs out of the store."""

    def __init__(self, home: Path, engine: Engine, reader: StoreReader, jobs: JobReader, logs: ArchivedLogs) -> None:
        self._home, self._engine, self._reader, self._jobs, self._logs = home, engine, reader, jobs, logs

    async def add(self, caller: Caller, path: Path, ids: list[int]) -> Archived:
        """Append these ended jobs to a file of JSON lines, then remove them and their files: never one that is not in the
        file. One whose logs cannot be read now stays as it is."""
        answer = Archived(archived=0, path=str(path), left=0)
        for start in range(0, len(ids), CHUNK):
            found = await self._reader.read(reads.jobs, ids[start : start + CHUNK])
            rows = [row for row in found.values() if row.state == "ended"]
            lot: list[tuple[int, bytes]] = []
            for at in range(0, len(rows), AT_ONCE):
                lines = await asyncio.gather(*map(self._line, rows[at : at + AT_ONCE]))
                answer.left += sum(line is None for _, line in lines)
                lot += [(job, line) for job, line in lines if line is not None]
                if sum(len(line) for _, line in lot) > MAX_BYTES:
                    answer.archived += await self._move(caller, path, lot)
                    lot = []
            answer.archived += await self._move(caller, path, lot)
        return answer

    async def _move(self, caller: Caller, path: Path, lot: list[tuple[int, bytes]]) -> int:
        """Write these lines and remove the jobs; how many were removed."""
        if not lot:
            return 0
        try:
            await asyncio.to_thread(files.append, path, b"".join(line for _, line in lot))
        except OSError as error:
            raise BadRequest("job.not_archived", path=str(path), error=str(error.strerror)) from None
        done: Acted = await self._engine.ask(Act(caller.name, "forget", [job for job, _ in lot]), caller.who)
        return len(done.done)

    async def _line(self, row: JobRow) -> tuple[int, bytes | None]:
        """The job's line; None while its logs cannot be read, or when it is no longer there."""
        try:
            shown = await self._jobs.shown(row.id)
            logs, written = await self._logs.read(row)
            reported = (await self._reader.read(reads.results, [row.id])).get(row.id, [])
        except NotFound:
            return row.id, None
        except TryLater as error:
            _log.info("job %s is not archived: %s", row.id, error.message)
            return row.id, None
        about = msgspec.structs.asdict(shown) | {"results": merged(row.attempts, reported, written)}
        return row.id, ENCODERS["en"].encode_lines([ArchivedJob(**about, logs=logs)])

    async def keep_bounded(self, itself: Caller) -> None:
        """Look now and then, for ever. A tenth more than `archive.keep` may stay, so that it works in lots."""
        while True:
            await asyncio.sleep(PAUSE_S)
            cluster = self._engine.cluster
            keep = int(cluster.number("archive.keep"))
            if not keep or cluster.counts[State.ENDED] <= keep + keep // 10:
                continue
            try:
                old = await self._reader.read(reads.oldest_ended, keep, 10_000)
                answer = await self.add(itself, self._home / "archive.jsonl", old)
                _log.info("archived %s ended jobs, %s stay", answer.archived, answer.left)
            except RoostError as error:
                _log.warning("cannot archive: %s", error.message)
