"""Routes about the caller's own account: who they are, password, tokens, defaults for jobs."""

from typing import Annotated, Any, Literal

import msgspec

from roost.answers.login import Defaults, Link, Me, Token, TokenMade, Tokens, TokenShown
from roost.answers.values import Nothing
from roost.api.calls import Call
from roost.api.edge.authentication import Right
from roost.api.request_parameters import documented
from roost.api.route_table import Routes
from roost.core.errors import BadRequest, Conflict, Impossible, NotFound
from roost.server.clock import rfc3339
from roost.server.identity.lineage import OPERATE, READ, check_scope
from roost.server.identity.passwords import MAX_LENGTH, MIN_LENGTH
from roost.server.identity.people import LOGIN
from roost.store.rows import TokenRow

routes = Routes("people")
MAX_LIFE_S = 10**9
DefaultsBody = Annotated[dict[str, Any], documented(**{"$ref": "#/components/schemas/JobDefaults"})]


class PasswordBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A new password, and the old one where there is one."""

    new: Annotated[str, documented(minLength=MIN_LENGTH, maxLength=MAX_LENGTH)]
    old: str | None = None

    def __repr__(self) -> str:
        return "PasswordBody()"


class TokenBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A token that is wanted: what it is for, how long it lives (null: until it is revoked), and what it may do.

    `read` looks; `submit` also submits, changes and ends jobs of its user; `operate` does all that its user may.
    """

    label: Annotated[str, documented(minLength=1, maxLength=100)]
    lives_s: Annotated[int, documented(minimum=1, maximum=MAX_LIFE_S)] | None = None
    scope: Literal["read", "submit", "operate"] = "operate"


@routes.get("/me", Right.USER)
async def me(call: Call) -> Me:
    """Who the caller is and what they may do."""
    who, here = call.caller, call.server
    token = here.people.tokens.get(who.secret or "")
    number = token.id if token is not None else None
    return Me(**msgspec.structs.asdict(here.people.you(who)), csrf=who.csrf, token=number, notice=here.people.shown_notice())


@routes.post("/me/password", Right.USER)
async def password(call: Call, body: PasswordBody) -> Nothing:
    """Set the caller's password; their other sessions end."""
    await call.server.login.change_password(call.caller, body.old, body.new)
    return Nothing()


@routes.post("/me/link", Right.USER)
async def my_link(call: Call) -> Link:
    """A one-time link by which the caller's browser is logged in."""
    code = await call.server.people.new_link(call.caller.who, call.caller.name, LOGIN, call.caller.parent)
    return Link(url=call.server.address.link(code))


@routes.get("/tokens", Right.OWN)
async def tokens(call: Call, all: bool = False) -> Tokens:
    """The caller's tokens, or everybody's for an administrator; never the tokens themselves."""
    who = call.caller
    rows = [row for row in call.server.people.tokens.values() if row.user == who.name or (all and who.is_admin)]
    return Tokens(tokens=[Token(**_facts(row)) for row in sorted(rows, key=lambda row: row.id)])


@routes.post("/tokens", Right.USER, Conflict, created=(TokenMade,))
async def new_token(call: Call, body: TokenBody) -> TokenMade:
    """A new token, told this once."""
    if body.lives_s is not None and not 1 <= body.lives_s <= MAX_LIFE_S:
        raise BadRequest("request.between", name="lives_s", least=1, most=MAX_LIFE_S, value=body.lives_s)
    row, secret = await call.server.people.new_token(call.caller, body.label, body.lives_s, body.scope)
    return TokenMade(**_facts(row), token=secret)


@routes.delete("/tokens/{token}", Right.OWN, NotFound, scope=READ)
async def revoke(call: Call, token: int) -> TokenShown:
    """End a token at once, and all that was made with it. Any token may end itself."""
    own = call.server.people.tokens.get(call.caller.secret or "")
    if own is None or own.id != token:
        check_scope(call.caller.scope, OPERATE)
    return TokenShown(**_facts(await call.server.people.revoke(call.caller, token)))


def _facts(row: TokenRow) -> dict[str, Any]:
    """The fields of a `Token`."""
    return {
        "id": row.id,
        "user": row.user,
        "label": row.label,
        "scope": row.scope,
        "created_at": rfc3339(row.created_ms),
        "expires_at": rfc3339(row.expires_ms),
        "used_at": rfc3339(row.used_ms),
    }


@routes.get("/defaults", Right.USER)
async def defaults(call: Call) -> Defaults:
    """What the caller's jobs are like unless they say otherwise."""
    return Defaults(defaults=call.server.people.defaults.get(call.caller.name, {}))


@routes.put("/defaults", Right.USER, Impossible)
async def set_defaults(call: Call, body: DefaultsBody) -> Defaults:
    """Set them, all of them; a key of null is none."""
    return Defaults(defaults=await call.server.users.set_defaults(call.caller, body))
