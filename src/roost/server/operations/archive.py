"""Ended jobs moved to a file of JSON lines: when somebody asks, and by itself past `archive.keep` of them."""

import asyncio
import logging
import os
from pathlib import Path

import msgspec

from roost.answers.encoding import ENCODERS
from roost.answers.jobs import Acted, ArchivedJob
from roost.core.errors import BadRequest, RoostError
from roost.core.states import State
from roost.server.identity.people import Caller
from roost.server.rounds.commands import Act
from roost.server.rounds.engine import Engine
from roost.server.store_reader import StoreReader
from roost.server.views.job_reader import JobReader
from roost.store import reads

CHUNK = 1000
PAUSE_S = 10.0
_log = logging.getLogger("roost.archive")


class Archive:
    """Moves ended jobs out of the store."""

    def __init__(self, home: Path, engine: Engine, reader: StoreReader, jobs: JobReader) -> None:
        self._home, self._engine, self._reader, self._jobs = home, engine, reader, jobs

    async def add(self, caller: Caller, path: Path, ids: list[int]) -> int:
        """Append these ended jobs to a file of JSON lines, then forget them: never one that is not in the file."""
        count = 0
        for start in range(0, len(ids), CHUNK):
            found = await self._reader.read(reads.jobs, ids[start : start + CHUNK])
            rows = [row for row in found.values() if row.state == "ended"]
            said = await self._jobs.reported([row.id for row in rows])
            shown = [
                ArchivedJob(**msgspec.structs.asdict(job), results=said[job.id]) for job in await self._jobs.views(rows)
            ]
            lines = ENCODERS["en"].encode_lines(shown)
            try:
                await asyncio.to_thread(_append, path, lines)
            except OSError as error:
                raise BadRequest(f"cannot write {path}: {error.strerror}") from None
            done: Acted = await self._engine.ask(Act(caller.name, "forget", [row.id for row in rows]), caller.who)
            count += len(done.done)
        return count

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
                _log.info("archived %s ended jobs", await self.add(itself, self._home / "archive.jsonl", old))
            except RoostError as error:
                _log.warning("cannot archive: %s", error.message)


def _append(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
