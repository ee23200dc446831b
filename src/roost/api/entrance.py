"""Routes for coming in and going out: passwords, one-time links, sessions."""

from __future__ import annotations

from typing import Annotated

import msgspec
from fastapi import APIRouter, Request, Response

from roost.api import answers, cookies
from roost.api.document import gives, said, takes
from roost.api.gate import address_of, scheme_of
from roost.api.jobs import caller, service
from roost.api.peer import SCOPE_KEY
from roost.api.wire import JsonResponse, body
from roost.core.errors import Conflict, NotFound
from roost.core.users import MAX_NAME, NAME_PATTERN
from roost.server.identity.people import Caller
from roost.store.rows import SessionRow

router = APIRouter(prefix="/api/v1", tags=["entrance"], default_response_class=JsonResponse)


class LoginBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A name and a password; with `token`, the label of a token that is wanted instead of a session."""

    user: Annotated[str, said(pattern=NAME_PATTERN, maxLength=MAX_NAME)]
    password: str
    token: str | None = None

    def __repr__(self) -> str:
        return f"LoginBody({self.user})"


class LinkBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the link asks for: a name for the first administrator, a password where one is to be chosen."""

    name: str | None = None
    password: str | None = None

    def __repr__(self) -> str:
        return "LinkBody()"


@router.post("/login", openapi_extra=takes(LoginBody) | gives(answers.LoggedIn))
async def log_in(request: Request) -> Response:
    """Begin a session, or get a token, by name and password."""
    asked, here = await body(request, LoginBody), service(request)
    user = await here.login.by_password(asked.user, asked.password, origin(request))
    if asked.token is None:
        return await _begin(request, user, "password")
    known = Caller(user, False, "password", address_of(request.scope))
    await here.people.note(known.who, "login", user, "for a token")
    row, secret = await here.people.new_token(known, asked.token, None)
    return JsonResponse({"version": 1, "user": user, "token": secret, "id": row.id})


@router.post("/logout", openapi_extra=gives(answers.Nothing))
async def log_out(request: Request) -> Response:
    """End the session."""
    await service(request).people.end_session(caller(request))
    answer = JsonResponse({"version": 1})
    cookies.take(answer, cookies.SESSION, scheme_of(request.scope))
    return answer


@router.post("/administrator/link", openapi_extra=gives(answers.FirstLink))
async def first_link(request: Request) -> Response:
    """A one-time link for the first administrator; null when one can log in from elsewhere already."""
    return JsonResponse({"version": 1, "url": await service(request).first_link()})


@router.get("/link/{code}", openapi_extra=gives(answers.LinkShown, NotFound))
async def link(request: Request, code: str) -> Response:
    """What a one-time link is for; it stays usable."""
    row = service(request).people.link(code)
    return JsonResponse({"version": 1, "purpose": row.purpose, "user": row.user})


@router.post("/link/{code}", openapi_extra=takes(LinkBody) | gives(answers.LoggedIn, NotFound, Conflict))
async def use_link(request: Request, code: str) -> Response:
    """Use a one-time link: choose a password where it asks for one, and be logged in."""
    asked = await body(request, LinkBody)
    user = await service(request).login.by_link(code, asked.name, asked.password, origin(request))
    return await _begin(request, user, "link")


async def _begin(request: Request, user: str, via: str) -> Response:
    row, secret = await new_session(request, user, via)
    answer = JsonResponse({"version": 1, "user": user, "csrf": row.csrf})
    give(request, answer, row, secret)
    return answer


async def new_session(request: Request, user: str, via: str) -> tuple[SessionRow, str]:
    """A fresh session: one that a browser brought along is never taken over, it ends."""
    people, old = service(request).people, request.state.caller
    made = await people.new_session(user, address_of(request.scope), via)
    if old is not None and old.csrf is not None:
        await people.end_session(old)
    return made


def give(request: Request, answer: Response, row: SessionRow, secret: str) -> None:
    """Put the session into a fresh cookie."""
    lives_s = (row.expires_ms - row.created_ms) // 1000
    cookies.put(answer, cookies.SESSION, secret, scheme_of(request.scope), lives_s)


def origin(request: Request) -> str:
    """Where somebody tries to come in from: an address, or an account of this machine."""
    return address_of(request.scope) or f"uid {request.scope.get(SCOPE_KEY)}"
