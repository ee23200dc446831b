"""One thread, one epoll, timers on the boot clock. A handler that raises is logged and does not end the loop."""

from __future__ import annotations

import heapq
import os
import select
import signal
from typing import Callable, Dict, List, Optional, Tuple

from roost.node.system.host import boot_s

Handler = Callable[[int], None]
READABLE = select.EPOLLIN
WRITABLE = select.EPOLLOUT
# epoll waits on a clock that stands still in suspend; look at the boot clock at least this often.
_LONGEST_WAIT_S = 10.0


class Timer:
    """Something to do later; `cancel` makes it never happen."""

    __slots__ = ("action",)

    def __init__(self, action: Callable[[], object]) -> None:
        self.action: Optional[Callable[[], object]] = action

    def cancel(self) -> None:
        self.action = None


class Loop:
    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._epoll = select.epoll()
        self._handlers: Dict[int, Handler] = {}
        self._timers: List[Tuple[float, int, Timer]] = []
        self._count = 0
        self._is_stopping = False

    def watch(self, fd: int, events: int, handler: Handler) -> None:
        """Call the handler with the event mask; raises PermissionError for what cannot be waited on (plain files)."""
        self._epoll.register(fd, events)
        self._handlers[fd] = handler

    def change(self, fd: int, events: int) -> None:
        self._epoll.modify(fd, events)

    def unwatch(self, fd: int) -> None:
        """Forget the descriptor; call before closing it."""
        if self._handlers.pop(fd, None) is not None:
            self._epoll.unregister(fd)

    def on_signal(self, number: int, handler: Callable[[], None]) -> None:
        """Call the handler in the loop, soon after the signal; several signals may become one call."""
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        os.set_blocking(writer, False)
        signal.signal(number, lambda *_: None)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)

        def woken(_: int) -> None:
            os.read(reader, 4096)
            handler()

        self.watch(reader, READABLE, woken)

    def after(self, seconds: float, action: Callable[[], object]) -> Timer:
        """Call the action once, that many seconds from now on the boot clock."""
        timer = Timer(action)
        self._count += 1
        heapq.heappush(self._timers, (boot_s() + seconds, self._count, timer))
        return timer

    def stop(self) -> None:
        self._is_stopping = True

    def run(self, after_each: Callable[[], None]) -> None:
        """Until `stop`; `after_each` is called after every round of events."""
        while not self._is_stopping:
            for fd, events in self._epoll.poll(self._wait_s()):
                handler = self._handlers.get(fd)
                if handler is not None:
                    self._guarded(handler, events)
            self._run_timers()
            self._guarded(after_each)

    def _wait_s(self) -> float:
        while self._timers and self._timers[0][2].action is None:
            heapq.heappop(self._timers)
        if not self._timers:
            return _LONGEST_WAIT_S
        return min(_LONGEST_WAIT_S, max(0.0, self._timers[0][0] - boot_s()))

    def _run_timers(self) -> None:
        if not self._timers:
            return
        now = boot_s()
        while self._timers and self._timers[0][0] <= now:
            timer = heapq.heappop(self._timers)[2]
            action, timer.action = timer.action, None
            if action is not None:
                self._guarded(action)

    def _guarded(self, handler: Callable[..., object], *args: int) -> None:
        try:
            handler(*args)
        except Exception:
            import traceback

            self._report(traceback.format_exc())
