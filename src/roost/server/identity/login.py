"""Logging in from elsewhere: by a password or a one-time link. Guessing is slowed down.

Ways to check a password are behind one small port, `Checks`: Roost's own hashes, and PAM for UNIX accounts.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from roost.core.errors import BadRequest, NotKnown, NotPermitted, TooFast
from roost.core.users import check_user
from roost.server.identity.passwords import MIN_LENGTH, hashed, is_right, why_weak
from roost.server.identity.people import FIRST, LOGIN, Caller, People
from roost.server.identity.throttle import Throttle, block
from roost.server.rounds.commands import Who

MAX_WAITING, MAX_WAITING_FROM_ONE = 50, 10
"""Logins that may be under way at once, from everywhere and from one address; more are told to try again later."""


class Checks(Protocol):
    """A way to check passwords. Each has threads of its own, so that a slow one does not delay the others."""

    at_once: int
    """How many passwords it may check at the same time."""

    def is_on(self) -> bool:
        """Whether it is used at all: for all names or for none, so that timing does not reveal which names exist."""

    def is_right(self, user: str, password: str) -> bool:
        """Whether that is the user's password. Must not raise for a wrong one, and must take as long for an unknown name."""


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
    """Logins of one server."""

    def __init__(self, people: People, *others: Checks) -> None:
        self._people = people
        self._own = Own(people)
        self._checks: tuple[Checks, ...] = (self._own, *others)
        self._threads = {check: ThreadPoolExecutor(check.at_once, "password") for check in self._checks}
        self._throttle = Throttle()
        self.now_s: Callable[[], float] = time.monotonic
        self._under_way: Counter[str] = Counter()

    async def by_password(self, user: str, password: str, address: str) -> str:
        """The user's name, when that is their password. A wrong name and a wrong password are refused alike."""
        check_user(user)
        if not await self._try(user, password, address, self._people.was_here(user, address)):
            await self._people.note(Who(user, False, "password", address), "login refused", user)
            raise NotKnown("login.wrong")
        row = self._people.accounts.get(user)
        if row is not None and row.is_locked:
            raise NotPermitted("user.locked", user=user)
        return user

    async def _try(self, user: str, password: str, address: str, is_known: bool) -> bool:
        """Whether that is the password. Raises `TooFast` after too many tries."""
        place = block(address)
        if self._under_way[place] >= MAX_WAITING_FROM_ONE or self._under_way.total() >= MAX_WAITING:
            raise TooFast("login.too_many", 5)
        if (wait_s := self._throttle.begin(user, address, self.now_s(), is_known)) > 0:
            raise TooFast("login.too_many_wrong", wait_s)
        self._under_way[place] += 1
        try:
            fits = await self._is_right(user, password)
        finally:
            self._under_way[place] -= 1
            self._under_way += Counter()  # drop addresses with none left
        if fits:
            self._throttle.succeeded(user, address, is_known)
        return fits

    async def _is_right(self, user: str, password: str) -> bool:
        loop = asyncio.get_running_loop()
        for check in self._checks:
            if check.is_on() and await loop.run_in_executor(self._threads[check], check.is_right, user, password):
                return True
        return False

    async def by_link(self, code: str, name: str | None, password: str | None, address: str) -> tuple[str, str | None]:
        """Use a one-time link; the name of the user that it logs in, and the token that their session depends on, which is
        none where they chose a password."""
        link = self._people.link(code)
        user = link.user or name
        if user is None:
            raise BadRequest("login.no_name")
        check_user(user)
        if link.purpose == LOGIN:
            await self._people.use_link(code)
            return user, link.parent
        password_hash = await self._new_hash(user, password)
        await self._people.use_link(code)
        by = Who(user, link.purpose == FIRST, "link", address)
        if link.purpose == FIRST:
            await self._make_first(by, user)
        await self._people.set_password(by, user, password_hash)
        return user, None

    async def _make_first(self, by: Who, user: str) -> None:
        """Make the first administrator. On a server without root they are the user of the server's account."""
        people = self._people
        if user not in people.accounts:
            await people.add(by, [user], None if people.is_root else people.own.name, is_admin=True)
        else:
            await people.change(by, user, is_admin=True)

    async def change_password(self, caller: Caller, old: str | None, new: str) -> None:
        """A new password for the caller. Callers with a token or session must know the old one, if there is one."""
        row = self._people.accounts.get(caller.name)
        is_asked = caller.secret is not None and row is not None and row.password is not None
        if not is_asked and caller.parent is not None:
            raise NotPermitted("login.first_password")
        if is_asked and not await self._try(caller.name, old or "", caller.address, is_known=True):
            raise NotPermitted("login.wrong_old")
        await self._people.set_password(caller.who, caller.name, await self._new_hash(caller.name, new), caller.secret)

    async def _new_hash(self, user: str, password: str | None) -> str:
        if password is None:
            raise BadRequest("login.no_password", least=MIN_LENGTH)
        if (weak := why_weak(password, user)) is not None:
            raise BadRequest("login.weak", why=weak)
        return await asyncio.get_running_loop().run_in_executor(self._threads[self._own], hashed, password)
