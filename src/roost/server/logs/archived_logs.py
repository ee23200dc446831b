"""The logs of an ended job as its line in an archive has them."""

from roost.answers.jobs import ArchivedLog
from roost.core import results
from roost.core.errors import NotFound
from roost.core.results import Result
from roost.server.logs.collector import is_merged
from roost.server.logs.copies import Hole, hole
from roost.server.logs.reader import STREAMS, LogReader
from roost.server.store_reader import StoreReader
from roost.store import reads
from roost.store.rows import AttemptRow, JobRow

MAX_BYTES = 16 << 20
"""Of a longer log the first eighth and the end are kept."""
PIECE_BYTES = 1 << 20


class ArchivedLogs:
    """Reads all that ended jobs wrote."""

    def __init__(self, reader: StoreReader, logs: LogReader) -> None:
        self._reader, self._logs = reader, logs

    async def read(self, row: JobRow) -> tuple[list[ArchivedLog], dict[str, Result]]:
        """The logs of its attempts, and the results at the end of the last one. Raises `TryLater` while a node that may have
        some of it is away; what nobody has any more is left out."""
        attempts = (await self._reader.read(reads.attempts, [row.id])).get(row.id, [])
        merged = is_merged(row.decoded())
        found: list[ArchivedLog] = []
        written: dict[str, Result] = {}
        for attempt in attempts:
            if attempt.state == "refused":
                continue
            for stream in STREAMS[:1] if merged else STREAMS:
                try:
                    log, tail = await self._read_stream(attempt, stream)
                except NotFound:
                    continue
                if stream == "out":
                    written = results.in_log(tail)
                if log.size:
                    found.append(log)
        return found, written

    async def _read_stream(self, attempt: AttemptRow, stream: str) -> tuple[ArchivedLog, bytes]:
        """A log, and the bytes at its end."""
        about = await self._logs.read(attempt, stream=stream, offset=0, limit=0)
        size = about.size
        left_out = hole(size, about.dropped, MAX_BYTES)
        ranges = [(0, size)] if left_out is None else [(0, left_out[0]), (left_out[1], size)]
        parts = [await self._read_range(attempt, stream, between) for between in ranges]
        text = b"".join(parts).decode("utf-8", "replace")
        log = ArchivedLog(attempt=attempt.attempt, stream=stream, size=size, left_out=left_out, text=text)
        return log, parts[-1][-results.TAIL_BYTES :]

    async def _read_range(self, attempt: AttemptRow, stream: str, between: Hole) -> bytes:
        at, end = between
        pieces: list[bytes] = []
        while at < end:
            piece = await self._logs.read(attempt, stream=stream, offset=at, limit=min(PIECE_BYTES, end - at))
            if piece.offset != at or not piece.data:
                break  # it was cut since
            pieces.append(piece.data[: end - at])
            at += len(pieces[-1])
        return b"".join(pieces)
