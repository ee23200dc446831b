"""When the daemon leaves: told to, replaced by another version, or without a server for long while nothing runs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Callable, Optional

from roost.node.runs.lifecycle import Lifecycle
from roost.node.system.event_loop import Loop


@dataclass(eq=False)
class Departure:
    loop: Loop
    leave_s: float
    report: Callable[[str], None]
    _leaves_when_idle: bool = False
    _alone_since: Optional[float] = None

    def shut_down(self, when_idle: bool) -> None:
        """Leave now, or as soon as nothing runs."""
        self._leaves_when_idle = True
        if not when_idle:
            self.loop.stop()

    def stay(self) -> None:
        """A new server is here: what the one before it wanted no longer counts."""
        self._leaves_when_idle = False

    def check_idle(self, life: Lifecycle) -> None:
        """After every round of the loop."""
        if self._leaves_when_idle and not life.is_busy:
            self.loop.stop()

    def check_alone(self, is_needed: bool) -> None:
        """Now and then: a server that never comes back must not leave programs on other people's machines."""
        if is_needed:
            self._alone_since = None
            return
        now = time.monotonic()
        self._alone_since = self._alone_since if self._alone_since is not None else now
        if now - self._alone_since > self.leave_s:
            self.report(f"no server for {self.leave_s:.0f} s and nothing runs")
            self.loop.stop()
