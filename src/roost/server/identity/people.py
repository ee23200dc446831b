"""People: who may speak to this server, what each may, and as which UNIX account his jobs run.

Everything about them is in memory, as the store has it; a change is written first and known after. The kernel's word on a
UNIX socket needs no secret; from elsewhere it is a token, or a session that a password or a one-time link began. Only the
hashes of secrets are kept. Knows nothing of HTTP and of jobs.
"""

import asyncio
import hashlib
import os
import secrets
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from sqlalchemy import Executable

from roost.answers.login import You
from roost.answers.users import Notice
from roost.core.accounts import NO_ACCOUNT, SERVER_ACCOUNT, Account
from roost.core.errors import BadRequest, Conflict, DiskFull, NotFound, NotKnown, NotPermitted, TryLater
from roost.core.users import check_user
from roost.server.clock import rfc3339
from roost.server.identity.unix_accounts import Unix, unix_name, unix_of_uid
from roost.server.rounds.commands import Who
from roost.store import people as kept
from roost.store import schema
from roost.store.rows import AccountRow, AuditRow, LinkRow, SessionRow, TokenRow
from roost.store.store import CommitFailed, Store

TOKEN_PREFIX = "roost_"
PASSWORD, LOGIN, FIRST = "password", "login", "first"
"""What a one-time link is for: to choose a password, to log in once, to become the first administrator."""
LINK_LIVES_MS = {PASSWORD: 7 * 86_400_000, LOGIN: 300_000, FIRST: 86_400_000}
MAX_TOKENS = 100
"""Of one user."""


class Caller(msgspec.Struct, frozen=True):
    """Who asks, by whose word, and what he may."""

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
    """The digest of the token or session by which he is known; None: the kernel knows him."""

    @property
    def who(self) -> Who:
        """The same, for commands and for the audit."""
        return Who(self.name, self.is_admin, self.via, self.address, self.account)


class People:
    """Everybody of this server."""

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
        """What everybody is to see: `text`, `by`, `at_ms`."""
        self._used: dict[int, int] = {}
        self._seen: dict[str, int] = {}
        self.on_leave: set[Callable[[str], None]] = set()
        """Told whose sessions and tokens have just ended."""
        self.on_change: set[Callable[[], None]] = set()
        """Told that something about people has been written, once it is known here too."""

    @property
    def itself(self) -> Caller:
        """The server, where it acts of its own accord."""
        return Caller(self.own.name, True, "server", "", self.own.home, SERVER_ACCOUNT, self.own.name)

    # -- who is it --------------------------------------------------------------------------------------------------

    def by_uid(self, uid: int) -> Caller:
        """The account behind a UNIX socket, when this server serves it."""
        unix = unix_of_uid(uid)
        if uid in (self.own.uid, 0):
            row = self._row_of(unix.name)
            name = row.name if row is not None else unix.name
            return Caller(name, True, "socket", "", unix.home, SERVER_ACCOUNT, unix.name)
        if not self.is_root:
            raise NotPermitted(f"this server belongs to {self.own.name}", "`roost up` starts one of your own")
        return self._served(unix)

    def _served(self, unix: Unix) -> Caller:
        if not unix.is_named:
            raise NotPermitted(f"uid {unix.uid} has no account on this machine", "its administrator makes one: useradd")
        row = self._row_of(unix.name)
        if row is None and (same := self.accounts.get(unix.name)) is not None:
            raise NotPermitted(
                f"the name {same.name} is another's here",
                f"an administrator ties it: roost user set {same.name} --unix {unix.name}",
            )
        if row is None and self._setting("users.admit") == "known":
            raise NotPermitted(f"{unix.name} is not known here", f"an administrator adds you: roost user add {unix.name}")
        self._check_lock(row)
        name = row.name if row is not None else unix.name
        return Caller(name, row is not None and row.is_admin, "socket", "", unix.home, Account(unix.name), unix.name)

    def by_token(self, secret: str, address: str) -> Caller:
        """Who has that token."""
        row = self.tokens.get(digest_of(secret))
        now = self._now_ms()
        if row is None or (row.expires_ms is not None and row.expires_ms <= now):
            raise NotKnown("this token is not valid, or not any more", "roost token new, on the server's own machine")
        self._used[row.id] = now
        return self._known(row.user, f"token {row.label}", address, secret=row.digest)

    def by_session(self, secret: str, address: str) -> Caller | None:
        """Whose session it is; None when there is none any more."""
        row = self._sessions.get(digest_of(secret))
        if row is None or row.expires_ms <= self._now_ms():
            return None
        return self._known(row.user, "session", address, row.csrf, row.digest)

    def _known(self, name: str, via: str, address: str, csrf: str | None = None, secret: str | None = None) -> Caller:
        """Somebody whom a secret names. He is what he would be on the machine itself."""
        row = self.accounts.get(name)
        self._check_lock(row)
        unix = self.unix_of(name)
        home = unix.home if unix is not None else "/"
        account = self._account(unix)
        return Caller(
            name, self.is_administrator(name), via, address, home, account, unix.name if unix else None, csrf, secret
        )

    def saw(self, caller: Caller) -> None:
        """He is here now."""
        self._seen[caller.name] = self._now_ms()

    def last_seen(self) -> dict[str, int]:
        """When each was last here: since the server started, else by his logins and tokens."""
        logins = [(row.user, row.created_ms) for row in self._sessions.values()]
        tokens = [(row.user, row.used_ms) for row in self.tokens.values() if row.used_ms is not None]
        found = dict(sorted([*logins, *tokens], key=lambda pair: pair[1]))
        return found | self._seen

    def is_administrator(self, name: str) -> bool:
        """Whether he may act on all: by an administrator's word, or because the server is his, or he is root."""
        row = self.accounts.get(name)
        return row.is_admin if row is not None else self._is_ruler(name)

    def _is_ruler(self, name: str) -> bool:
        """Whether that is the name of the server's own account, or root's. Being tied to it does not make one so."""
        unix = unix_name(name)
        return unix is not None and unix.uid in (0, self.own.uid)

    def _fresh(self, name: str) -> AccountRow:
        """A row for somebody whom only the kernel knows so far."""
        unix = unix_name(name)
        return AccountRow(name, unix.name if unix is not None else None, None, self._is_ruler(name), False, self._now_ms())

    def is_admitted(self, name: str) -> bool:
        """Whether the kernel's word alone would let somebody of that name in, were he not known."""
        return self.is_root and self._setting("users.admit") == "everybody" and unix_name(name) is not None

    def is_current(self, caller: Caller) -> bool:
        """Whether he would still be let in: for streams that outlive the request that began them."""
        return self.why_gone(caller) is None

    def why_gone(self, caller: Caller) -> str | None:
        """Why he would not be let in any more: `locked`, `expired` or `ended`; None: he would."""
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
        """Whether he is an administrator now, whatever he was when he came."""
        return (
            caller.is_admin
            if caller.via == "socket" and caller.account == SERVER_ACCOUNT
            else self.is_administrator(caller.name)
        )

    def _row_of(self, unix: str) -> AccountRow | None:
        """Who is tied to that UNIX account."""
        row = self.accounts.get(unix)
        if row is not None and row.unix == unix:
            return row
        return next((other for other in self.accounts.values() if other.unix == unix), None)

    def _check_lock(self, row: AccountRow | None) -> None:
        if row is not None and row.is_locked:
            raise NotPermitted(f"{row.name} is locked", "ask an administrator: roost user unlock " + row.name)

    def you(self, caller: Caller) -> You:
        """Who the caller is, what they may do, and as which account their jobs run; None: no account, they are refused."""
        runs_as = None if caller.account == NO_ACCOUNT else caller.account or self.own.name
        return You(user=caller.name, admin=caller.is_admin, via=caller.via, unix=caller.unix, runs_as=runs_as)

    def shown_notice(self) -> Notice | None:
        """What everybody is to see."""
        found = self.notice
        return None if found is None else Notice(found["text"], found["by"], rfc3339(found["at_ms"]))

    def check_known(self, name: str) -> None:
        """Raise `NotFound` unless there is such a user, or an account on this machine that may become one."""
        check_user(name)
        if name not in self.accounts and self.unix_of(name) is None:
            raise NotFound(f"there is no user {name}", f"roost user add {name}")

    # -- as whom ----------------------------------------------------------------------------------------------------

    def unix_of(self, name: str) -> Unix | None:
        """The UNIX account that a user is tied to: by an administrator's word, or because the kernel knows him so."""
        row = self.accounts.get(name)
        if row is not None:
            return unix_name(row.unix) if row.unix is not None else None
        return unix_name(name)

    def _account(self, unix: Unix | None) -> Account:
        if unix is not None and unix.uid == self.own.uid:
            return SERVER_ACCOUNT
        return Account(unix.name) if unix is not None and self.is_root else NO_ACCOUNT

    def same_unix(self, name: str) -> Unix | None:
        """The UNIX account whose password is this user's too: his own, tied to nobody else, and served here."""
        unix = self.unix_of(name)
        if unix is None or (self._setting("users.admit") == "known" and name not in self.accounts):
            return None
        tied = self._row_of(unix.name)
        return unix if tied is None or tied.name == name else None

    def accounts_for(self, caller: Caller, owners: Iterable[str | None]) -> dict[str, Account]:
        """As whom the jobs of these users run; None is the caller. Raises when one of them has nobody to run as."""
        names = {owner or caller.name for owner in owners}
        allowed = names if caller.is_admin else names & {caller.name}  # for others: refused where the jobs are queued
        return {owner: self._runs_as(caller, owner) for owner in allowed}

    def _runs_as(self, caller: Caller, owner: str) -> Account:
        """The server's own account may name people who have none: their jobs run as itself. Nobody else can have anything
        run as it, administrators neither."""
        if owner == caller.name:
            account = caller.account
        else:
            account = self._account(self.unix_of(owner))
            is_itself = caller.is_admin and caller.account == SERVER_ACCOUNT
            if account == (NO_ACCOUNT if is_itself else SERVER_ACCOUNT):
                account = SERVER_ACCOUNT if is_itself else NO_ACCOUNT
        if account == NO_ACCOUNT:
            runs_as = "ACCOUNT" if self.is_root else self.own.name
            raise NotPermitted(
                f"no UNIX account is tied to {owner}, so there is nobody to run the job as",
                f"an administrator ties one: roost user set {owner} --unix {runs_as}",
            )
        return account

    # -- accounts ---------------------------------------------------------------------------------------------------

    async def add(
        self, by: Who, names: list[str], unix: str | None = None, is_admin: bool = False, ties: dict[str, str] | None = None
    ) -> list[AccountRow]:
        """Add users, all or none. Each is tied to the UNIX account of his name, unless `unix` or `ties` name another."""
        for name in names:
            check_user(name)
            if name in self.accounts:
                raise Conflict(f"{name} is there already", f"roost user show {name}")
        tied = {name: self._tied(name, (ties or {}).get(name, unix)) for name in names}
        now = self._now_ms()
        rows = [AccountRow(n, account, None, is_admin or self._is_ruler(n), False, now) for n, account in tied.items()]
        owners: dict[str, str] = {}
        for row in rows:
            self._check_tie(row, by)
            if row.unix is not None and (twin := owners.setdefault(row.unix, row.name)) != row.name:
                raise Conflict(f"{row.unix} cannot be tied to {twin} and to {row.name}", "one UNIX account is for one user")
        lines = [self._line(by, "user add", row.name, f"unix={row.unix or 'none'}" + " admin" * is_admin) for row in rows]
        strangers = [row.name for row in rows if row.unix != row.name]  # whoever had that name here before is another
        await self._write(*map(kept.put, rows), *self._leave(strangers), *lines)
        self.accounts.update({row.name: row for row in rows})
        self._left(strangers)
        return rows

    def _tied(self, name: str, unix: str | None) -> str | None:
        if unix is not None:
            return None if unix == "none" else unix
        return name if unix_name(name) is not None else None

    def _check_tie(self, row: AccountRow, by: Who) -> None:
        known = self.accounts.get(row.name)
        if row.unix is None or (known is not None and known.unix == row.unix):
            return
        if (unix := unix_name(row.unix)) is None:
            raise NotFound(f"this machine has no account {row.unix}", "--unix none: without one; no job can be run then")
        if self.is_root and unix.uid == 0 and by.account != SERVER_ACCOUNT:
            raise NotPermitted("only root ties a user to root", f"sudo roost user set {row.name} --unix {row.unix}")
        other = self._row_of(row.unix)
        if other is not None and other.name != row.name:
            raise Conflict(f"{row.unix} is tied to {other.name} already", f"roost user set {other.name} --unix none")

    async def change(self, by: Who, name: str, **changes: Any) -> AccountRow:
        """Change a user: `unix`, `is_admin`, `is_locked`. Somebody only the kernel knows gets a row by that."""
        check_user(name)
        known = self.accounts.get(name)
        row = known or self._fresh(name)
        if known is None and row.unix is None:
            raise NotFound(f"there is no user {name}", f"roost user add {name}")
        before, row = row, msgspec.structs.replace(row, **changes)
        if self._is_ruler(name) and changes.get("is_admin") is False:
            raise Conflict(f"{name} always is an administrator: the server is his, or he is root")
        self._check_tie(row, by)
        if row.is_locked or not row.is_admin:
            self._check_not_last(row, by)
        detail = " ".join(f"{key.removeprefix('is_')}={_word(value)}" for key, value in changes.items())
        # Locked, or another person now: what opened the door before opens it no more.
        leaving = [name] if row.is_locked or row.unix != before.unix else []
        await self._write(kept.put(row), *self._leave(leaving), self._line(by, "user change", name, detail))
        self.accounts[name] = row
        self._left(leaving)
        return row

    def _check_not_last(self, row: AccountRow, by: Who) -> None:
        """Nobody locks himself out by mistake."""
        if row.name == by.name and row.is_locked:
            raise Conflict("you would lock yourself out", "another administrator can do it")

    async def delete(self, by: Who, names: list[str]) -> None:
        """Forget users: accounts, tokens, sessions, links, defaults. What they did stays in the history."""
        for name in names:
            check_user(name)
            if name == by.name:
                raise Conflict("you would delete yourself", "another administrator can do it")
            if name not in self.accounts and unix_name(name) is None:
                raise NotFound(f"there is no user {name}", "roost user ls")
        gone = [kept.drop(schema.accounts, "name", names), kept.drop(schema.defaults, "user", names), *self._leave(names)]
        await self._write(*gone, *(self._line(by, "user del", name, "") for name in names))
        for name in names:
            self.accounts.pop(name, None)
            self.defaults.pop(name, None)
            self._seen.pop(name, None)
        self._left(names)

    async def set_password(self, by: Who, name: str, password_hash: str, keep: str | None = None) -> None:
        """Keep the hash of a new password; sessions that the old one began end, but for the one with that digest."""
        row = msgspec.structs.replace(self.accounts.get(name) or self._fresh(name), password=password_hash)
        others = [s.digest for s in self._sessions.values() if s.user == name and s.digest != keep]
        ended = kept.drop(schema.sessions, "digest", others)
        await self._write(kept.put(row), ended, self._line(by, "password", name, ""))
        self.accounts[name] = row
        for digest in others:
            del self._sessions[digest]

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

    async def new_token(self, caller: Caller, label: str, lives_s: int | None) -> tuple[TokenRow, str]:
        """A token for the caller, told once."""
        if not label.strip() or len(label) > 100 or not label.isprintable():
            raise BadRequest(f"not a label for a token: {label[:40]!r}", "a few words, like laptop")
        if sum(row.user == caller.name for row in self.tokens.values()) >= MAX_TOKENS:
            raise Conflict(f"{caller.name} has {MAX_TOKENS} tokens already", "roost token ls, roost token revoke ID")
        secret, now = TOKEN_PREFIX + secrets.token_urlsafe(30), self._now_ms()
        expires = None if lives_s is None else now + 1000 * lives_s
        row = TokenRow(0, caller.name, label, digest_of(secret), now, expires, None)
        await self._write(kept.add(row), self._line(caller.who, "token new", label, ""))
        found = await asyncio.to_thread(self._store.read, kept.token, row.digest)
        assert found is not None
        self.tokens[row.digest] = found
        return found, secret

    async def revoke(self, caller: Caller, token_id: int) -> TokenRow:
        """End a token: one's own, or anybody's for an administrator."""
        row = next((t for t in self.tokens.values() if t.id == token_id), None)
        if row is None or (row.user != caller.name and not caller.is_admin):
            raise NotFound(f"there is no token {token_id}", "roost token ls")
        await self._write(
            kept.drop(schema.tokens, "id", [row.id]), self._line(caller.who, "token revoke", row.label, f"of {row.user}")
        )
        self.tokens.pop(row.digest, None)
        return row

    async def new_session(self, name: str, address: str, via: str) -> tuple[SessionRow, str]:
        """A browser has logged in; the secret for its cookie."""
        secret, now = secrets.token_urlsafe(32), self._now_ms()
        ends = now + 3_600_000 * int(self._setting("login.session_h"))
        row = SessionRow(digest_of(secret), name, secrets.token_urlsafe(24), address, now, ends)
        await self._write(kept.put(row), self._line(Who(name, False, via, address), "login", name, ""))
        self._sessions[row.digest] = row
        return row, secret

    def was_here(self, name: str, address: str) -> bool:
        """Whether somebody has come in as that user from that address, and is still logged in."""
        return any(row.user == name and row.address == address for row in self._sessions.values())

    async def end_session(self, caller: Caller) -> None:
        """Log out."""
        if caller.secret in self._sessions:
            await self._write(
                kept.drop(schema.sessions, "digest", [caller.secret]), self._line(caller.who, "logout", caller.name, "")
            )
            self._sessions.pop(caller.secret or "", None)

    async def new_link(self, by: Who, user: str | None, purpose: str) -> str:
        """A one-time link; the code of it. An earlier one for the same is void."""
        code, now = secrets.token_urlsafe(24), self._now_ms()
        row = LinkRow(digest_of(code), user, purpose, now, now + LINK_LIVES_MS[purpose])
        old = [r.digest for r in self._links.values() if (r.user, r.purpose) == (user, purpose) or r.expires_ms <= now]
        lines = [self._line(by, "link", user or "first administrator", purpose)] if by.name else []
        await self._write(kept.drop(schema.links, "digest", old), kept.put(row), *lines)
        for digest in old:
            del self._links[digest]
        self._links[row.digest] = row
        return code

    def link(self, code: str) -> LinkRow:
        """What a one-time link is for; it is not used up by the question."""
        row = self._links.get(digest_of(code))
        if row is None or row.expires_ms <= self._now_ms():
            raise NotFound("this link was used already, or is too old", "ask for a new one: roost web, or an administrator")
        if row.purpose == FIRST and self.has_administrator:
            raise NotFound("there is an administrator already", "log in, or ask for a link: roost web")
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
        """Whether anybody can log in from elsewhere and rule."""
        able = (row.name for row in self.accounts.values() if row.password and not row.is_locked)
        return any(map(self.is_administrator, able))

    # -- small things -----------------------------------------------------------------------------------------------

    async def set_defaults(self, by: Who, user: str, values: dict[str, Any]) -> None:
        """Keep what a user's jobs are like unless he says otherwise."""
        data = msgspec.json.encode(values).decode() if values else None
        await self._write(
            kept.put_text(schema.defaults, user, data), self._line(by, "defaults", user, " ".join(sorted(values)))
        )
        self.defaults[user] = values

    async def set_notice(self, by: Who, text: str | None) -> None:
        """Keep what everybody is to see."""
        notice = None if text is None else {"text": text, "by": by.name, "at_ms": self._now_ms()}
        value = None if notice is None else msgspec.json.encode(notice).decode()
        await self._write(kept.put_text(schema.meta, "notice", value), self._line(by, "notice", text or "none", ""))
        self.notice = notice

    async def note(self, by: Who, action: str, target: str, detail: str = "") -> None:
        """A line of the audit about what was done elsewhere."""
        await self._write(self._line(by, action, target, detail))

    async def tidy(self) -> None:
        """Keep when tokens were used; forget what is over."""
        now, used = self._now_ms(), self._used
        self._used = {}
        dead = [s.digest for s in self._sessions.values() if s.expires_ms <= now]
        days = int(self._setting("audit.keep_days"))
        old = [kept.forget_audit(now - 86_400_000 * days)] if days else []
        await self._write(*kept.used(used), kept.drop(schema.sessions, "digest", dead), *old)
        for digest in dead:
            self._sessions.pop(digest, None)
        for row in list(self.tokens.values()):
            if row.id in used:
                self.tokens[row.digest] = msgspec.structs.replace(row, used_ms=used[row.id])

    def _line(self, by: Who, action: str, target: str, detail: str) -> Executable:
        return kept.add(AuditRow(0, self._now_ms(), by.name, by.via, by.address, action, target, detail))

    async def _write(self, *statements: Executable) -> None:
        try:
            await asyncio.to_thread(self._store.change, *statements)
        except CommitFailed as error:
            raise (DiskFull(str(error), "free some space") if error.disk_full else TryLater(str(error))) from None
        for tell in list(self.on_change):
            asyncio.get_running_loop().call_soon(tell)  # after whoever wrote it has taken it in


def _word(value: Any) -> str:
    """A value as the audit says it."""
    return {True: "yes", False: "no", None: "none"}.get(value, str(value))


def digest_of(secret: str) -> str:
    """What is kept of a secret. It is long and random, so a plain hash does."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
