"""Coming in from elsewhere: a password, or a one-time link. Slowed down for whoever guesses.

Ways to check a password stand behind one small port, `Checks`: Roost's own hashes, and PAM for UNIX accounts.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from roost.core.errors import BadRequest, NotKnown, NotPermitted, TooFast
from roost.core.users import check_user
from roost.server.identity.passwords import hashed, is_right, why_weak
from roost.server.identity.people import FIRST, LOGIN, Caller, People
from roost.server.identity.throttle import Throttle, block
from roost.server.rounds.commands import Who

WAITING, WAITING_FROM_ONE = 50, 10
"""Logins that may be under way at once, from everywhere and from one address; more are asked to come later."""


class Checks(Protocol):
    """A way to check passwords. Called in threads of its own: what it waits for, others do not wait for."""

    at_once: int
    """How many passwords it may check at the same time."""

    def is_on(self) -> bool:
        """Whether it is asked at all. It must be so for all names or for none: who is asked must not show in the time."""

    def is_right(self, user: str, password: str) -> bool:
        """Whether that is the user's password. Must not raise for a wrong one, and take as long for an unknown name."""


class Own:
    """The passwords that users have set here. Each takes 64 MiB and a tenth of a second of a core."""

    at_once = 2

    def __init__(self, people: People) -> None:
        self._people = people

    def is_on(self) -> bool:
        return True

    def is_right(self, user: str, password: str) -> bool:
        row = self._people.accounts.get(user)
        return is_right(password, row.password if row is not None else None)


class Login:
    """The entrance of one server."""

    def __init__(self, people: People, *others: Checks) -> None:
        self._people = people
        self._own = Own(people)
        self._checks: tuple[Checks, ...] = (self._own, *others)
        self._threads = {check: ThreadPoolExecutor(check.at_once, "password") for check in self._checks}
        self._throttle = Throttle()
        self.now_s: Callable[[], float] = time.monotonic
        self._under_way: Counter[str] = Counter()

    async def by_password(self, user: str, password: str, address: str) -> str:
        """The user's name, when that is his password. Says the same of a wrong name and a wrong password."""
        check_user(user)
        if not await self._try(user, password, address, self._people.was_here(user, address)):
            await self._people.note(Who(user, False, "password", address), "login refused", user)
            raise NotKnown("user or password is wrong", "roost web on the server's machine makes a link to log in with")
        row = self._people.accounts.get(user)
        if row is not None and row.is_locked:
            raise NotPermitted(f"{user} is locked", "ask an administrator")
        return user

    async def _try(self, user: str, password: str, address: str, is_known: bool) -> bool:
        """Whether that is the password; `TooFast` for who has tried too often."""
        place = block(address)
        if self._under_way[place] >= WAITING_FROM_ONE or self._under_way.total() >= WAITING:
            raise TooFast("too many logins at once", 5)
        if (wait_s := self._throttle.begin(user, address, self.now_s(), is_known)) > 0:
            raise TooFast("too many wrong passwords", wait_s)
        self._under_way[place] += 1
        try:
            fits = await self._is_right(user, password)
        finally:
            self._under_way[place] -= 1
            self._under_way += Counter()  # forget who has none any more
        if fits:
            self._throttle.succeeded(user, address)
        return fits

    async def _is_right(self, user: str, password: str) -> bool:
        loop = asyncio.get_running_loop()
        for check in self._checks:
            if check.is_on() and await loop.run_in_executor(self._threads[check], check.is_right, user, password):
                return True
        return False

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
        is_asked = caller.secret is not None and row is not None and row.password is not None
        if is_asked and not await self._try(caller.name, old or "", caller.address, is_known=True):
            raise NotPermitted("the old password is wrong", "roost web, on the server's machine")
        await self._people.set_password(caller.who, caller.name, await self._new_hash(caller.name, new), caller.secret)

    async def _new_hash(self, user: str, password: str | None) -> str:
        if password is None:
            raise BadRequest("a password is needed", "choose one of at least ten characters")
        if (weak := why_weak(password, user)) is not None:
            raise BadRequest(f"this password cannot be set: {weak}", "several words that do not belong together are good")
        return await asyncio.get_running_loop().run_in_executor(self._threads[self._own], hashed, password)
