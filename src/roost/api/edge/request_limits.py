"""Scheduling first: how many requests are worked on at a time, however many there are.

Everything happens in one loop. A hundred requests that are worked on at once make every turn of it a hundred steps long, and
whatever the scheduler waits for comes that much later. So a few are let through at a time, the others wait in a row
outside; and none begins while a round of the scheduler is under way. Those that wait for something else, an event, a
slow body, give their seat up soon. Strangers have a seat of their own, so that they keep nobody waiting but each other.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

SEATS = {True: 2, False: 1}
"""Requests that are worked on at a time: of those who are known, and of strangers."""
HOLD_S = 0.1
"""How long a request keeps its seat."""
MAX_TURNS = 50
"""Turns of the loop that a request waits for the scheduler, at most."""


class RequestLimit:
    """Lets a few requests through at a time."""

    def __init__(self, is_busy: Callable[[], bool]) -> None:
        self._is_busy = is_busy
        self._seats = {known: asyncio.Semaphore(count) for known, count in SEATS.items()}

    @contextlib.asynccontextmanager
    async def passed(self, is_known: bool) -> AsyncIterator[Callable[[], None]]:
        """Wait for a seat, and for the scheduler; the seat is held while the request is worked on, or for a while.

        What is given is called by a request that has done its work and stays: it gives the seat up at once.
        """
        seats = self._seats[is_known]
        await seats.acquire()
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
