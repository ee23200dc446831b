"""Work that lasts as long as the server. Where it fails or ends, that is logged and shown, and it begins again."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from typing import Any

from roost.messages import Message

FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0
"""The pause before work begins again; it doubles while the work fails."""
CALM_S = 600.0
"""After so long without a failure the pause is the first again, and the status says nothing of it any more."""
_log = logging.getLogger("roost.background")

Work = Callable[[], Coroutine[Any, Any, None]]


class Background:
    """The tasks that the server keeps going."""

    def __init__(self, first_pause_s: float = FIRST_PAUSE_S) -> None:
        self._first_pause_s = first_pause_s
        self._tasks: list[asyncio.Task[None]] = []
        self._failures: dict[str, tuple[float, str]] = {}

    def begin(self, name: str, work: Work) -> None:
        """Keep that going until `close`."""
        self._tasks.append(asyncio.create_task(self._keep(name, work), name=name))

    def health(self) -> list[Message]:
        """What failed lately."""
        now_s = time.monotonic()
        lately = {name: why for name, (at_s, why) in self._failures.items() if now_s - at_s < CALM_S}
        return [Message("process.task_failed", task=name, why=why) for name, why in lately.items()]

    async def close(self) -> None:
        """End all of it."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _keep(self, name: str, work: Work) -> None:
        pause_s = self._first_pause_s
        while True:
            began_s = time.monotonic()
            why = await self._why_ended(name, work)
            now_s = time.monotonic()
            self._failures[name] = now_s, why
            pause_s = self._first_pause_s if now_s - began_s > CALM_S else pause_s
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)

    async def _why_ended(self, name: str, work: Work) -> str:
        try:
            await work()
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():  # else something that it waited for was cancelled
                raise
            _log.exception("%s was cancelled from within", name)
            return "CancelledError"
        except Exception as error:
            _log.exception("%s failed", name)
            return type(error).__name__
        _log.error("%s ended", name)
        return "ended"
