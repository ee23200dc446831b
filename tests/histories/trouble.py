"""What happens to a server meanwhile: the strikes of storms, and processes and clocks that stop and jump."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections.abc import Callable

from tests.box import Process, process
from tests.cluster import strikes
from tests.histories.ground import Ground

STEPS_S = (0.0, 30.0, -30.0, 7200.0, -7200.0, 86_400.0)
STOPS_S = (0.2, 1, 4, 12)
Trouble = Callable[[Ground], None]


def trouble(ground: Ground, until_s: float, seed: int) -> None:
    """One misfortune after another until then."""
    sky, number = ground.sky, 0
    while time.monotonic() < until_s:
        sky.chance = random.Random(f"{seed}/{number}")
        number += 1
        one = sky.chance.choices([each for each, _ in TROUBLES], [weight for _, weight in TROUBLES])[0]
        one(ground)
        pause_s = time.monotonic() + sky.chance.uniform(0.1, 2)
        while time.monotonic() < pause_s:
            sky.do_what_is_due()
            time.sleep(0.02)


def stop_server(ground: Ground) -> None:
    """SIGSTOP to the server, and SIGCONT a while later."""
    _stop(ground, "server stopped", ground.sky.box.servers())


def stop_programs(ground: Ground) -> None:
    """SIGSTOP to all node programs of a machine."""
    host = ground.sky.chance.choice([*ground.sky.hosts, None])
    if host is None:
        _stop(ground, "node programs stopped", ground.sky.box.nodes())
    else:
        there = [pid for pid, line in host.processes().items() if " daemon --state " in line]
        _stop(ground, "node programs stopped", there)


def _stop(ground: Ground, name: str, pids: list[int]) -> None:
    victims = [found for found in map(process, pids) if found]
    if not victims:
        return
    ground.sky.struck[name] += 1
    for victim in victims:
        _signal(victim, signal.SIGSTOP)

    def go_on() -> None:
        for victim in victims:
            _signal(victim, signal.SIGCONT)

    ground.sky.later(ground.sky.chance.choice(STOPS_S), go_on)


def _signal(victim: Process, number: int) -> None:
    if victim.is_alive:
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim.pid, number)


def step_clock(ground: Ground) -> None:
    """The clock of the server's machine jumps, forward or back, or is right again."""
    if not ground.clock.is_missing:
        ground.clock.set(ground.sky.chance.choice(STEPS_S))
        ground.sky.struck["clock step"] += 1


def _of_storms(strike: strikes.Strike) -> Trouble:
    return lambda ground: strike(ground.sky)


TROUBLES: tuple[tuple[Trouble, float], ...] = (
    (_of_storms(strikes.kill_server), 3),
    (_of_storms(strikes.kill_programs), 3),
    (_of_storms(strikes.cut), 2),
    (_of_storms(strikes.cut_silently), 2),
    (_of_storms(strikes.power_off), 1),
    (_of_storms(strikes.restart_sshd), 1),
    (_of_storms(strikes.hang_driver), 1),
    (stop_server, 2),
    (stop_programs, 2),
    (step_clock, 4),
)
