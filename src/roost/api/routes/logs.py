"""Routes about what jobs write."""

from collections.abc import AsyncIterator
from typing import Any, Literal

from starlette.responses import Response, StreamingResponse

from roost.answers.encoding import encode
from roost.api.calls import Call
from roost.api.edge.authentication import Right
from roost.api.request_parameters import Attempt, Lines, Offset
from roost.api.route_table import Media, Routes
from roost.core.errors import NotFound
from roost.server.logs.reader import STREAMS, Followed

routes = Routes("jobs")
MAX_PIECE = 8 << 20
BYTES, NDJSON = "application/octet-stream", "application/x-ndjson"
LOG_HEADERS = {
    "Roost-Offset": {"description": "where the piece begins", "schema": {"type": "integer"}, "required": True},
    "Roost-Size": {"description": "how long all of it is", "schema": {"type": "integer"}, "required": True},
    "Roost-Eof": {"description": "1: nothing more will come", "schema": {"type": "integer", "enum": [0, 1]}},
    "Roost-Dropped": {"description": "from-to: what of the middle is gone", "schema": {"type": "string"}},
}
FILE_HEADERS = {"Content-Disposition": {"description": "a name for the file", "schema": {"type": "string"}}}
_LINES = [{"$ref": f"#/components/schemas/{name}"} for name in ("LogWaiting", "LogPiece", "LogEnded")]
FOLLOWED = {"type": "string", "contentMediaType": NDJSON, "contentSchema": {"anyOf": _LINES}}


@routes.get("/jobs/{job}/log", Right.OWN, NotFound, media=Media(BYTES, LOG_HEADERS))
async def log(
    call: Call,
    job: int,
    attempt: Attempt = None,
    stream: Literal["out", "err"] = "out",
    offset: Offset = 0,
    limit: int = 1 << 20,
    lines: Lines = None,
) -> Response:
    """A piece of what a job wrote, as bytes."""
    await call.server.jobs.own(call.caller, job, "the log")
    logs = call.server.logs
    found = await logs.attempt(job, attempt)
    if found is None:
        return Response(b"", headers={"Roost-Offset": "0", "Roost-Size": "0"}, media_type=BYTES)
    how: dict[str, Any] = {"stream": stream, "offset": offset, "limit": max(1, min(limit, MAX_PIECE))}
    if lines is not None:
        how["lines"] = lines
    piece = await logs.read(found, **how)
    headers = {"Roost-Offset": str(piece.offset), "Roost-Size": str(piece.size), "Roost-Eof": str(int(piece.eof))}
    if piece.dropped is not None:
        headers["Roost-Dropped"] = f"{piece.dropped[0]}-{piece.dropped[1]}"
    return Response(piece.data, headers=headers, media_type=BYTES)


@routes.get("/jobs/{job}/log/follow", Right.OWN, NotFound, media=Media(NDJSON, schema=FOLLOWED))
async def follow(
    call: Call,
    job: int,
    attempt: Attempt = None,
    from_attempt: Attempt = None,
    offset_out: Offset = 0,
    offset_err: Offset = 0,
    lines: Lines = None,
    stream: Literal["out", "err"] | None = None,
) -> Response:
    """What a job writes, line by line of JSON, to its end: all attempts from the last one or the named one on, or one.

    Of both logs, or of one.
    """
    await call.server.jobs.own(call.caller, job, "the log")
    logs = call.server.logs
    await logs.check(job, attempt)
    call.waits()
    which = Followed(attempt, from_attempt, STREAMS if stream is None else (stream,))
    pieces = logs.follow(job, which, {"out": offset_out, "err": offset_err}, lines)
    encoded = (encode(piece, call.language) + b"\n" async for piece in pieces)
    return StreamingResponse(_while_current(call, encoded), media_type=NDJSON)


@routes.get("/jobs/{job}/log/file", Right.OWN, NotFound, media=Media("text/plain", FILE_HEADERS))
async def log_file(call: Call, job: int, attempt: Attempt = None, stream: Literal["out", "err"] = "out") -> Response:
    """All that a job has written, as a file to keep. What of the middle was dropped is not in it."""
    await call.server.jobs.own(call.caller, job, "the log")
    logs = call.server.logs
    found = await logs.attempt(job, attempt)
    name = f"job-{job}.{found.attempt}-{stream}.log" if found is not None else f"job-{job}-{stream}.log"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    if found is None:
        return Response(b"", headers=headers, media_type="text/plain")
    pieces = logs.whole(found, stream)
    first = await anext(pieces, b"")  # what goes wrong at once is an error, not an empty file

    async def all_of_it() -> AsyncIterator[bytes]:
        yield first
        async for piece in _while_current(call, pieces):
            yield piece

    return StreamingResponse(all_of_it(), headers=headers, media_type="text/plain")


async def _while_current(call: Call, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The pieces, until the caller's session or token ends."""
    async for piece in pieces:
        if not call.server.people.is_current(call.caller):
            return
        yield piece
