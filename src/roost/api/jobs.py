"""Routes about jobs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Request, Response
from fastapi.responses import StreamingResponse

from roost.api.document import gives, said, streams, takes
from roost.api.job_answers import (
    Acted,
    AskedFor,
    BriefPage,
    DryRun,
    Ends,
    Environment,
    JobFacets,
    JobPage,
    JobShown,
    Submitted,
    Why,
)
from roost.api.parameters import (
    Attempt,
    Ids,
    JobCursor,
    Limit,
    Lines,
    Listed,
    Node,
    Offset,
    Search,
    Seconds,
    Skip,
    SomeIds,
    Sort,
    States,
)
from roost.api.wire import JsonResponse, body
from roost.core.errors import BadRequest, Conflict, Impossible, NotFound, NotKnown, OverQuota
from roost.core.spec import SIGNALS, JobSpec, fitting
from roost.server.clock import now_ms
from roost.server.identity.people import Caller
from roost.server.logs.reader import STREAMS, Followed, Logs
from roost.server.rounds.commands import Act, Submit
from roost.server.rounds.handlers import ACTIONS
from roost.server.service import Service
from roost.server.views.selection import Select, check_search, check_sort, check_states
from roost.store.listing import QUEUE, Cut
from roost.store.rows import Filter

router = APIRouter(prefix="/api/v1", tags=["jobs"], default_response_class=JsonResponse)
LOG_HEADERS = {
    "Roost-Offset": {"description": "where the piece begins", "schema": {"type": "integer"}, "required": True},
    "Roost-Size": {"description": "how long all of it is", "schema": {"type": "integer"}, "required": True},
    "Roost-Eof": {"description": "1: nothing more will come", "schema": {"type": "integer", "enum": [0, 1]}},
    "Roost-Dropped": {"description": "from-to: what of the middle is gone", "schema": {"type": "string"}},
}
FILE_HEADERS = {"Content-Disposition": {"description": "a name for the file", "schema": {"type": "string"}}}

KNOWN_SIGNALS = (*SIGNALS, "KILL", "STOP", "WINCH")


class SubmitBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Jobs to queue, all or none."""

    jobs: Annotated[list[JobSpec], said(minItems=1)]
    envs: list[dict[str, str]] = []
    dry_run: bool = False
    key: Annotated[str, msgspec.Meta(min_length=8, max_length=100)] | None = None
    """A random text of the client's: the same request under the same key is queued once, however often it is sent."""


class ActionBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something to do to the selected jobs."""

    action: Literal["kill", "pause", "resume", "hold", "release", "rerun", "preempt", "move", "start", "edit", "clone", "rm"]
    select: Select
    changes: Annotated[dict[str, Any], said(allOf=[{"$ref": "#/components/schemas/JobChanges"}])] = {}
    grace_s: Annotated[int, said(minimum=0, maximum=86_400)] | None = None
    signal: Annotated[str, said(pattern=f"^(SIG)?({'|'.join(KNOWN_SIGNALS)})$")] | None = None
    position: Annotated[int, said(minimum=0)] | None = None
    gpu_ids: list[str] = []


def service(request: Request) -> Service:
    """The server behind this application."""
    found: Service = request.app.state.service
    return found


def caller(request: Request) -> Caller:
    """Who asks; the gate has seen to it that somebody does."""
    found: Caller | None = request.state.caller
    if found is None:
        raise NotKnown("log in first", "roost login URL")
    return found


def filler(request: Request, key: str) -> Callable[[Any], Any] | None:
    """What puts the caller's defaults into the jobs of a body, under that key; None when he has none."""
    here = service(request)
    defaults = here.people.defaults.get(caller(request).name)
    if not defaults:
        return None
    if gone := [name for name in defaults.get("prefer_nodes", ()) if name not in here.cluster.nodes]:
        defaults = {**defaults, "prefer_nodes": [name for name in defaults["prefer_nodes"] if name not in gone]}

    def filled(job: Any) -> Any:
        return {**fitting(defaults, job), **job} if isinstance(job, dict) else job

    def fill(body: Any) -> Any:
        asked = body.get(key) if isinstance(body, dict) else None
        if isinstance(asked, list):
            return {**body, key: [filled(job) for job in asked]}
        return {**body, key: filled(asked)} if isinstance(asked, dict) else body

    return fill


@router.post(
    "/jobs",
    status_code=201,
    openapi_extra=takes(SubmitBody) | gives({201: Submitted, 200: DryRun}, NotFound, Impossible, OverQuota),
)
async def submit(request: Request) -> Response:
    """Queue jobs: all are checked before any is queued. Answers with the ids after they are on the disk."""
    who = caller(request)
    asked = await body(request, SubmitBody, filler(request, "jobs"))
    if not asked.jobs:
        raise BadRequest("there is no job in it")
    here = service(request)
    accounts = here.people.accounts_for(who, {job.user for job in asked.jobs})
    if asked.dry_run:
        foreseen = await here.dry_run(who, asked.jobs)
        return JsonResponse({**foreseen, "jobs": [here.veil(who).planned(job) for job in foreseen["jobs"]]})
    command = Submit(who.name, asked.jobs, asked.envs, who.home, asked.key, accounts)
    return JsonResponse({**await here.ask(who, command), "notice": await here.notice()}, 201)


@router.get("/jobs", openapi_extra=gives((JobPage, BriefPage), NotFound))
async def list_jobs(
    request: Request,
    ids: Ids = "",
    state: States = "",
    user: Listed = "",
    label: Listed = "",
    sweep: int | None = None,
    all: bool = False,
    limit: Limit = 50,
    cursor: JobCursor = None,
    brief: bool = False,
    node: Node = None,
    search: Search = "",
    sort: Sort = QUEUE,
    offset: Skip = 0,
) -> Response:
    """A page of jobs, and how many match. Without `all`, a state, ids or a sweep, jobs that ended long ago are left out."""
    here = service(request)
    if cursor is not None and offset:
        raise BadRequest("cursor and offset are two ways to say where to go on", "leave one of them out")
    cut = Cut(limit, cursor, check_sort(sort), offset)
    wanted = Filter()
    if ids or sweep is not None:
        wanted = await here.filter(caller(request), Select(ids=ids, sweep=sweep, all=True))
    states = check_states(tuple(filter(None, state.split(","))))
    recent_ms = int(here.cluster.number("ls.recent_h") * 3_600_000)
    since = None if all or ids or states or sweep is not None else now_ms() - recent_ms
    users, labels = tuple(filter(None, user.split(","))), tuple(filter(None, label.split(",")))
    veil = here.veil(caller(request))
    asked = Filter(wanted.ids, states, users, labels, since, sweep, node or None, check_search(search))
    page = await here.page(veil.filter(asked), cut, brief)
    shown = [veil.brief(job, job["user"]) if brief else veil.job(job) for job in page["jobs"]]
    return JsonResponse({**page, "jobs": shown, "nodes": len(here.cluster.nodes), "notice": await here.notice()})


@router.get("/jobs/facets", openapi_extra=gives(JobFacets))
async def facets(request: Request) -> Response:
    """What a listing can be narrowed to: states, names in use, the labels most used lately. Some seconds old, perhaps."""
    here = service(request)
    return JsonResponse(await here.facets(here.veil(caller(request)).viewer))


@router.get("/jobs/wait", openapi_extra=gives(Ends, NotFound))
async def wait(request: Request, ids: SomeIds, timeout_s: Seconds = None) -> Response:
    """Answers when all of these have ended, or when the time is over."""
    here = service(request)
    chosen = await here.select(caller(request), Select(ids=ids))
    for job in chosen if len(chosen) == 1 else ():
        await here.row(job)
    veil = here.veil(caller(request))
    ended = [veil.ended(view, view.pop("user")) for view in await here.wait(chosen, timeout_s)]
    return JsonResponse({"version": 1, "jobs": ended})


@router.get("/jobs/{job}", openapi_extra=gives(JobShown, NotFound))
async def show(request: Request, job: int) -> Response:
    """One job."""
    here = service(request)
    results = (await here.reported([job]))[job] if 0 < job < 1 << 63 else {}
    view = {"version": 1, **await here.job(job), "results": results, "story": await here.story(job)}
    return JsonResponse(here.veil(caller(request)).job(view))


@router.get("/jobs/{job}/spec", openapi_extra=gives(AskedFor, NotFound))
async def asked_for(request: Request, job: int) -> Response:
    """A job as it was asked for, to ask for another like it; without its environment, but with its script."""
    row = await service(request).own(caller(request), job, "what was asked")
    spec = msgspec.structs.replace(row.decoded(), sweep=None, point=None)
    return JsonResponse({"version": 1, "spec": spec})


@router.get("/jobs/{job}/env", openapi_extra=gives(Environment, NotFound))
async def environment(request: Request, job: int) -> Response:
    """A job's environment, for its owner."""
    return JsonResponse({"version": 1, "env": await service(request).environment(caller(request), job)})


@router.get("/jobs/{job}/why", openapi_extra=gives(Why, NotFound))
async def why(request: Request, job: int) -> Response:
    """Every reason why a job waits, until when probably, and what would start now."""
    here = service(request)
    view = await here.why(job)
    return JsonResponse(here.veil(caller(request)).why(view, (await here.row(job)).user))


@router.post("/jobs/actions", openapi_extra=takes(ActionBody) | gives(Acted, NotFound, Conflict, Impossible, OverQuota))
async def act(request: Request) -> Response:
    """Do something to the selected jobs, each for itself."""
    asked, who = await body(request, ActionBody), caller(request)
    assert asked.action in ACTIONS
    if asked.signal is not None and asked.signal.removeprefix("SIG") not in KNOWN_SIGNALS:
        raise BadRequest(f"no signal named {asked.signal!r}; known: {', '.join(SIGNALS)}, KILL")
    if asked.grace_s is not None and not 0 <= asked.grace_s <= 86_400:
        raise BadRequest(f"grace_s must lie between 0 and 86,400, not {asked.grace_s}")
    signal = asked.signal.removeprefix("SIG") if asked.signal else None
    owner = asked.changes.get("user")
    accounts = service(request).people.accounts_for(who, [owner]) if isinstance(owner, str) else {}
    how = (asked.changes, asked.grace_s, signal, asked.position, asked.gpu_ids, who.home, accounts)
    command = Act(who.name, asked.action, [], *how)
    return JsonResponse({"version": 1, **await service(request).act(who, command, asked.select)})


@router.get("/jobs/{job}/log", openapi_extra=streams("application/octet-stream", NotFound, headers=LOG_HEADERS))
async def log(
    request: Request,
    job: int,
    attempt: Attempt = None,
    stream: Literal["out", "err"] = "out",
    offset: Offset = 0,
    limit: int = 1 << 20,
    lines: Lines = None,
) -> Response:
    """A piece of what a job wrote, as bytes."""
    here = service(request)
    await here.own(caller(request), job, "the log")
    logs = Logs(here)
    found = await logs.attempt(job, attempt)
    if found is None:
        return Response(b"", headers={"Roost-Offset": "0", "Roost-Size": "0"}, media_type="application/octet-stream")
    how: dict[str, Any] = {"stream": stream, "offset": offset, "limit": max(1, min(limit, 8 << 20))}
    if lines is not None:
        how["lines"] = max(0, lines)
    piece = await logs.read(found, **how)
    headers = {"Roost-Offset": str(piece.offset), "Roost-Size": str(piece.size), "Roost-Eof": str(int(piece.eof))}
    if piece.dropped is not None:
        headers["Roost-Dropped"] = f"{piece.dropped[0]}-{piece.dropped[1]}"
    return Response(piece.data, headers=headers, media_type="application/octet-stream")


@router.get("/jobs/{job}/log/follow", openapi_extra=streams("application/x-ndjson", NotFound))
async def follow(
    request: Request,
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
    here, who = service(request), caller(request)
    await here.own(who, job, "the log")
    logs = Logs(here)
    await logs.check(job, attempt)
    which = Followed(attempt, from_attempt, STREAMS if stream is None else (stream,))
    pieces = logs.follow(job, which, {"out": offset_out, "err": offset_err}, lines)

    async def encoded() -> AsyncIterator[bytes]:
        async for piece in pieces:
            if not here.people.is_current(who):
                return
            yield msgspec.json.encode(piece) + b"\n"

    return StreamingResponse(encoded(), media_type="application/x-ndjson")


@router.get("/jobs/{job}/log/file", openapi_extra=streams("text/plain", NotFound, headers=FILE_HEADERS))
async def log_file(request: Request, job: int, attempt: Attempt = None, stream: Literal["out", "err"] = "out") -> Response:
    """All that a job has written, as a file to keep. What of the middle was dropped is not in it."""
    here, who = service(request), caller(request)
    await here.own(who, job, "the log")
    logs = Logs(here)
    found = await logs.attempt(job, attempt)
    name = f"job-{job}.{found.attempt}-{stream}.log" if found is not None else f"job-{job}-{stream}.log"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    if found is None:
        return Response(b"", headers=headers, media_type="text/plain")
    pieces = logs.whole(found, stream)
    first = await anext(pieces, b"")  # what goes wrong at once is an error, not an empty file

    async def all_of_it() -> AsyncIterator[bytes]:
        yield first
        async for piece in pieces:
            if not here.people.is_current(who):
                return
            yield piece

    return StreamingResponse(all_of_it(), headers=headers, media_type="text/plain")
