"""A cluster that goes on: narrow jobs keep coming, so that something always waits, and end when their time is over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heappop, heappush

from tests.builders import NOW, attach, node, start

from roost.core import events as ev
from roost.core.cluster import NO_CONDITIONS, Cluster
from roost.core.model import RANK_STEP, Job, Request, Shape
from roost.core.plan.planner import plan
from roost.core.settings import Value
from roost.core.states import Outcome

USERS = ("ada", "bob", "cyd")


class Going:
    """So many nodes with so many GPUs; narrow jobs run `lengths_s`, one after the other, over and over."""

    def __init__(self, nodes: int, gpus: int, lengths_s: Sequence[int], narrow: Sequence[Request] = (Request(1),)) -> None:
        self.cluster, self.now_ms, self.last = Cluster(), NOW, 0
        self.lengths_s, self.narrow = lengths_s, narrow
        self.ends: list[tuple[int, int]] = []
        self.kept_idle_s = self.dearest_s = 0.0
        """GPU seconds that stood idle on kept nodes, and the most of them between two plans."""
        for number in range(nodes):
            attach(self.cluster, node(f"n{number:03}", gpus, cpus=0))

    def set(self, key: str, value: Value) -> None:
        """Change a setting."""
        self.cluster.apply(ev.SettingChanged(key, value))

    def submit(self, request: Request, user: str = "ada", work: str = "narrow") -> int:
        """A job comes."""
        self.last += 1
        job = Job(self.last, Shape(user, 0, request, work), self.last * RANK_STEP, self.now_ms)
        self.cluster.apply(ev.Submitted(job.id, self.now_ms, job, NO_CONDITIONS, False))
        return job.id

    def go(self, until_s: float) -> Iterator[list[int]]:
        """Go on until then; at each plan, what it starts."""
        while self.now_ms < NOW + 1000 * until_s:
            self._fill_up()
            yield self._plan()
            if not self.ends:
                return
            self._wait_for(heappop(self.ends))

    def started_s(self, job: int, until_s: float) -> float | None:
        """When that job starts, in seconds from now; None when it does not until then."""
        began_ms = self.now_ms
        for starts in self.go((self.now_ms - NOW) / 1000 + until_s):
            if job in starts:
                return (self.now_ms - began_ms) / 1000
        return None

    def warm_up(self, for_s: float) -> None:
        """Let it run for a while."""
        for _ in self.go((self.now_ms - NOW) / 1000 + for_s):
            pass

    def _fill_up(self) -> None:
        while len(self.cluster.jobs) < 2 * self.cluster.gpu_count:
            self.submit(self.narrow[self.last % len(self.narrow)], USERS[self.last % len(USERS)])

    def _plan(self) -> list[int]:
        made = plan(self.cluster, self.now_ms)
        for found in made.starts:
            start(self.cluster, found, self.now_ms)
            self.cluster.apply(ev.Started(found.job.id, self.now_ms, 1, 77))
            length_s = self.lengths_s[found.job.id % len(self.lengths_s)]
            heappush(self.ends, (self.now_ms + 1000 * length_s, found.job.id))
        if made.hold is not None:
            self.cluster.apply(made.hold)
        return [found.job.id for found in made.starts]

    def _wait_for(self, end: tuple[int, int]) -> None:
        at_ms, job = end
        if (keeping := self.cluster.node_hold) is not None:
            uuids = (uuid for name in keeping.nodes for uuid in self.cluster.nodes[name].gpus)
            idle_s = sum(uuid not in self.cluster.claims for uuid in uuids) * (at_ms - self.now_ms) / 1000
            self.kept_idle_s += idle_s
            self.dearest_s = max(self.dearest_s, idle_s)
        self.now_ms = at_ms
        self.cluster.apply(ev.Ended(job, at_ms, Outcome.SUCCEEDED))
