"""Routes about users: who they are, what each may do and has, and what administrators change about them."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from roost.answers.login import UserLink
from roost.answers.users import (
    Audit,
    AuditLine,
    AuditVerified,
    NoticeShown,
    UserAdded,
    UserDeleted,
    Users,
    UsersAdded,
    UserShown,
)
from roost.api.calls import Call
from roost.api.edge.authentication import Right
from roost.api.request_parameters import Limit, RowCursor, Since, UserName, documented
from roost.api.route_table import Routes
from roost.core.errors import BadRequest, Conflict, NotFound
from roost.core.users import MAX_QUOTA, MAX_WEIGHT
from roost.server.clock import parse_time_ms, rfc3339
from roost.server.identity.people import PASSWORD
from roost.server.views.user_views import for_caller
from roost.store import audit as chain
from roost.store import people as kept
from roost.store.rows import AuditRow

routes = Routes("users")
MAX_ADDED = 1000
MAX_NOTICE = 2000
Quota = Annotated[int, documented(minimum=0, maximum=MAX_QUOTA)]


class UserBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What changes about a user. null removes a quota, or the link to a UNIX account (`unix`); what is omitted stays."""

    weight: Annotated[float, documented(minimum=-MAX_WEIGHT, maximum=MAX_WEIGHT)] | UnsetType = UNSET
    max_gpus: Quota | UnsetType | None = UNSET
    max_jobs: Quota | UnsetType | None = UNSET
    max_queued: Quota | UnsetType | None = UNSET
    admin: bool | UnsetType = UNSET
    locked: bool | UnsetType = UNSET
    unix: str | UnsetType | None = UNSET


class AddBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Users to add. `unix` links them to an account, `none` to none; omitted: to the one of the same name, if any.

    `ties` names another account for some of them, by user.
    """

    names: Annotated[list[UserName], documented(minItems=1, maxItems=MAX_ADDED)]
    unix: str | None = None
    admin: bool = False
    ties: dict[str, str] = {}


class NoticeBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A notice for all users; null: none."""

    text: Annotated[str, documented(maxLength=MAX_NOTICE, pattern="\\S")] | None


@routes.get("/users", Right.USER)
async def users(call: Call) -> Users:
    """Everybody who was added, has rules, or has a job that is not ended."""
    return Users(users=[for_caller(user, call.caller) for user in await call.server.users.users()])


@routes.post("/users", Right.ADMIN, NotFound, Conflict, created=(UsersAdded,))
async def add(call: Call, body: AddBody) -> UsersAdded:
    """Add users, all or none; each gets a one-time link to choose a password with."""
    here, by = call.server, call.caller.who
    if not 1 <= len(body.names) <= MAX_ADDED:
        raise BadRequest("request.users_at_once", users=len(body.names), most=MAX_ADDED)
    if body.unix not in (None, "none") and len(body.names) > 1:
        raise BadRequest("request.one_account")
    rows = await here.people.add(by, body.names, body.unix, body.admin, body.ties)
    parent = call.caller.parent
    links = {row.name: here.address.link(await here.people.new_link(by, row.name, PASSWORD, parent)) for row in rows}
    made = [UserAdded(**msgspec.structs.asdict(await here.users.user(name)), link=link) for name, link in links.items()]
    return UsersAdded(users=made)


@routes.get("/users/{name}", Right.USER)
async def user(call: Call, name: UserName) -> UserShown:
    """One user: rules, GPUs in use, running and waiting jobs."""
    return _shown(for_caller(await call.server.users.user(name), call.caller))


def _shown(user: msgspec.Struct) -> UserShown:
    return UserShown(**msgspec.structs.asdict(user))


@routes.patch("/users/{name}", Right.ADMIN, NotFound, Conflict)
async def change_user(call: Call, name: UserName, body: Annotated[UserBody, documented(minProperties=1)]) -> UserShown:
    """Change a user, live: weight, quotas, administrator, lock, UNIX account. A lock ends sessions and tokens at once."""
    asked: dict[str, Any] = msgspec.to_builtins(body)
    if not asked:
        raise BadRequest("request.no_changes", known=UserBody.__struct_fields__)
    here, who = call.server, call.caller
    about = {
        new: asked.pop(old)
        for old, new in (("admin", "is_admin"), ("locked", "is_locked"), ("unix", "unix"))
        if old in asked
    }
    if asked:
        await here.users.rule(who, name, asked)
    if about:
        await here.people.change(who.who, name, **about)
    return _shown(await here.users.user(name))


@routes.delete("/users/{name}", Right.ADMIN, NotFound, Conflict)
async def delete(call: Call, name: UserName) -> UserDeleted:
    """Delete a user: their jobs are ended, sessions, tokens and targets too; what they did stays in the history."""
    done = await call.server.users.delete(call.caller, name)
    await call.server.targets.forget(name)
    return done


@routes.post("/users/{name}/link", Right.ADMIN, NotFound)
async def link(call: Call, name: UserName) -> UserLink:
    """A one-time link with which the user chooses a new password."""
    call.server.people.check_known(name)
    code = await call.server.people.new_link(call.caller.who, name, PASSWORD, call.caller.parent)
    return UserLink(user=name, url=call.server.address.link(code))


@routes.get("/notice", Right.USER)
async def notice(call: Call) -> NoticeShown:
    """The notice for all users."""
    return NoticeShown(notice=call.server.people.shown_notice())


@routes.put("/notice", Right.ADMIN)
async def set_notice(call: Call, body: NoticeBody) -> NoticeShown:
    """Set the notice, or remove it."""
    text = body.text
    if text is not None and (len(text) > MAX_NOTICE or not text.strip()):
        raise BadRequest("request.notice_length", most=MAX_NOTICE, length=len(text))
    await call.server.people.set_notice(call.caller.who, text)
    return NoticeShown(notice=call.server.people.shown_notice())


@routes.get("/audit", Right.ADMIN)
async def audit(
    call: Call,
    user: str | None = None,
    action: str | None = None,
    since: Since = None,
    limit: Limit = 50,
    cursor: RowCursor = None,
) -> Audit:
    """Who did what, when, from where: the newest first."""
    since_ms = parse_time_ms(since) if since else 0
    rows = await call.server.reader.read(kept.audited, user, action, since_ms, cursor or 1 << 62, limit + 1)
    following = rows[limit - 1].id if len(rows) > limit else None
    return Audit(audit=[_line(row) for row in rows[:limit]], next=following)


@routes.get("/audit/verify", Right.ADMIN)
async def verify_audit(call: Call) -> AuditVerified:
    """Follow the chain of the audit, from its first line to its last."""
    found = await call.server.reader.read(chain.verify)
    return AuditVerified(
        ok=found.broken is None,
        lines=found.lines,
        unhashed=found.unhashed,
        last=found.head.id,
        hash=found.head.hash,
        broken=found.broken,
        how=found.how,
    )


def _line(row: AuditRow) -> AuditLine:
    fields = msgspec.structs.asdict(row)
    return AuditLine(at=rfc3339(fields.pop("at_ms")), **fields)
