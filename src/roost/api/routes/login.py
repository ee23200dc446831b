"""Routes for logging in and out: passwords, one-time links, sessions."""

import msgspec
from starlette.responses import Response

from roost.answers.login import FirstLink, LinkShown, LoggedIn, LoggedOut
from roost.answers.values import Nothing
from roost.api.calls import Call
from roost.api.edge import cookies
from roost.api.edge.authentication import Right
from roost.api.request_parameters import UserName
from roost.api.route_table import Routes
from roost.core.errors import Conflict, NotFound
from roost.server.identity.people import Caller
from roost.store.rows import SessionRow

routes = Routes("entrance")


class LoginBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A name and a password; with `token`, the label of a token that is wanted instead of a session."""

    user: UserName
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


@routes.post("/login", Right.PUBLIC, Conflict)
async def log_in(call: Call, body: LoginBody) -> LoggedIn:
    """Begin a session, or get a token, by name and password."""
    here = call.server
    user = await here.login.by_password(body.user, body.password, call.origin)
    if body.token is None:
        return await _begin(call, user, "password")
    known = Caller(user, False, "password", call.address)
    await here.people.note(known.who, "login", user, "for a token")
    row, secret = await here.people.new_token(known, body.token, None)
    return LoggedIn(user=user, token=secret, id=row.id)


@routes.post("/logout", Right.USER)
async def log_out(call: Call) -> Nothing:
    """End the session."""
    await end_session(call)
    return Nothing()


@routes.post("/logout/all", Right.USER)
async def log_out_everywhere(call: Call) -> LoggedOut:
    """End every session, token and one-time link of the caller, also the one that is used for this."""
    tokens, sessions = await call.server.people.end_everything(call.caller)
    if call.caller.csrf is not None:
        call.prepare.append(lambda answer: cookies.take(answer, cookies.SESSION, call.scheme))
    return LoggedOut(tokens=tokens, sessions=sessions)


@routes.post("/administrator/link", Right.HERE)
async def first_link(call: Call) -> FirstLink:
    """A one-time link for the first administrator; null when one can log in from elsewhere already."""
    return FirstLink(url=await call.server.users.first_link())


@routes.get("/link/{code}", Right.PUBLIC, NotFound)
async def link(call: Call, code: str) -> LinkShown:
    """What a one-time link is for; it stays usable."""
    row = call.server.people.link(code)
    return LinkShown(purpose=row.purpose, user=row.user)


@routes.post("/link/{code}", Right.PUBLIC, NotFound, Conflict)
async def use_link(call: Call, code: str, body: LinkBody) -> LoggedIn:
    """Use a one-time link: choose a password where it asks for one, and be logged in."""
    user, parent = await call.server.login.by_link(code, body.name, body.password, call.origin)
    return await _begin(call, user, "link", parent)


async def _begin(call: Call, user: str, via: str, parent: str | None = None) -> LoggedIn:
    return LoggedIn(user=user, csrf=(await begin_session(call, user, via, parent)).csrf)


async def begin_session(call: Call, user: str, via: str, parent: str | None = None) -> SessionRow:
    """A fresh session, in a cookie of the answer. One that a browser brought along is never taken over, it ends."""
    people, old = call.server.people, call.known
    row, secret = await people.new_session(user, call.address, via, parent)
    if old is not None and old.csrf is not None:
        await people.end_session(old)
    lives_s = (row.expires_ms - row.created_ms) // 1000

    def put(answer: Response) -> None:
        cookies.put(answer, cookies.SESSION, secret, call.scheme, lives_s)

    call.prepare.append(put)
    return row


async def end_session(call: Call) -> None:
    """End the caller's session, and take its cookie away."""
    await call.server.people.end_session(call.caller)
    call.prepare.append(lambda answer: cookies.take(answer, cookies.SESSION, call.scheme))
