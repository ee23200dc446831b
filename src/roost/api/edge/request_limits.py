"""Scheduling first: how many requests are worked on at a time, however many there are, and whose comes next.

Everything happens in one loop. A hundred requests that are worked on at once make every turn of it a hundred steps long, and
whatever the scheduler waits for comes that much later. So a few are let through at a time, the others wait outside; and none
begins while a round of the scheduler is under way. Those that wait for something else, an event, a slow body, give their
seat up soon. Seats go round by user, and by address among strangers, so that nobody waits longer because somebody else asks
more. Strangers have a seat of their own, so that they keep nobody waiting but each other.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator

from roost.core.errors import TooFast, TooLarge, TryLater

SEATS = {True: 2, False: 1}
"""Requests that are worked on at a time: of those who are known, and of strangers."""
HOLD_S = 0.1
"""How long a request keeps its seat."""
MAX_TURNS = 50
"""Turns of the loop that a request waits for the scheduler, at most."""
MAX_STRANGERS_WAITING = 20
"""Requests of strangers at one address that may wait for a seat."""
MAX_BODIES, MAX_BODIES_OF_ALL = 320 << 20, 1 << 30
"""Bytes of request bodies that one user, and all together, may have in memory."""


class RequestLimit:
    """Lets a few requests through at a time."""

    def __init__(self, is_busy: Callable[[], bool]) -> None:
        self._is_busy = is_busy
        self._seats = {known: Seats(count) for known, count in SEATS.items()}

    @contextlib.asynccontextmanager
    async def passed(self, is_known: bool, whose: str = "") -> AsyncIterator[Callable[[], None]]:
        """Wait for a seat, and for the scheduler; the seat is held while the request is worked on, or for a while.

        `whose` is the user, or a stranger's address. What is given is called by a request that has done its work and stays:
        it gives the seat up at once.
        """
        seats = self._seats[is_known]
        if not is_known and seats.waiting(whose) >= MAX_STRANGERS_WAITING:
            raise TooFast("request.too_many_of_strangers", 1)
        await seats.acquire(whose)
        held = [seats]

        def give_up() -> None:
            if held:
                held.pop().release()

        timer = asyncio.get_running_loop().call_later(HOLD_S, give_up)
        try:
            for _ in range(MAX_TURNS):
                if not self._is_busy():
                    break
                await asyncio.sleep(0)
            yield give_up
        finally:
            timer.cancel()
            give_up()


class Seats:
    """A semaphore that is fair between those who wait: one of each in turn, however many each has."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._rows: dict[str, deque[asyncio.Future[None]]] = {}

    def waiting(self, whose: str) -> int:
        """How many of theirs wait."""
        return len(self._rows.get(whose, ()))

    async def acquire(self, whose: str) -> None:
        """Wait for a seat."""
        if self._free:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._rows.setdefault(whose, deque()).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # the seat came in this moment
                self.release()
            elif (row := self._rows.get(whose)) is not None:
                row.remove(turn)
                if not row:
                    del self._rows[whose]
            raise

    def release(self) -> None:
        """Give a seat back: to the next who waits."""
        while self._rows:
            whose = next(iter(self._rows))
            row = self._rows.pop(whose)
            turn = row.popleft()
            if row:
                self._rows[whose] = row  # behind all others
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


class BodyBudget:
    """How much of the memory request bodies take, by user and in all."""

    def __init__(self) -> None:
        self._used: dict[str, int] = {}
        self._total = 0

    @contextlib.contextmanager
    def counted(self, whose: str) -> Iterator[Callable[[int], None]]:
        """Counts bytes of one request, until it has been answered. What is given raises when there is no room for more."""
        mine = 0

        def take(size: int) -> None:
            nonlocal mine
            used = self._used.get(whose, 0) + size
            if used > MAX_BODIES:
                raise TooLarge("request.bodies_of_user", most=MAX_BODIES >> 20)
            if self._total + size > MAX_BODIES_OF_ALL:
                raise TryLater("request.bodies_of_all")
            self._used[whose] = used
            self._total += size
            mine += size

        try:
            yield take
        finally:
            self._total -= mine
            if left := self._used.get(whose, 0) - mine:
                self._used[whose] = left
            else:
                self._used.pop(whose, None)
