"""When the daemon leaves: told to, replaced by another version, or without a server for long while nothing runs.

A link may arrive late: its server was killed, or has removed this node, while the connection was being made. Such a link
ends without a word, and changes nothing: a daemon that it started leaves again, one that was told to leave still does.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Callable, Optional

from roost.node.runs.lifecycle import Lifecycle
from roost.node.system.event_loop import Loop

FIRST_LINK_S = 20.0
"""The first link comes at once. An `attach` that was killed after it had started the daemon never makes one."""


@dataclass(eq=False)
class Departure:
    loop: Loop
    leave_s: float
    report: Callable[[str], None]
    _leaves_when_idle: bool = False
    _alone_since: Optional[float] = None
    _was_linked: bool = False
    _otherwise: Optional[bool] = True
    """Whether it leaves when idle should the present link end without a word; None once a server has spoken."""

    def shut_down(self, when_idle: bool) -> None:
        """Leave now, or as soon as nothing runs."""
        self._leaves_when_idle = True
        if not when_idle:
            self.loop.stop()

    def link_opened(self) -> None:
        """Stay for it, whatever the server before it wanted."""
        self._was_linked = True
        if self._otherwise is None:
            self._otherwise = self._leaves_when_idle
        self._leaves_when_idle = False

    def server_spoke(self) -> None:
        """The link has a living server."""
        self._otherwise = None

    def link_closed(self) -> None:
        """Nothing came over it: what was wanted before it still counts."""
        if self._otherwise is not None:
            self._leaves_when_idle = self._otherwise

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
        patience_s = self.leave_s if self._was_linked else min(self.leave_s, FIRST_LINK_S)
        if now - self._alone_since > patience_s:
            self.report(f"no server for {patience_s:.0f} s and nothing runs")
            self.loop.stop()
