"""Routes about oneself and about everybody: tokens, passwords, defaults, the notice, the audit."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Request, Response

from roost.api import answers
from roost.api.document import gives, said, takes
from roost.api.jobs import caller, service
from roost.api.parameters import Limit, RowCursor, Since
from roost.api.wire import JsonResponse, body
from roost.core.errors import BadRequest, Impossible, NotFound
from roost.server.clock import parse_time_ms, rfc3339
from roost.server.identity.passwords import MAX_LENGTH, MIN_LENGTH
from roost.server.identity.people import LOGIN
from roost.store import people as kept
from roost.store.rows import AuditRow, TokenRow

router = APIRouter(prefix="/api/v1", tags=["people"], default_response_class=JsonResponse)
MAX_NOTICE = 2000


class PasswordBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A new password, and the old one where there is one."""

    new: Annotated[str, said(minLength=MIN_LENGTH, maxLength=MAX_LENGTH)]
    old: str | None = None

    def __repr__(self) -> str:
        return "PasswordBody()"


class TokenBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A token that is wanted: what it is for, and how long it lives; null: until it is revoked."""

    label: Annotated[str, said(minLength=1, maxLength=100)]
    lives_s: Annotated[int, said(minimum=1, maximum=10**9)] | None = None


class NoticeBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What everybody is to see; null: nothing."""

    text: Annotated[str, said(maxLength=MAX_NOTICE, pattern="\\S")] | None


@router.get("/me", openapi_extra=gives(answers.Me))
async def me(request: Request) -> Response:
    """Who the caller is and what he may."""
    who, here = caller(request), service(request)
    token = here.people.tokens.get(who.secret or "")
    more = {"csrf": who.csrf, "token": token.id if token is not None else None, "notice": await here.notice()}
    return JsonResponse({"version": 1, **here.you(who), **more})


@router.post("/me/password", openapi_extra=takes(PasswordBody) | gives(answers.Nothing))
async def password(request: Request) -> Response:
    """Set the caller's password; his other sessions end."""
    asked = await body(request, PasswordBody)
    await service(request).login.change_password(caller(request), asked.old, asked.new)
    return JsonResponse({"version": 1})


@router.post("/me/link", openapi_extra=gives(answers.Link))
async def my_link(request: Request) -> Response:
    """A one-time link by which the caller's browser is logged in."""
    here, who = service(request), caller(request)
    code = await here.people.new_link(who.who, who.name, LOGIN)
    return JsonResponse({"version": 1, "url": here.link_url(code)})


@router.get("/tokens", openapi_extra=gives(answers.Tokens))
async def tokens(request: Request, all: bool = False) -> Response:
    """The caller's tokens, or everybody's for an administrator; never the tokens themselves."""
    who = caller(request)
    rows = [row for row in service(request).people.tokens.values() if row.user == who.name or (all and who.is_admin)]
    return JsonResponse({"version": 1, "tokens": [_token(row) for row in sorted(rows, key=lambda row: row.id)]})


@router.post("/tokens", status_code=201, openapi_extra=takes(TokenBody) | gives({201: answers.TokenMade}))
async def new_token(request: Request) -> Response:
    """A new token, told this once."""
    asked = await body(request, TokenBody)
    if asked.lives_s is not None and not 1 <= asked.lives_s <= 10**9:
        raise BadRequest(f"lives_s must lie between 1 and 1,000,000,000, not {asked.lives_s:,}")
    row, secret = await service(request).people.new_token(caller(request), asked.label, asked.lives_s)
    return JsonResponse({"version": 1, **_token(row), "token": secret}, 201)


@router.delete("/tokens/{token}", openapi_extra=gives(answers.TokenShown, NotFound))
async def revoke(request: Request, token: int) -> Response:
    """End a token, at once."""
    return JsonResponse({"version": 1, **_token(await service(request).people.revoke(caller(request), token))})


def _token(row: TokenRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "user": row.user,
        "label": row.label,
        "created_at": rfc3339(row.created_ms),
        "expires_at": rfc3339(row.expires_ms),
        "used_at": rfc3339(row.used_ms),
    }


@router.get("/defaults", openapi_extra=gives(answers.Defaults))
async def defaults(request: Request) -> Response:
    """What the caller's jobs are like unless he says otherwise."""
    return JsonResponse({"version": 1, "defaults": service(request).people.defaults.get(caller(request).name, {})})


@router.put(
    "/defaults", openapi_extra=takes({"$ref": "#/components/schemas/JobDefaults"}) | gives(answers.Defaults, Impossible)
)
async def set_defaults(request: Request) -> Response:
    """Set them, all of them; a key of null is none."""
    here, who = service(request), caller(request)
    values = await here.set_defaults(who, await body(request, dict[str, Any]))
    return JsonResponse({"version": 1, "defaults": values})


@router.get("/notice", openapi_extra=gives(answers.NoticeShown))
async def notice(request: Request) -> Response:
    """What everybody is to see."""
    return JsonResponse({"version": 1, "notice": await service(request).notice()})


@router.put("/notice", openapi_extra=takes(NoticeBody) | gives(answers.NoticeShown))
async def set_notice(request: Request) -> Response:
    """Set it, or take it away."""
    text = (await body(request, NoticeBody)).text
    if text is not None and (len(text) > MAX_NOTICE or not text.strip()):
        raise BadRequest(f"a notice has 1 to {MAX_NOTICE:,} characters, not {len(text):,}", "null takes it away")
    await service(request).people.set_notice(caller(request).who, text)
    return JsonResponse({"version": 1, "notice": await service(request).notice()})


@router.get("/audit", openapi_extra=gives(answers.Audit))
async def audit(
    request: Request,
    user: str | None = None,
    action: str | None = None,
    since: Since = None,
    limit: Limit = 50,
    cursor: RowCursor = None,
) -> Response:
    """Who did what, when, from where: the newest first."""
    since_ms = parse_time_ms(since) if since else 0
    rows = await service(request).read(kept.audited, user, action, since_ms, cursor or 1 << 62, limit + 1)
    following = rows[limit - 1].id if len(rows) > limit else None
    return JsonResponse({"version": 1, "audit": [_line(row) for row in rows[:limit]], "next": following})


def _line(row: AuditRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "at": rfc3339(row.at_ms),
        "user": row.user,
        "via": row.via,
        "address": row.address,
        "action": row.action,
        "target": row.target,
        "detail": row.detail,
    }
