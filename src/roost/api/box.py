"""Routes about the box: GPUs, draining, settings, the server itself."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import StreamingResponse

from roost.api import answers
from roost.api.document import gives, said, settings_schema, streams, takes
from roost.api.jobs import caller, service
from roost.api.wire import JsonResponse, body
from roost.core import events as ev
from roost.core import policy as policies
from roost.core.errors import BadRequest, Conflict, NotFound
from roost.core.settings import BadSetting, check_type
from roost.server.identity.people import Caller
from roost.server.rounds.commands import Change_, Drain, RuleGpus, SwitchScheduling
from roost.server.service import Service
from roost.server.views.selection import Select
from roost.store import reads

router = APIRouter(prefix="/api/v1", tags=["box"], default_response_class=JsonResponse)


AbsolutePath = Annotated[str, said(pattern="^/[^\\u0000]*$")]


class GpuAction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A change of what may run on GPUs."""

    action: Literal["disable", "enable", "drain", "undrain", "release", "set"]
    gpus: list[str]
    slots: Annotated[int, msgspec.Meta(ge=1, le=1000)] | None = None
    alias: str | None = None


class DrainBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nodes and GPUs that nothing new may start on."""

    targets: Annotated[list[str], said(minItems=1)]
    undrain: bool = False


class PolicyBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    policy: Annotated[str, said(enum=policies.names())]


class SchedulerBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    paused: bool


class ArchiveBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Ended jobs to move into a file."""

    path: AbsolutePath
    select: Select | None = None
    keep: Annotated[int, said(minimum=0)] = 0


class PathBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: AbsolutePath


class ShutdownBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kill: bool = False


@router.get("/gpus", openapi_extra=gives(answers.Gpus))
async def gpus(request: Request) -> Response:
    """Every GPU with its jobs and processes."""
    here = service(request)
    return JsonResponse({**here.veil(caller(request)).gpus(await here.gpus()), "notice": await here.notice()})


@router.post("/gpus/actions", openapi_extra=takes(GpuAction) | gives(answers.Done, NotFound, Conflict))
async def rule_gpus(request: Request) -> Response:
    """Disable, drain, rename GPUs, or change their slots."""
    asked = await body(request, GpuAction)
    command = RuleGpus(caller(request).name, asked.action, asked.gpus, asked.slots, asked.alias)
    return JsonResponse(await service(request).ask(caller(request), command))


@router.post("/drain", openapi_extra=takes(DrainBody) | gives(answers.Done, NotFound))
async def drain(request: Request) -> Response:
    """Let nothing new start on nodes or GPUs, or open them again."""
    asked = await body(request, DrainBody)
    if not asked.targets:
        raise BadRequest("say which node or GPU", "roost gpus")
    return JsonResponse(
        await service(request).ask(caller(request), Drain(caller(request).name, asked.targets, asked.undrain))
    )


@router.get("/status", openapi_extra=gives(answers.Status))
async def status(request: Request) -> Response:
    """How the server is, and who is asking."""
    here = service(request)
    return JsonResponse({**here.status(), "you": here.you(caller(request)), "notice": await here.notice()})


@router.get("/settings", openapi_extra=gives(answers.Settings))
async def settings(request: Request) -> Response:
    """Every setting with its value, default and meaning."""
    return JsonResponse(service(request).settings())


@router.put("/settings", openapi_extra=takes(settings_schema()) | gives(answers.Settings))
async def change_settings(request: Request) -> Response:
    """Change settings, live, all or none."""
    values = await body(request, dict[str, Any])
    try:
        for key, value in values.items():
            check_type(key, value)
    except BadSetting as error:
        raise BadRequest(str(error), "roost set") from None
    await service(request).ask(caller(request), Change_(caller(request).name, values))
    return JsonResponse(service(request).settings())


@router.get("/policy", openapi_extra=gives(answers.Policy))
async def policy(request: Request) -> Response:
    """The policy in force and those there are."""
    return JsonResponse(service(request).policy())


@router.put("/policy", openapi_extra=takes(PolicyBody) | gives(answers.Policy))
async def change_policy(request: Request) -> Response:
    """Change the policy, live."""
    return JsonResponse(await service(request).set_policy(caller(request), (await body(request, PolicyBody)).policy))


@router.post("/scheduler", openapi_extra=takes(SchedulerBody) | gives(answers.Scheduling))
async def scheduler(request: Request) -> Response:
    """Pause or resume all scheduling; what runs, runs on."""
    asked = await body(request, SchedulerBody)
    return JsonResponse(await service(request).ask(caller(request), SwitchScheduling(caller(request).name, asked.paused)))


@router.post("/archive", openapi_extra=takes(ArchiveBody) | gives(answers.Archived, NotFound))
async def archive(request: Request) -> Response:
    """Move ended jobs into a file of JSON lines."""
    asked, here = await body(request, ArchiveBody), service(request)
    path = _absolute(asked.path)
    if asked.select is not None and not asked.select.is_empty:
        ids = await here.select(caller(request), asked.select)
    else:
        ids = await here.read(reads.oldest_ended, max(0, asked.keep), 10_000_000)
    return JsonResponse({"version": 1, "archived": await here.archive(caller(request), path, ids), "path": str(path)})


@router.post("/backup", openapi_extra=takes(PathBody) | gives(answers.BackedUp, Conflict))
async def backup(request: Request) -> Response:
    """Copy the whole state to a file while everything goes on."""
    path = _absolute((await body(request, PathBody)).path)
    await service(request).backup(path)
    return JsonResponse({"version": 1, "path": str(path), "bytes": path.stat().st_size})


def _absolute(text: str) -> Path:
    if not text.startswith("/") or "\0" in text:
        raise BadRequest(f"not an absolute path: {text!r}")
    return Path(text)


@router.get("/log/server", openapi_extra=streams("text/plain", NotFound))
async def server_log(request: Request, lines: Annotated[int, Query(ge=0, le=100_000)] = 50) -> Response:
    """The end of the server's own log."""
    path = service(request).home / "server.log"
    try:
        tail = await asyncio.to_thread(_tail, path, lines)
    except FileNotFoundError:
        raise NotFound("the server has no log yet") from None
    return Response(tail, media_type="text/plain; charset=utf-8")


def _tail(path: Path, lines: int) -> bytes:
    with open(path, "rb") as log:
        size = log.seek(0, os.SEEK_END)
        log.seek(max(0, size - (lines + 1) * 500))
        return b"".join(log.read().splitlines(keepends=True)[-lines:]) if lines else b""


@router.get("/events", openapi_extra=streams("text/event-stream"))
async def events(request: Request) -> Response:
    """Server-sent events: one for every change, from now on."""
    here, who = service(request), caller(request)
    queue: asyncio.Queue[ev.Event] = asyncio.Queue(10_000)

    def watch(event: ev.Event) -> None:
        if not isinstance(event, ev.MOMENTARY) and not queue.full():
            queue.put_nowait(event)

    async def stream() -> AsyncIterator[bytes]:
        here.engine.watchers.add(watch)
        try:
            yield b": roost\n\n"
            while True:
                try:
                    event = await asyncio.wait_for(queue.get(), 15)
                except TimeoutError:
                    if not here.people.is_current(who):
                        return
                    yield b": still here\n\n"
                    continue
                if not here.people.is_current(who):
                    return
                yield b"event: %s\ndata: %s\n\n" % (type(event).__name__.encode(), _shown(here, who, event))
        finally:
            here.engine.watchers.discard(watch)

    return StreamingResponse(stream(), media_type="text/event-stream", headers={"Cache-Control": "no-store"})


def _shown(here: Service, who: Caller, event: ev.Event) -> bytes:
    """An event as that caller may see it."""
    veil = here.veil(who)
    if not veil.is_down or not isinstance(event, ev.JobEvent):
        return msgspec.json.encode(event)
    job = here.cluster.find(event.id) or getattr(event, "job", None)
    return msgspec.json.encode(veil.event(msgspec.to_builtins(event), job.shape.user if job is not None else None))


@router.post("/shutdown", openapi_extra=takes(ShutdownBody) | gives(answers.Leaving))
async def shutdown(request: Request) -> Response:
    """Leave. Running jobs go on, unless they are to be ended first."""
    asked = await body(request, ShutdownBody)
    return JsonResponse({"version": 1, **await service(request).shut_down(caller(request), asked.kill)})
