"""Routes about the server itself: status, GPUs, settings, policy, its own log and events, archive and backup."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from starlette.responses import Response, StreamingResponse

from roost.answers import settings as answers
from roost.answers.gpus import Done, Gpus
from roost.api.calls import Call
from roost.api.edge.authentication import Right
from roost.api.request_parameters import LogLines, documented
from roost.api.route_table import Media, Routes
from roost.core import events as ev
from roost.core import policy as policies
from roost.core.errors import BadRequest, Conflict, NotFound
from roost.core.settings import TABLE, BadSetting, Setting, check_type
from roost.messages import Message, render
from roost.server.identity.redaction import may_see
from roost.server.operations import server as operations
from roost.server.rounds.commands import ChangeSettings, Drain, RuleGpus, SwitchScheduling
from roost.server.views.selection import Select
from roost.store import reads

routes = Routes("box")
EVENT_STREAM = "text/event-stream"
AbsolutePath = Annotated[str, documented(pattern="^/[^\\u0000]*$")]


class GpuAction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A change of what may run on GPUs."""

    action: Literal["disable", "enable", "drain", "undrain", "release", "set"]
    gpus: list[str]
    slots: Annotated[int, Meta(ge=1, le=1000)] | None = None
    alias: str | None = None


class DrainBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nodes and GPUs that nothing new may start on."""

    targets: Annotated[list[str], documented(minItems=1)]
    undrain: bool = False


class PolicyBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    policy: Annotated[str, documented(enum=policies.names())]


class SchedulerBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    paused: bool


class ArchiveBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Ended jobs to move into a file."""

    path: AbsolutePath
    select: Select | None = None
    keep: Annotated[int, documented(minimum=0)] = 0


class PathBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: AbsolutePath


class ShutdownBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kill: bool = False


def _setting(row: Setting) -> dict[str, Any]:
    limits = dict(zip(("minimum", "maximum"), row.range, strict=True)) if row.range[0] is not None else {}
    choices = policies.names() if row.key == "policy" else list(row.choices)
    about = {"type": answers.TYPES[row.kind], "description": str(row.meaning)}
    return {**about, **limits, **({"enum": choices} if choices else {})}


SettingsBody = Annotated[
    dict[str, Any],
    documented(title="SettingsBody", properties={row.key: _setting(row) for row in TABLE}, additionalProperties=False),
]


@routes.get("/gpus", Right.USER)
async def gpus(call: Call) -> Gpus:
    """Every GPU with its jobs and processes."""
    return call.veil.gpus(await call.server.status.gpus())


@routes.post("/gpus/actions", Right.ADMIN, NotFound, Conflict)
async def rule_gpus(call: Call, body: GpuAction) -> Done:
    """Disable, drain, rename GPUs, or change their slots."""
    command = RuleGpus(call.caller.name, body.action, body.gpus, body.slots, body.alias)
    done: Done = await call.ask(command)
    return done


@routes.post("/drain", Right.ADMIN, NotFound)
async def drain(call: Call, body: DrainBody) -> Done:
    """Let nothing new start on nodes or GPUs, or open them again."""
    if not body.targets:
        raise BadRequest("request.no_targets")
    done: Done = await call.ask(Drain(call.caller.name, body.targets, body.undrain))
    return done


@routes.get("/status", Right.USER)
async def status(call: Call) -> answers.Status:
    """The state of the server, and who the caller is."""
    return await call.server.status.status(call.caller)


@routes.get("/settings", Right.USER)
async def settings(call: Call) -> answers.Settings:
    """Every setting with its value, default and meaning."""
    return call.server.status.settings()


@routes.put("/settings", Right.ADMIN)
async def change_settings(call: Call, body: SettingsBody) -> answers.Settings:
    """Change settings, live, all or none."""
    try:
        for key, value in body.items():
            check_type(key, value)
    except BadSetting as error:
        raise BadRequest(error.said) from None
    service = body.get("login.pam")
    if service and call.caller.who.is_local and await asyncio.to_thread(call.server.pam.is_open, service):
        raise BadRequest("login.pam_open", service=service)
    await call.ask(ChangeSettings(call.caller.name, body))
    return call.server.status.settings()


@routes.get("/policy", Right.USER)
async def policy(call: Call) -> answers.Policy:
    """The policy in force and those there are."""
    return call.server.status.policy()


@routes.put("/policy", Right.ADMIN)
async def change_policy(call: Call, body: PolicyBody) -> answers.Policy:
    """Change the policy, live."""
    await call.ask(ChangeSettings(call.caller.name, {"policy": body.policy}))
    return call.server.status.policy()


@routes.post("/scheduler", Right.ADMIN)
async def scheduler(call: Call, body: SchedulerBody) -> answers.Scheduling:
    """Pause or resume all scheduling; running jobs continue."""
    now: answers.Scheduling = await call.ask(SwitchScheduling(call.caller.name, body.paused))
    return now


@routes.post("/archive", Right.HERE, NotFound)
async def archive(call: Call, body: ArchiveBody) -> answers.Archived:
    """Move ended jobs into a file of JSON lines."""
    here, path = call.server, _absolute(body.path)
    if body.select is not None and not body.select.is_empty:
        ids = await here.selector.ids(call.caller, body.select)
    else:
        ids = await here.reader.read(reads.oldest_ended, max(0, body.keep), 10_000_000)
    return await here.archive.add(call.caller, path, ids)


@routes.post("/backup", Right.HERE, Conflict)
async def backup(call: Call, body: PathBody) -> answers.BackedUp:
    """Copy the whole state to a file while the server works."""
    path = _absolute(body.path)
    await operations.backup(call.server.engine, call.server.store, path)
    return answers.BackedUp(path=str(path), bytes=path.stat().st_size)


def _absolute(text: str) -> Path:
    if not text.startswith("/") or "\0" in text:
        raise BadRequest("request.absolute_path", path=repr(text[:1000]))
    return Path(text)


@routes.get("/log/server", Right.ADMIN, NotFound, media=Media("text/plain"))
async def server_log(call: Call, lines: LogLines = 50) -> Response:
    """The end of the server's own log."""
    try:
        tail = await asyncio.to_thread(_tail, call.server.home / "server.log", lines)
    except FileNotFoundError:
        raise NotFound("request.no_server_log") from None
    return Response(tail, media_type="text/plain; charset=utf-8")


def _tail(path: Path, lines: int) -> bytes:
    with open(path, "rb") as log:
        size = log.seek(0, os.SEEK_END)
        log.seek(max(0, size - (lines + 1) * 500))
        return b"".join(log.read().splitlines(keepends=True)[-lines:]) if lines else b""


@routes.get("/events", Right.USER, media=Media(EVENT_STREAM))
async def events(call: Call) -> Response:
    """Server-sent events: one for every change, from now on."""
    here, who = call.server, call.caller
    queue: asyncio.Queue[ev.Event] = asyncio.Queue(10_000)
    call.waits()

    def watch(event: ev.Event) -> None:
        if not isinstance(event, ev.MOMENTARY) and not queue.full():
            queue.put_nowait(event)

    async def stream() -> AsyncIterator[bytes]:
        here.engine.watchers.add(watch)
        try:
            yield b": roost\n\n"
            while True:
                try:
                    async with asyncio.timeout(15):
                        event = await queue.get()
                except TimeoutError:
                    if not here.people.is_current(who):
                        return
                    yield b": still here\n\n"
                    continue
                if not here.people.is_current(who):
                    return
                if may_see(who.name, here.people.now_rules(who), event):
                    yield b"event: %s\ndata: %s\n\n" % (type(event).__name__.encode(), _shown(call, event))
        finally:
            here.engine.watchers.discard(watch)

    return StreamingResponse(stream(), media_type=EVENT_STREAM, headers={"Cache-Control": "no-store"})


def _shown(call: Call, event: ev.Event) -> bytes:
    """An event as that caller may see it, in their language."""
    here, veil = call.server, call.server.selector.veil(call.caller)
    if isinstance(event, ev.Ended | ev.Requeued) and event.error is not None:
        event = msgspec.structs.replace(event, error=render(Message.of_text(event.error), call.language))
    if not veil.is_down or not isinstance(event, ev.JobEvent):
        return msgspec.json.encode(event)
    job = here.engine.cluster.find(event.id) or getattr(event, "job", None)
    return msgspec.json.encode(veil.event(event, job.shape.user if job is not None else None))


@routes.post("/shutdown", Right.ADMIN)
async def shutdown(call: Call, body: ShutdownBody) -> answers.Leaving:
    """Stop the server. Running jobs continue, unless `kill` ends them first."""
    here = call.server
    return await operations.stop(here.engine, here.actions, here.shutdown, call.caller, body.kill)
