"""Routes about users: who there is, what each may and has, and an administrator's word on it."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Request, Response
from msgspec import UNSET, UnsetType

from roost.api import answers
from roost.api.document import gives, said, takes
from roost.api.jobs import caller, service
from roost.api.notify import targets
from roost.api.parameters import UserName
from roost.api.wire import JsonResponse, body
from roost.core.errors import BadRequest, Conflict, NotFound
from roost.core.users import MAX_NAME, MAX_QUOTA, MAX_WEIGHT, NAME_PATTERN
from roost.server.identity.people import PASSWORD
from roost.server.views.user_views import for_caller

router = APIRouter(prefix="/api/v1", tags=["users"], default_response_class=JsonResponse)
MOST_ADDED = 1000
Quota = Annotated[int, said(minimum=0, maximum=MAX_QUOTA)]
Name = Annotated[str, said(pattern=NAME_PATTERN, maxLength=MAX_NAME)]


class UserBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What changes about a user. A quota of null is lifted, a `unix` of null unties; what is not named stays."""

    weight: Annotated[float, said(minimum=-MAX_WEIGHT, maximum=MAX_WEIGHT)] | UnsetType = UNSET
    max_gpus: Quota | UnsetType | None = UNSET
    max_jobs: Quota | UnsetType | None = UNSET
    max_queued: Quota | UnsetType | None = UNSET
    admin: bool | UnsetType = UNSET
    locked: bool | UnsetType = UNSET
    unix: str | UnsetType | None = UNSET


class AddBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Users to add. `unix` ties them to an account, `none` to none; left out: to the one of the same name, if any.

    `ties` says another account for some of them, by name.
    """

    names: Annotated[list[Name], said(minItems=1, maxItems=MOST_ADDED)]
    unix: str | None = None
    admin: bool = False
    ties: dict[str, str] = {}


@router.get("/users", openapi_extra=gives(answers.Users))
async def users(request: Request) -> Response:
    """Everybody who was added, has rules, or has a job that is not ended."""
    who = caller(request)
    return JsonResponse({"version": 1, "users": [for_caller(view, who) for view in await service(request).users()]})


@router.post("/users", status_code=201, openapi_extra=takes(AddBody) | gives({201: answers.UsersAdded}, NotFound, Conflict))
async def add(request: Request) -> Response:
    """Add users, all or none; each gets a one-time link to choose a password with."""
    asked, here, who = await body(request, AddBody), service(request), caller(request)
    if not 1 <= len(asked.names) <= MOST_ADDED:
        raise BadRequest(f"{len(asked.names):,} users at once; from 1 to {MOST_ADDED:,} can be added", "send them in parts")
    if asked.unix not in (None, "none") and len(asked.names) > 1:
        raise BadRequest("one UNIX account is for one user", "leave unix out: each is tied to the account of his name")
    rows = await here.people.add(who.who, asked.names, asked.unix, asked.admin, asked.ties)
    links = [here.link_url(await here.people.new_link(who.who, row.name, PASSWORD)) for row in rows]
    made = [{**await here.user(row.name), "link": link} for row, link in zip(rows, links, strict=True)]
    return JsonResponse({"version": 1, "users": made}, 201)


@router.get("/users/{name}", openapi_extra=gives(answers.UserShown))
async def user(request: Request, name: UserName) -> Response:
    """One user: rules, GPUs in use, running and waiting jobs."""
    return JsonResponse({"version": 1, **for_caller(await service(request).user(name), caller(request))})


CHANGES = takes(Annotated[UserBody, said(minProperties=1)])


@router.patch("/users/{name}", openapi_extra=CHANGES | gives(answers.UserShown, NotFound, Conflict))
async def change_user(request: Request, name: UserName) -> Response:
    """Change a user, live: weight, quotas, administrator, lock, UNIX account. A lock ends sessions and tokens at once."""
    asked: dict[str, Any] = msgspec.to_builtins(await body(request, UserBody))
    if not asked:
        raise BadRequest("nothing to change: weight, max_gpus, max_jobs, max_queued, admin, locked or unix is meant")
    here, who = service(request), caller(request)
    about = {
        new: asked.pop(old)
        for old, new in (("admin", "is_admin"), ("locked", "is_locked"), ("unix", "unix"))
        if old in asked
    }
    if asked:
        await here.rule_user(who, name, asked)
    if about:
        await here.people.change(who.who, name, **about)
    return JsonResponse({"version": 1, **await here.user(name)})


@router.delete("/users/{name}", openapi_extra=gives(answers.UserDeleted, NotFound, Conflict))
async def delete(request: Request, name: UserName) -> Response:
    """Delete a user: his jobs are ended, sessions, tokens and targets too; what he did stays in the history."""
    done = await service(request).delete_user(caller(request), name)
    await targets(request).forget(name)
    return JsonResponse({"version": 1, **done})


@router.post("/users/{name}/link", openapi_extra=gives(answers.UserLink, NotFound))
async def link(request: Request, name: UserName) -> Response:
    """A one-time link with which the user chooses a new password."""
    here, who = service(request), caller(request)
    await here.known_user(name)
    code = await here.people.new_link(who.who, name, PASSWORD)
    return JsonResponse({"version": 1, "user": name, "url": here.link_url(code)})
