"""A storm that is under way: who is in it, what was asked for, what was done, and what is to be done later."""

from __future__ import annotations

import heapq
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.client import HTTPException
from itertools import count
from pathlib import Path
from typing import Any

from tests.box import Answer, Box
from tests.hosts import Host, Hosts

ASIDE_S = 0.1


@dataclass(frozen=True)
class Asked:
    """What was asked for with a job."""

    retries: int
    fails: int
    """So many attempts fail by themselves."""
    there: int
    """The uid that it runs under on the hosts."""
    here: int
    """The uid that it runs under on the server's own machine."""


@dataclass
class Sky:
    """All that a storm knows."""

    box: Box
    hosts: Hosts
    chance: random.Random
    """Of the present strike: each has its own, so that one that could do nothing changes nothing for the next."""
    gives_up_the_living: bool = True
    """Whether jobs are given up that run on behind a silent cut. Not yet with people: see `test_cluster_lost`."""
    asked: dict[int, Asked] = field(default_factory=dict)
    killed: set[int] = field(default_factory=set)
    """Jobs that somebody has asked to end, perhaps in vain."""
    removed: set[int] = field(default_factory=set)
    """Jobs that somebody has asked to remove, perhaps in vain."""
    given_up: set[int] = field(default_factory=set)
    """Jobs that an administrator has declared lost, or has removed with their node."""
    unheard: set[str] = field(default_factory=set)
    """Nodes that were declared lost or removed by force, without an answer that names the jobs lost with them."""
    drained: set[str] = field(default_factory=set)
    moving: set[str] = field(default_factory=set)
    """Hosts that somebody removes now, and will add again."""
    names: dict[str, str] = field(default_factory=dict)
    """What each host is called now; by its first name when nobody has said otherwise."""
    called: dict[str, str] = field(default_factory=dict)
    """Every name that a host ever had, and the host."""
    login: dict[str, str] = field(default_factory=dict)
    """With what a host is added, beside its name, address and key."""
    struck: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    _later: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=count)
    _troubled: set[str] = field(default_factory=set)

    @property
    def lines(self) -> Path:
        """The file that all jobs append to."""
        return self.hosts.shared / "lines"

    def node(self, host: Host) -> str:
        """What Roost calls it."""
        return self.names.get(host.name) or self.call(host, host.name.partition("-")[0])

    def call(self, host: Host, name: str) -> str:
        """It has that name from now on."""
        self.names[host.name], self.called[name] = name, host.name
        return name

    def ask(self, method: str, path: str, body: Any = None) -> Answer | None:
        """A request; None when there is no server to answer it."""
        try:
            return self.box.http(method, path, body)
        except (OSError, ValueError, HTTPException):
            return None

    def act(self, action: str, job: int) -> None:
        """Ask something of a job; that it is not possible now, or that there is no server, is no matter."""
        answer = self.ask("POST", "/jobs/actions", {"action": action, "select": {"ids": str(job)}})
        if answer is not None and answer.status not in (200, 404, 503):
            self.problems.append(f"{action} of job {job}: {answer.status} {answer.body[:500]!r}")

    def ask_aside(self, method: str, path: str, body: Any, then: Callable[[Answer | None], None]) -> None:
        """The same, while the storm goes on; `then` is done with the answer."""
        found: list[Answer | None] = []
        asking = threading.Thread(target=lambda: found.append(self.ask(method, path, body)))
        asking.start()

        def look() -> None:
            if asking.is_alive():
                self.later(ASIDE_S, look)
            else:
                then(found[0] if found else None)

        self.later(ASIDE_S, look)

    def later(self, seconds: float, do: Callable[[], None]) -> None:
        """Do that after a while."""
        heapq.heappush(self._later, (time.monotonic() + seconds, next(self._numbers), do))

    def do_what_is_due(self) -> None:
        """Do what is to be done by now."""
        while self._later and self._later[0][0] <= time.monotonic():
            heapq.heappop(self._later)[2]()

    def do_the_rest(self, within_s: float = 120) -> None:
        """Do all that was to be done later, each in its time."""
        deadline = time.monotonic() + within_s
        while self._later and time.monotonic() < deadline:
            self.do_what_is_due()
            time.sleep(0.02)

    def calm_host(self) -> Host | None:
        """One that has no trouble now; it counts as troubled until `is_well`."""
        order = self.chance.sample(list(self.hosts), len(self.hosts))
        return next((host for host in order if host.name not in self.moving and self.take(host)), None)

    def take(self, host: Host) -> bool:
        """Whether it had no trouble; it counts as troubled until `is_well`."""
        was_calm = host.name not in self._troubled
        self._troubled.add(host.name)
        return was_calm

    def is_well(self, host: Host) -> None:
        """It is well again."""
        self._troubled.discard(host.name)
