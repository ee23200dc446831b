"""When the daemon leaves, and when it stays."""

from __future__ import annotations

import time
from typing import Any

import pytest

from roost.node.daemon.departure import FIRST_LINK_S, Departure


class Busy:
    """A `Lifecycle` that only knows whether anything runs."""

    def __init__(self, is_busy: bool) -> None:
        self.is_busy = is_busy


class Stopped:
    """A `Loop` that only counts how often it was stopped."""

    count = 0

    def stop(self) -> None:
        self.count += 1


def departure(loop: Any, leave_s: float = 600.0) -> Any:
    return Departure(loop, leave_s, lambda text: None)


def test_told_to_leave_it_leaves_at_once() -> None:
    loop = Stopped()
    departure(loop).shut_down(when_idle=False)
    assert loop.count == 1


def test_told_to_leave_when_idle_it_waits_for_the_last_run() -> None:
    loop = Stopped()
    one = departure(loop)
    one.check_idle(Busy(False))
    one.shut_down(when_idle=True)
    one.check_idle(Busy(True))
    assert loop.count == 0
    one.check_idle(Busy(False))
    assert loop.count == 1


def test_a_new_server_makes_it_stay() -> None:
    loop = Stopped()
    one = departure(loop)
    one.server_spoke()
    one.shut_down(when_idle=True)
    one.link_opened()
    one.check_idle(Busy(False))
    one.server_spoke()
    one.link_closed()
    one.check_idle(Busy(False))
    assert loop.count == 0


def test_started_by_a_link_that_says_nothing_it_leaves_with_it() -> None:
    loop = Stopped()
    one = departure(loop)
    one.check_idle(Busy(False))
    one.link_opened()
    one.check_idle(Busy(False))
    assert loop.count == 0
    one.link_closed()
    one.check_idle(Busy(True))
    assert loop.count == 0
    one.check_idle(Busy(False))
    assert loop.count == 1


def test_told_to_leave_it_still_leaves_after_links_that_say_nothing() -> None:
    loop = Stopped()
    one = departure(loop)
    one.link_opened()
    one.server_spoke()
    one.shut_down(when_idle=True)
    one.link_closed()
    for _ in range(2):  # the second takes the place of the first
        one.link_opened()
        one.check_idle(Busy(False))
        assert loop.count == 0
    one.link_closed()
    one.check_idle(Busy(False))
    assert loop.count == 1


def test_a_server_that_was_there_is_waited_for() -> None:
    loop = Stopped()
    one = departure(loop)
    one.link_opened()
    one.server_spoke()
    one.link_closed()
    one.link_opened()
    one.link_closed()
    one.check_idle(Busy(False))
    assert loop.count == 0


def test_alone_for_long_enough_it_leaves() -> None:
    loop = Stopped()
    one = departure(loop, leave_s=-1.0)
    one.check_alone(is_needed=True)
    assert loop.count == 0
    one.check_alone(is_needed=False)
    assert loop.count == 1


def test_a_daemon_that_nobody_ever_attached_to_leaves_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    loops = Stopped(), Stopped()
    never, once = (departure(loop) for loop in loops)
    once.link_opened()
    once.server_spoke()
    once.link_closed()
    for clock[0] in (0.0, FIRST_LINK_S - 1):
        never.check_alone(is_needed=False)
        once.check_alone(is_needed=False)
    assert [loop.count for loop in loops] == [0, 0]
    clock[0] = FIRST_LINK_S + 1
    never.check_alone(is_needed=False)
    once.check_alone(is_needed=False)
    assert [loop.count for loop in loops] == [1, 0]
