"""The pipe between the server and a node: in order, late, sometimes twice, and cut with all that is under way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from tests.simulator.clock import Clock
from tests.simulator.faults import Chance

from roost.links import messages as m

DELAY_MS = 3


class Wire:
    """One link at a time. Both ends hear of a cut."""

    def __init__(self, clock: Clock, chance: Chance) -> None:
        self._clock, self._chance = clock, chance
        self._epoch = 0
        self._free_ms = [0, 0]
        self.is_up = False
        self.is_attached = False
        """The server has read this link's hello."""
        self.on_report: Callable[[m.Report], None]
        self.on_command: Callable[[dict[str, Any]], None]
        self.on_cut: Callable[[str], None]

    def open(self) -> None:
        """A new link; the one before is gone."""
        self._epoch += 1
        self.is_up, self.is_attached = True, False

    def cut(self, reason: str) -> None:
        """Both ends lose it."""
        if self.is_up:
            self._epoch += 1
            self.is_up = self.is_attached = False
            self.on_cut(reason)

    def to_server(self, message: dict[str, Any]) -> None:
        """A line from the node. What is true of one moment only, `gone` too, is never said again later."""
        line = msgspec.json.encode(message)
        self._carry(0, lambda: self._heard(line), repeats=message["op"] not in ("hello", "inventory", "sample", "gone"))

    def to_node(self, message: dict[str, Any]) -> None:
        """A line for the node; nothing is said before its hello."""
        if self.is_attached:
            line = m.encode(message)
            self._carry(1, lambda: self.on_command(msgspec.json.decode(line)), repeats=True)

    def _heard(self, line: bytes) -> None:
        message = m.decode(line)
        if isinstance(message, m.Hello):
            self.is_attached = True
        assert isinstance(message, m.Report)
        self.on_report(message)

    def _carry(self, way: int, deliver: Callable[[], None], repeats: bool) -> None:
        if not self.is_up:
            return
        if self._chance.comes(self._chance.rates.cut):
            self._clock.after(0, lambda: self.cut("the pipe broke"))
        at_ms = max(self._free_ms[way], self._clock.now_ms + self._chance.pause_ms(DELAY_MS))
        self._free_ms[way] = at_ms
        arrive, wait_ms = self._unless_cut(deliver), at_ms - self._clock.now_ms
        self._clock.after(wait_ms, arrive)
        if repeats and self._chance.comes(self._chance.rates.repeated):
            # A node repeats itself at any time, the server only what it has just said.
            self._clock.after(wait_ms + (self._chance.pause_ms(2000) if way == 0 else 0), arrive)

    def _unless_cut(self, deliver: Callable[[], None]) -> Callable[[], None]:
        epoch = self._epoch

        def arrive() -> None:
            if epoch == self._epoch:
                deliver()

        return arrive
