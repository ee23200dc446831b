"""People: who may use this server, what each user may do, and the UNIX account that their jobs run as.

Everything is in memory, as the store has it; a change is written first and applied after. On a UNIX socket the kernel says
who calls and no secret is needed; from elsewhere it is a token, or a session that a password or a one-time link began. Only
hashes of secrets are stored. Knows nothing of HTTP and of jobs.
"""

import asyncio
import hashlib
import os
import secrets
from collections.abc import Callable, Collection, Iterable
from typing import Any

import msgspec
from sqlalchemy import Executable

from roost.answers.login import You
from roost.answers.users import Notice
from roost.core.accounts import NO_ACCOUNT, SERVER_ACCOUNT, Account
from roost.core.errors import BadRequest, Conflict, NotFound, NotKnown, NotPermitted
from roost.core.settings import MIN_AUDIT_DAYS
from roost.core.users import check_user
from roost.server.clock import rfc3339
from roost.server.identity.lineage import OPERATE, soonest, with_descendants
from roost.server.identity.unix_accounts import Unix, unix_name, unix_of_uid
from roost.server.rounds.commands import Who
from roost.store import audit, schema
from roost.store import people as kept
from roost.store.rows import AccountRow, AuditRow, LinkRow, SessionRow, TokenRow
from roost.store.store import Store
from roost.store.store_errors import CommitFailed

TOKEN_PREFIX = "roost_"
PASSWORD, LOGIN, FIRST = "password", "login", "first"
"""What a one-time link is for: choosing a password, logging in once, becoming the first administrator."""
LINK_LIVES_MS = {PASSWORD: 7 * 86_400_000, LOGIN: 300_000, FIRST: 86_400_000}
MAX_TOKENS = 100
"""Of one user."""


class Caller(msgspec.Struct, frozen=True):
    """Who asks, how they are known, and what they may do."""

    name: str
    is_admin: bool
    via: str
    address: str = ""
    home: str = "/"
    account: Account = NO_ACCOUNT
    """The UNIX account that their jobs run as."""
    unix: str | None = None
    csrf: str | None = None
    secret: str | None = None
    """The digest of the token or session that they used; None: the kernel said who they are."""
    scope: str = OPERATE
    parent: str | None = None
    """The digest of the token that what they make depends on; None: on nothing."""
    began: str = "elsewhere"
    """`here`, when it all began on the server's machine, where the kernel said who asked."""

    @property
    def who(self) -> Who:
        """The same, for commands and for the audit."""
        return Who(self.name, self.is_admin, self.via, self.address, self.account)


class People:
    """All users of this server."""

    def __init__(self, store: Store, setting: Callable[[str], Any], now_ms: Callable[[], int]) -> None:
        self._store, self._setting, self._now_ms = store, setting, now_ms
        self.own = unix_of_uid(os.geteuid())
        self.is_root = self.own.uid == 0
        found = store.read(kept.everybody)
        self.accounts = {row.name: row for row in found.accounts}
        self.tokens = {row.digest: row for row in found.tokens}
        self._sessions = {row.digest: row for row in found.sessions}
        self._links = {row.digest: row for row in found.links}
        self.defaults: dict[str, dict[str, Any]] = {user: msgspec.json.decode(data) for user, data in found.defaults.items()}
        notice = store.meta().get("notice")
        self.notice: dict[str, Any] | None = msgspec.json.decode(notice) if notice is not None else None
        """The notice that all users see: `text`, `by`, `at_ms`."""
        self._used: dict[int, int] = {}
        self._seen: dict[str, int] = {}
        self.on_leave: set[Callable[[str], None]] = set()
        """Called with each user whose sessions and tokens have just ended."""
        self.on_change: set[Callable[[], None]] = set()
        """Called after something about people was written and applied here."""

    @property
    def itself(self) -> Caller:
        """The server itself, for what it does without being asked."""
        return Caller(self.own.name, True, "server", "", self.own.home, SERVER_ACCOUNT, self.own.name)

    # -- who is it --------------------------------------------------------------------------------------------------

    def by_uid(self, uid: int) -> Caller:
        """The account behind a UNIX socket, when this server serves it."""
        unix = unix_of_uid(uid)
        if uid in (self.own.uid, 0):
            row = self._row_of(unix.name)
            name = row.name if row is not None else unix.name
            return Caller(name, True, "socket", "", unix.home, SERVER_ACCOUNT, unix.name, began="here")
        if not self.is_root:
            raise NotPermitted("user.server_of", user=self.own.name)
        return self._served(unix)

    def _served(self, unix: Unix) -> Caller:
        if not unix.is_named:
            raise NotPermitted("user.uid_without_account", uid=unix.uid)
        row = self._row_of(unix.name)
        if row is None and (same := self.accounts.get(unix.name)) is not None:
            raise NotPermitted("user.linked_elsewhere", user=same.name, unix=unix.name)
        if row is None and self._setting("users.admit") == "known":
            raise NotPermitted("user.not_admitted", user=unix.name)
        self._check_lock(row)
        name = row.name if row is not None else unix.name
        is_admin = row is not None and row.is_admin
        return Caller(name, is_admin, "socket", "", unix.home, Account(unix.name), unix.name, began="here")

    def by_token(self, secret: str, address: str) -> Caller:
        """The user of that token."""
        row = self.tokens.get(digest_of(secret))
        now = self._now_ms()
        if row is None or (row.expires_ms is not None and row.expires_ms <= now):
            raise NotKnown("token.not_valid")
        self._used[row.id] = now
        known = self._known(row.user, f"token {row.label}", address, secret=row.digest)
        is_admin = known.is_admin and row.scope == OPERATE
        return msgspec.structs.replace(known, is_admin=is_admin, scope=row.scope, parent=row.digest, began=row.began)

    def by_session(self, secret: str, address: str) -> Caller | None:
        """The user of that session; None when it has ended."""
        row = self._sessions.get(digest_of(secret))
        if row is None or row.expires_ms <= self._now_ms():
            return None
        known = self._known(row.user, "session", address, row.csrf, row.digest)
        return msgspec.structs.replace(known, parent=row.parent)

    def _known(self, name: str, via: str, address: str, csrf: str | None = None, secret: str | None = None) -> Caller:
        """The user that a secret names, with the same rights as on the machine itself."""
        row = self.accounts.get(name)
        self._check_lock(row)
        unix = self.unix_of(name)
        home = unix.home if unix is not None else "/"
        account = self._account(unix)
        return Caller(
            name, self.is_administrator(name), via, address, home, account, unix.name if unix else None, csrf, secret
        )

    def saw(self, caller: Caller) -> None:
        """Note that they are here now."""
        self._seen[caller.name] = self._now_ms()

    def last_seen(self) -> dict[str, int]:
        """When each was last here: since the server started, else by their logins and tokens."""
        logins = [(row.user, row.created_ms) for row in self._sessions.values()]
        tokens = [(row.user, row.used_ms) for row in self.tokens.values() if row.used_ms is not None]
        found = dict(sorted([*logins, *tokens], key=lambda pair: pair[1]))
        return found | self._seen

    def is_administrator(self, name: str) -> bool:
        """Whether they may act on everything: an administrator said so, or they own the server, or are root."""
        row = self.accounts.get(name)
        return row.is_admin if row is not None else self._always_rules(name)

    def _always_rules(self, name: str) -> bool:
        """Whether that is the name of the server's own account, or root. Being linked to that account is not enough."""
        unix = unix_name(name)
        return unix is not None and unix.uid in (0, self.own.uid)

    def _fresh(self, name: str) -> AccountRow:
        """A row for a user that only the kernel knows so far."""
        unix = unix_name(name)
        return AccountRow(
            name, unix.name if unix is not None else None, None, self._always_rules(name), False, self._now_ms()
        )

    def is_admitted(self, name: str) -> bool:
        """Whether an account of that name would be let in even if it were not a known user."""
        return self.is_root and self._setting("users.admit") == "everybody" and unix_name(name) is not None

    def is_current(self, caller: Caller) -> bool:
        """Whether they would still be let in: for streams that outlive the request that began them."""
        return self.why_gone(caller) is None

    def why_gone(self, caller: Caller) -> str | None:
        """Why they would no longer be let in: `locked`, `expired` or `ended`; None: they would."""
        account = self.accounts.get(caller.name)
        if account is not None and account.is_locked and not (caller.via == "socket" and caller.account == SERVER_ACCOUNT):
            return "locked"
        if caller.secret is None:
            is_known = caller.account == SERVER_ACCOUNT or account is not None or self._setting("users.admit") != "known"
            return None if is_known else "ended"
        row = self._sessions.get(caller.secret) or self.tokens.get(caller.secret)
        if row is None:
            return "ended"
        return "expired" if row.expires_ms is not None and row.expires_ms <= self._now_ms() else None

    def now_rules(self, caller: Caller) -> bool:
        """Whether they are an administrator now, whatever they were when they came."""
        if caller.scope != OPERATE or (caller.via == "socket" and caller.account == SERVER_ACCOUNT):
            return caller.is_admin
        return self.is_administrator(caller.name)

    def _row_of(self, unix: str) -> AccountRow | None:
        """The user linked to that UNIX account."""
        row = self.accounts.get(unix)
        if row is not None and row.unix == unix:
            return row
        return next((other for other in self.accounts.values() if other.unix == unix), None)

    def _check_lock(self, row: AccountRow | None) -> None:
        if row is not None and row.is_locked:
            raise NotPermitted("user.locked", user=row.name)

    def you(self, caller: Caller) -> You:
        """Who the caller is, what they may do, and as which account their jobs run; None: no account, they are refused."""
        runs_as = None if caller.account == NO_ACCOUNT else caller.account or self.own.name
        return You(user=caller.name, admin=caller.is_admin, via=caller.via, unix=caller.unix, runs_as=runs_as)

    def shown_notice(self) -> Notice | None:
        """The notice that all users see."""
        found = self.notice
        return None if found is None else Notice(found["text"], found["by"], rfc3339(found["at_ms"]))

    def check_known(self, name: str) -> None:
        """Raise `NotFound` unless there is such a user, or an account on this machine that could become one."""
        check_user(name)
        if name not in self.accounts and self.unix_of(name) is None:
            raise NotFound("user.not_found", user=name)

    # -- UNIX accounts ----------------------------------------------------------------------------------------------

    def unix_of(self, name: str) -> Unix | None:
        """The UNIX account that a user is linked to: by an administrator, or because it has the user's name."""
        row = self.accounts.get(name)
        if row is not None:
            return unix_name(row.unix) if row.unix is not None else None
        return unix_name(name)

    def _account(self, unix: Unix | None) -> Account:
        if unix is not None and unix.uid == self.own.uid:
            return SERVER_ACCOUNT
        return Account(unix.name) if unix is not None and self.is_root else NO_ACCOUNT

    def same_unix(self, name: str) -> Unix | None:
        """The UNIX account whose password also logs this user in: their own, linked to no other user, and served here."""
        unix = self.unix_of(name)
        if unix is None or (self._setting("users.admit") == "known" and name not in self.accounts):
            return None
        linked = self._row_of(unix.name)
        return unix if linked is None or linked.name == name else None

    def accounts_for(self, caller: Caller, owners: Iterable[str | None]) -> dict[str, Account]:
        """The accounts that the jobs of these users run as; None is the caller. Raises when one of them has no account."""
        names = {owner or caller.name for owner in owners}
        allowed = names if caller.is_admin else names & {caller.name}  # for others: refused where the jobs are queued
        return {owner: self._runs_as(caller, owner) for owner in allowed}

    def _runs_as(self, caller: Caller, owner: str) -> Account:
        """The server's own account may name users who have no account: their jobs run as it. No other caller, not even an
        administrator, can have anything run as the server's account."""
        if owner == caller.name:
            account = caller.account
        else:
            account = self._account(self.unix_of(owner))
            is_itself = caller.is_admin and caller.account == SERVER_ACCOUNT
            if account == (NO_ACCOUNT if is_itself else SERVER_ACCOUNT):
                account = SERVER_ACCOUNT if is_itself else NO_ACCOUNT
        if account == NO_ACCOUNT:
            runs_as = "ACCOUNT" if self.is_root else self.own.name
            raise NotPermitted("user.no_account", user=owner, unix=runs_as)
        return account

    # -- accounts ---------------------------------------------------------------------------------------------------

    async def add(
        self,
        by: Who,
        names: list[str],
        unix: str | None = None,
        is_admin: bool = False,
        own: dict[str, str] | None = None,
    ) -> list[AccountRow]:
        """Add users, all or none. Each is linked to the UNIX account of their name, unless `unix` or `own` names another."""
        for name in names:
            check_user(name)
            self.check_manages(by, name)
            if name in self.accounts:
                raise Conflict("user.exists", user=name)
        linked = {name: self._linked(name, (own or {}).get(name, unix)) for name in names}
        now = self._now_ms()
        rows = [AccountRow(n, account, None, is_admin or self._always_rules(n), False, now) for n, account in linked.items()]
        owners: dict[str, str] = {}
        for row in rows:
            self._check_link(row, by)
            if row.unix is not None and (twin := owners.setdefault(row.unix, row.name)) != row.name:
                raise Conflict("user.account_twice", unix=row.unix, user=twin, other=row.name)
        lines = [self._line(by, "user add", row.name, f"unix={row.unix or 'none'}" + " admin" * is_admin) for row in rows]
        strangers = [row.name for row in rows if row.unix != row.name]  # that name was another person's here before
        await self._write(*map(kept.put, rows), *self._leave(strangers), *lines)
        self.accounts.update({row.name: row for row in rows})
        self._left(strangers)
        return rows

    def _linked(self, name: str, unix: str | None) -> str | None:
        if unix is not None:
            return None if unix == "none" else unix
        return name if unix_name(name) is not None else None

    def _check_link(self, row: AccountRow, by: Who) -> None:
        known = self.accounts.get(row.name)
        if row.unix is None or (known is not None and known.unix == row.unix):
            return
        if (unix := unix_name(row.unix)) is None:
            raise NotFound("user.no_such_account", unix=row.unix)
        if unix.uid in (0, self.own.uid) and by.account != SERVER_ACCOUNT:
            raise NotPermitted("user.only_root", user=row.name, unix=row.unix, account=self.own.name)
        other = self._row_of(row.unix)
        if other is not None and other.name != row.name:
            raise Conflict("user.account_linked", unix=row.unix, user=other.name)

    def check_manages(self, by: Who, name: str) -> None:
        """Raise unless they may say who that user is. One who is root or has the server's own account is managed by that
        account alone: a password or a link of theirs makes its owner the server's account."""
        unix = self.unix_of(name)
        is_servers = self._always_rules(name) or (unix is not None and unix.uid in (0, self.own.uid))
        if is_servers and by.account != SERVER_ACCOUNT:
            raise NotPermitted("user.only_server_account", user=name, account=self.own.name)

    async def change(self, by: Who, name: str, **changes: Any) -> AccountRow:
        """Change a user: `unix`, `is_admin`, `is_locked`. A user that only the kernel knew gets a row by that."""
        check_user(name)
        self.check_manages(by, name)
        known = self.accounts.get(name)
        row = known or self._fresh(name)
        if known is None and row.unix is None:
            raise NotFound("user.not_found", user=name)
        before, row = row, msgspec.structs.replace(row, **changes)
        if self._always_rules(name) and changes.get("is_admin") is False:
            raise Conflict("user.always_admin", user=name)
        self._check_link(row, by)
        if row.is_locked or not row.is_admin:
            self._check_not_last(row, by)
        detail = " ".join(f"{key.removeprefix('is_')}={_word(value)}" for key, value in changes.items())
        # Locked, or another person now: earlier tokens, sessions and links no longer work.
        leaving = [name] if row.is_locked or row.unix != before.unix else []
        await self._write(kept.put(row), *self._leave(leaving), self._line(by, "user change", name, detail))
        self.accounts[name] = row
        self._left(leaving)
        return row

    def _check_not_last(self, row: AccountRow, by: Who) -> None:
        """Refuse to let users lock themselves out by mistake."""
        if row.name == by.name and row.is_locked:
            raise Conflict("user.lock_yourself")

    async def delete(self, by: Who, names: list[str]) -> None:
        """Remove users: accounts, tokens, sessions, links, defaults. What they did stays in the history."""
        for name in names:
            check_user(name)
            if name == by.name:
                raise Conflict("user.delete_yourself")
            self.check_manages(by, name)
            if name not in self.accounts and unix_name(name) is None:
                raise NotFound("user.not_found", user=name)
        gone = [kept.drop(schema.accounts, "name", names), kept.drop(schema.defaults, "user", names), *self._leave(names)]
        await self._write(*gone, *(self._line(by, "user del", name, "") for name in names))
        for name in names:
            self.accounts.pop(name, None)
            self.defaults.pop(name, None)
            self._seen.pop(name, None)
        self._left(names)

    async def set_password(self, by: Who, name: str, password_hash: str, keep: str | None = None) -> None:
        """Store the hash of a new password. What the old one may have made ends, but for the secret with the digest `keep`:
        sessions, links, and tokens that did not begin on the server's machine."""
        before = self.accounts.get(name) or self._fresh(name)
        row = msgspec.structs.replace(before, password=password_hash)
        mine = [t for t in self.tokens.values() if t.user == name and t.digest != keep and before.password is not None]
        ended = {t.digest for t in mine if t.began != "here"}
        ended |= {s.digest for s in self._sessions.values() if s.user == name and s.digest != keep}
        ended |= {link.digest for link in self._links.values() if link.user == name}
        await self._write(kept.put(row), *self._end(ended), self._line(by, "password", name, ""))
        self.accounts[name] = row
        self._ended(ended)

    def _end(self, digests: Collection[str]) -> list[Executable]:
        """Remove these tokens, sessions and links."""
        return [kept.drop(table, "digest", sorted(digests)) for table in (schema.tokens, schema.sessions, schema.links)]

    def _ended(self, digests: Collection[str]) -> None:
        for rows in (self.tokens, self._sessions, self._links):
            for digest in rows.keys() & digests:
                del rows[digest]

    def _leave(self, names: list[str]) -> list[Executable]:
        return [kept.drop(table, "user", names) for table in (schema.tokens, schema.sessions, schema.links)]

    def _left(self, names: list[str]) -> None:
        self.tokens = {d: row for d, row in self.tokens.items() if row.user not in names}
        self._sessions = {d: row for d, row in self._sessions.items() if row.user not in names}
        self._links = {d: row for d, row in self._links.items() if row.user not in names}
        for tell in list(self.on_leave):
            for name in names:
                tell(name)

    # -- secrets ----------------------------------------------------------------------------------------------------

    async def new_token(self, caller: Caller, label: str, lives_s: int | None, scope: str = OPERATE) -> tuple[TokenRow, str]:
        """A token for the caller, shown once. One that is made with a token ends with it."""
        if not label.strip() or len(label) > 100 or not label.isprintable():
            raise BadRequest("token.bad_label", label=repr(label[:40]))
        if sum(row.user == caller.name for row in self.tokens.values()) >= MAX_TOKENS:
            raise Conflict("token.limit", user=caller.name, limit=MAX_TOKENS)
        secret, now = TOKEN_PREFIX + secrets.token_urlsafe(30), self._now_ms()
        expires = soonest(None if lives_s is None else now + 1000 * lives_s, self._end_of(caller.parent))
        row = TokenRow(0, caller.name, label, digest_of(secret), now, expires, None, scope, caller.began, caller.parent)
        await self._write(kept.add(row), self._line(caller.who, "token new", label, scope))
        found = await asyncio.to_thread(self._store.read, kept.token, row.digest)
        assert found is not None
        self.tokens[row.digest] = found
        return found, secret

    async def revoke(self, caller: Caller, token_id: int) -> TokenRow:
        """Revoke a token, and what was made with it: the caller's own, or any for an administrator."""
        row = next((t for t in self.tokens.values() if t.id == token_id), None)
        if row is None or (row.user != caller.name and not caller.is_admin):
            raise NotFound("token.not_found", token=token_id)
        ended = with_descendants(self.tokens.values(), [row.digest])
        begun: list[SessionRow | LinkRow] = [*self._sessions.values(), *self._links.values()]
        ended |= {one.digest for one in begun if one.parent in ended}
        await self._write(*self._end(ended), self._line(caller.who, "token revoke", row.label, f"of {row.user}"))
        self._ended(ended)
        return row

    async def end_everything(self, caller: Caller) -> tuple[int, int]:
        """End every token, session and link of the caller, this one too; how many tokens and sessions that were."""
        name = caller.name
        count = [sum(row.user == name for row in rows.values()) for rows in (self.tokens, self._sessions)]
        detail = f"tokens={count[0]} sessions={count[1]}"
        await self._write(*self._leave([name]), self._line(caller.who, "logout all", name, detail))
        self._left([name])
        return count[0], count[1]

    def _end_of(self, parent: str | None) -> int | None:
        """When the token ends that something depends on. One that was revoked meanwhile has ended."""
        if parent is None:
            return None
        if (row := self.tokens.get(parent)) is None:
            raise NotKnown("token.not_valid")
        return row.expires_ms

    async def new_session(self, name: str, address: str, via: str, parent: str | None = None) -> tuple[SessionRow, str]:
        """Begin a session for a browser that has logged in; the secret for its cookie. `parent` is that of the link."""
        secret, now = secrets.token_urlsafe(32), self._now_ms()
        ends = soonest(now + 3_600_000 * int(self._setting("login.session_h")), self._end_of(parent))
        assert ends is not None
        row = SessionRow(digest_of(secret), name, secrets.token_urlsafe(24), address, now, ends, parent)
        await self._write(kept.put(row), self._line(Who(name, False, via, address), "login", name, ""))
        self._sessions[row.digest] = row
        return row, secret

    def was_here(self, name: str, address: str) -> bool:
        """Whether that user logged in from that address before, in a session that has not ended."""
        return any(row.user == name and row.address == address for row in self._sessions.values())

    async def end_session(self, caller: Caller) -> None:
        """Log out."""
        if caller.secret in self._sessions:
            await self._write(
                kept.drop(schema.sessions, "digest", [caller.secret]), self._line(caller.who, "logout", caller.name, "")
            )
            self._sessions.pop(caller.secret or "", None)

    async def new_link(self, by: Who, user: str | None, purpose: str, parent: str | None = None) -> str:
        """The code of a new one-time link. An earlier one for the same purpose stops working. `parent` is the caller's."""
        if user is not None and user != by.name:
            self.check_manages(by, user)
        elif purpose == PASSWORD and by.via not in ("socket", "server"):
            raise NotPermitted("login.own_link")  # the old password would not be asked for
        code, now = secrets.token_urlsafe(24), self._now_ms()
        ends = soonest(now + LINK_LIVES_MS[purpose], self._end_of(parent))
        assert ends is not None
        row = LinkRow(digest_of(code), user, purpose, now, ends, parent)
        old = [r.digest for r in self._links.values() if (r.user, r.purpose) == (user, purpose) or r.expires_ms <= now]
        lines = [self._line(by, "link", user or "first administrator", purpose)] if by.name else []
        await self._write(kept.drop(schema.links, "digest", old), kept.put(row), *lines)
        for digest in old:
            del self._links[digest]
        self._links[row.digest] = row
        return code

    def link(self, code: str) -> LinkRow:
        """What a one-time link is for; asking does not use it up."""
        row = self._links.get(digest_of(code))
        if row is None or row.expires_ms <= self._now_ms():
            raise NotFound("login.link_void")
        if row.purpose == FIRST and self.has_administrator:
            raise NotFound("login.has_administrator")
        self._check_lock(self.accounts.get(row.user or ""))
        return row

    async def use_link(self, code: str) -> LinkRow:
        """Use it up."""
        row = self.link(code)
        del self._links[row.digest]
        await self._write(kept.drop(schema.links, "digest", [row.digest]))
        return row

    @property
    def has_administrator(self) -> bool:
        """Whether there is an administrator who can log in from elsewhere."""
        able = (row.name for row in self.accounts.values() if row.password and not row.is_locked)
        return any(map(self.is_administrator, able))

    # -- defaults, notice, audit ------------------------------------------------------------------------------------

    async def set_defaults(self, by: Who, user: str, values: dict[str, Any]) -> None:
        """Store the defaults of a user's jobs."""
        data = msgspec.json.encode(values).decode() if values else None
        await self._write(
            kept.put_text(schema.defaults, user, data), self._line(by, "defaults", user, " ".join(sorted(values)))
        )
        self.defaults[user] = values

    async def set_notice(self, by: Who, text: str | None) -> None:
        """Store the notice that all users see; None removes it."""
        notice = None if text is None else {"text": text, "by": by.name, "at_ms": self._now_ms()}
        value = None if notice is None else msgspec.json.encode(notice).decode()
        await self._write(kept.put_text(schema.meta, "notice", value), self._line(by, "notice", text or "none", ""))
        self.notice = notice

    async def note(self, by: Who, action: str, target: str, detail: str = "") -> None:
        """Write a line of the audit about something done elsewhere."""
        await self._write(self._line(by, action, target, detail))

    async def tidy(self) -> None:
        """Store when tokens were used; remove what has expired."""
        now, used = self._now_ms(), self._used
        self._used = {}
        dead = [s.digest for s in self._sessions.values() if s.expires_ms <= now]
        if days := int(self._setting("audit.keep_days")):
            since = now - 86_400_000 * max(days, MIN_AUDIT_DAYS)
            await asyncio.to_thread(self._store.transact, audit.forget, since)
        await self._write(*kept.used(used), kept.drop(schema.sessions, "digest", dead))
        for digest in dead:
            self._sessions.pop(digest, None)
        for row in list(self.tokens.values()):
            if row.id in used:
                self.tokens[row.digest] = msgspec.structs.replace(row, used_ms=used[row.id])

    def _line(self, by: Who, action: str, target: str, detail: str) -> AuditRow:
        return AuditRow(0, self._now_ms(), by.name, by.via, by.address, action, target, detail)

    async def _write(self, *changes: Executable | AuditRow) -> None:
        statements = [change for change in changes if not isinstance(change, AuditRow)]
        said = [change for change in changes if isinstance(change, AuditRow)]
        try:
            await asyncio.to_thread(lambda: self._store.change(*statements, said=said))
        except CommitFailed as error:
            raise error.refusal() from None
        for tell in list(self.on_change):
            asyncio.get_running_loop().call_soon(tell)  # after the caller has applied it


def _word(value: Any) -> str:
    """A value as the audit shows it."""
    return {True: "yes", False: "no", None: "none"}.get(value, str(value))


def digest_of(secret: str) -> str:
    """What is stored of a secret. It is long and random, so a plain hash is enough."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
