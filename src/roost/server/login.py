"""Coming in from elsewhere: a password, or a one-time link. Slowed down for whoever guesses.

Ways to check a password stand behind one small port, `Checks`: Roost's own hashes, and PAM for UNIX accounts.
"""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

from roost.core.errors import BadRequest, NotKnown, NotPermitted, TooFast
from roost.core.users import check_user
from roost.server.commands import Who
from roost.server.passwords import hashed, is_right, why_weak
from roost.server.people import FIRST, LOGIN, Caller, People
from roost.server.throttle import Throttle

AT_ONCE = 2
"""Passwords that are checked at the same time: each takes 64 MiB and a tenth of a second of a core."""
WAITING = 50
"""Logins that may wait for that; more are asked to come later."""


class Checks(Protocol):
    """A way to check passwords. Called in a thread."""

    def knows(self, user: str) -> bool:
        """Whether it is this one's business."""

    def is_right(self, user: str, password: str) -> bool:
        """Whether that is the user's password. Must not raise for a wrong one."""


class Own:
    """The passwords that users have set here."""

    def __init__(self, people: People) -> None:
        self._people = people

    def knows(self, user: str) -> bool:
        return True

    def is_right(self, user: str, password: str) -> bool:
        row = self._people.accounts.get(user)
        return is_right(password, row.password if row is not None else None)


class Login:
    """The entrance of one server."""

    def __init__(self, people: People, *others: Checks) -> None:
        self._people = people
        self._checks: tuple[Checks, ...] = (*others, Own(people))
        self._throttle = Throttle()
        self._room = asyncio.Semaphore(AT_ONCE)
        self._waiting = 0

    async def by_password(self, user: str, password: str, address: str) -> str:
        """The user's name, when that is his password. Says the same of a wrong name and a wrong password."""
        check_user(user)
        self._check_pace(user, address)
        if not await self._is_right(user, password):
            self._throttle.failed(user, address, time.monotonic())
            await self._people.note(Who(user, False, "password", address), "login refused", user)
            raise NotKnown("user or password is wrong", "roost web on the server's machine makes a link to log in with")
        self._throttle.succeeded(user)
        row = self._people.accounts.get(user)
        if row is not None and row.is_locked:
            raise NotPermitted(f"{user} is locked", "ask an administrator")
        return user

    def _check_pace(self, user: str, address: str) -> None:
        if (wait_s := self._throttle.wait_s(user, address, time.monotonic())) > 0:
            raise TooFast("too many wrong passwords", wait_s)
        if self._waiting >= WAITING:
            raise TooFast("too many logins at once", 5)

    async def _is_right(self, user: str, password: str) -> bool:
        self._waiting += 1
        try:
            async with self._room:
                return any([await asyncio.to_thread(c.is_right, user, password) for c in self._checks if c.knows(user)])
        finally:
            self._waiting -= 1

    async def by_link(self, code: str, name: str | None, password: str | None, address: str) -> str:
        """Use a one-time link; the name of whoever is logged in by it."""
        link = self._people.link(code)
        user = link.user or name
        if user is None:
            raise BadRequest("the first administrator needs a name", "name, and a password of your choice")
        check_user(user)
        if link.purpose == LOGIN:
            await self._people.use_link(code)
            return user
        password_hash = await self._new_hash(user, password)
        await self._people.use_link(code)
        by = Who(user, link.purpose == FIRST, "link", address)
        if link.purpose == FIRST:
            await self._make_first(by, user)
        await self._people.set_password(by, user, password_hash)
        return user

    async def _make_first(self, by: Who, user: str) -> None:
        """The first administrator. On a server that is one account's, he is that account's user."""
        people = self._people
        if user not in people.accounts:
            await people.add(by, [user], None if people.is_root else people.own.name, is_admin=True)
        else:
            await people.change(by, user, is_admin=True)

    async def change_password(self, caller: Caller, old: str | None, new: str) -> None:
        """A new password for the caller. Whom a secret let in must know the old one, if there is one."""
        row = self._people.accounts.get(caller.name)
        if caller.secret is not None and row is not None and row.password is not None:
            self._check_pace(caller.name, caller.address)
            if not await self._is_right(caller.name, old or ""):
                self._throttle.failed(caller.name, caller.address, time.monotonic())
                raise NotPermitted("the old password is wrong", "roost web, on the server's machine")
        await self._people.set_password(caller.who, caller.name, await self._new_hash(caller.name, new), caller.secret)

    async def _new_hash(self, user: str, password: str | None) -> str:
        if password is None:
            raise BadRequest("a password is needed", "choose one of at least ten characters")
        if (weak := why_weak(password, user)) is not None:
            raise BadRequest(f"this password cannot be set: {weak}", "several words that do not belong together are good")
        async with self._room:
            return await asyncio.to_thread(hashed, password)
