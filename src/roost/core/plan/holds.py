"""Nodes held for a wide job that has waited long, so that narrow jobs cannot starve it.

GPUs of held nodes stand idle. That is paid from an allowance of GPU seconds, which grows with `policy.idle_allowance` of the
cluster's GPUs: however wrong the predictions are, holds cannot cost more. One hold at a time, for the job whose turn
it is, once its wait is worth what the hold will probably cost; the longer it has waited compared with others, the more that
may be. The nodes that will empty first are held. Other jobs may use them meanwhile if they will almost surely be gone by
then. A hold that costs or takes twice what was expected is abandoned, and the job's wait counts from there. Its next hold
begins when the allowance is twice what the abandoned one cost; otherwise it would begin too early and be abandoned again.
"""

from math import exp, log

import msgspec

from roost.core import events as ev
from roost.core.cluster import Cluster
from roost.core.model import Active, Job, NodeHold, Request
from roost.core.plan.placement import Space
from roost.core.predictions import Outlook

WORTH = 0.2
"""GPU seconds that a hold may cost for each second that the job has waited, times its GPUs…"""
LONG_WAIT = 0.3
"""…and more in proportion, once it has waited longer than this part of what hardly any job waits."""
MAX_OVERRUN = 2.0
SURE, LIKELY, GONE = 0.8, 0.7, 0.9
"""Probabilities: that all nodes are empty at the end of the hold; for the end of a run; that a guest has left by then."""
ALLOWANCE_HOURS, SAVED_HOURS = 6, 500
"""The allowance is at most what comes in over so many hours; the excess is saved, up to so many hours of it…"""
SMALL_PART, SAVED_FOR_S = 0.25, 7 * 86_400
"""…for jobs that need at most this part of the cluster, or have waited this long: a cluster is not emptied every day."""
MIN_NODE_HOURS = 2
"""In a small cluster, the allowance may be at least so many hours of its largest node."""
CHOOSE_MS, AGAIN_MS = 120_000, 300_000
"""How often the choice of nodes is reconsidered, and a hold that was too expensive; sooner where runs are short."""


class Holds:
    """The hold as a plan sees it: the allowance brought up to now, and what is held."""

    def __init__(self, cluster: Cluster, space: Space, now_ms: int) -> None:
        self.cluster, self.space, self.now_ms = cluster, space, now_ms
        self.hold, self.allowance, self.savings = cluster.node_hold, cluster.allowance, cluster.savings
        self.abandoned: int | None = None
        self.in_vain = 0.0
        self.again_ms = cluster.hold_again_ms
        self.rate = cluster.number("policy.idle_allowance") * cluster.gpu_count
        self._ends: dict[int, float] = {}
        self._pay()

    def _pay(self) -> None:
        """Add to the allowance for the time that has passed, and pay for what stood idle."""
        cluster, now_ms = self.cluster, self.now_ms
        passed_s = max(0, now_ms - cluster.allowance_ms) / 1000 if cluster.allowance_ms is not None else 0.0
        self.allowance += passed_s * self.rate
        if (more := self.allowance - self._most) > 0:
            self.allowance -= more
            self.savings = min(SAVED_HOURS * 3600 * self.rate, self.savings + more)
        hold = self.hold
        if hold is None:
            return
        idle = hold.idle * passed_s
        self.allowance -= idle
        if self.allowance < 0 and hold.is_saved_for:
            saved = min(self.savings, -self.allowance)
            self.allowance, self.savings = self.allowance + saved, self.savings - saved
        if hold.job not in cluster.open or not self.rate:
            self.drop()
            return
        self.hold = msgspec.structs.replace(hold, spent=hold.spent + idle)
        is_late = now_ms - hold.since_ms > MAX_OVERRUN * (hold.until_ms - hold.since_ms) + 1000
        if self.allowance < 0 or is_late or self.hold.spent > MAX_OVERRUN * hold.expected:
            self.abandoned, self.in_vain = hold.job, self.hold.spent
            self.drop()

    @property
    def _most(self) -> float:
        """The most that the allowance can be."""
        least = MIN_NODE_HOURS * 3600 * self.space.largest if self.rate else 0
        return max(ALLOWANCE_HOURS * 3600 * self.rate, least)

    def drop(self) -> None:
        """End the hold."""
        self.hold = None
        self.space.hold(())

    def think(self, stuck: list[Job]) -> None:
        """Choose nodes to hold for the first of those that do not fit, or choose again when it was long ago."""
        if self.hold is not None:
            after_ms = min(CHOOSE_MS, max(1000, (self.hold.until_ms - self.hold.chosen_ms) // 4))
            if self.now_ms - self.hold.chosen_ms >= after_ms and self.abandoned is None:
                job = self.cluster.jobs[self.hold.job]
                nodes, until_ms, _ = self._choose(job)
                until_ms = min(until_ms, self.hold.until_ms)  # never later, else guests would keep coming
                self.hold = msgspec.structs.replace(self.hold, nodes=nodes, chosen_ms=self.now_ms, until_ms=until_ms)
                self.space.hold(nodes)
            return
        if not stuck:
            self.again_ms = self.now_ms + int(min(AGAIN_MS, max(250, 50 * self.cluster.number("policy.hold_after_s"))))
            return
        job = min(stuck, key=self._turn)
        waited_ms = self.now_ms - self.cluster.ready_ms(job)
        self.again_ms = self.now_ms + min(AGAIN_MS, max(1000, waited_ms // 20))
        nodes, until_ms, price = self._choose(job)
        is_small = job.shape.request.gpus <= SMALL_PART * self.cluster.gpu_count
        is_saved_for = is_small or waited_ms >= 1000 * SAVED_FOR_S
        means = self.allowance + self.savings if is_saved_for else self.allowance
        learned = MAX_OVERRUN * (before.in_vain if (before := self.cluster.abandoned_holds.get(job.id)) is not None else 0.0)
        if nodes and max(price, min(learned, self._most)) <= means and price <= self._worth(job):
            expected = max(price, learned, 60.0 * job.shape.request.gpus)
            self.hold = NodeHold(job.id, nodes, self.now_ms, self.now_ms, until_ms, expected, is_saved_for=is_saved_for)
            self.space.hold(nodes)

    @property
    def may_think(self) -> bool:
        """Whether to look for a job to hold nodes for."""
        has_means = self.allowance > 0 or self.savings > 0
        return self.hold is None and has_means and self.abandoned is None and self.now_ms >= self.again_ms

    def event(self) -> ev.HoldChanged | None:
        """What the next plan must know; None when nothing has changed."""
        cluster, hold = self.cluster, self.hold
        if hold is not None:
            idle = idle_gpus(cluster, hold.nodes, self.space) if len(cluster.open) > 1 else 0
            hold = msgspec.structs.replace(hold, idle=idle)
        is_same = hold is None and cluster.node_hold is None and self.again_ms == cluster.hold_again_ms
        if is_same and (cluster.allowance_ms is not None or not self.rate):
            return None
        return ev.HoldChanged(self.now_ms, hold, self.allowance, self.abandoned, self.again_ms, self.savings, self.in_vain)

    def is_due(self, job: Job) -> bool:
        """Whether a job that does not fit has waited long enough for a hold."""
        after_s = max(self.cluster.number("policy.hold_after_s"), self._typical_s(job))
        return self.now_ms - self.cluster.ready_ms(job) >= 1000 * after_s

    def _turn(self, job: Job) -> tuple[float, int]:
        """Its place in the order of holds: the same mix of age and run time by which jobs start."""
        factor = self.cluster.number("policy.wait_factor")
        return (self.cluster.ready_ms(job) + 1000 * factor * self._typical_s(job), job.id)

    def _typical_s(self, job: Job) -> float:
        return self.cluster.learned.outlook(job.shape).typical_s

    def _worth(self, job: Job) -> float:
        cluster = self.cluster
        waited_s = (self.now_ms - cluster.ready_ms(job)) / 1000
        before = cluster.abandoned_holds.get(job.id)
        since_s = (self.now_ms - max(cluster.ready_ms(job), before.at_ms if before is not None else 0)) / 1000
        how_long = max(1.0, waited_s / max(60.0, LONG_WAIT * cluster.learned.long_wait_s))
        return WORTH * since_s * job.shape.request.gpus * how_long

    def _choose(self, job: Job) -> tuple[tuple[str, ...], int, float]:
        """The nodes to hold, when they will be empty, and what that will cost. No nodes if that is impossible."""
        cluster, request = self.cluster, job.shape.request
        need = self._sizes(job)
        usable = {name: gpus for name in cluster.nodes if len(gpus := self._usable(name, request)) >= need}
        blocking = {name: self._blocking(gpus, need) for name, gpus in usable.items()}
        known = sorted((runs[-1][0] if runs else float(self.now_ms), name) for name, runs in blocking.items())
        count = 1 if not self.space.is_wide(request) else -(-request.gpus // need)
        if len(known) < count:
            return (), self.now_ms, 0.0
        chosen = [name for _, name in known[:count]]
        runs = {name: [active for _, active in blocking[name]] for name in chosen}
        until_ms = self._all_gone(list({a.job.id: a for some in runs.values() for a in some}.values()))
        return tuple(sorted(chosen)), until_ms, self._price(runs, need, until_ms)

    def _sizes(self, job: Job) -> int:
        """How many GPUs must be free on each node that is held for it."""
        gpus = job.shape.request.gpus
        return self.space.largest_for(job.shape.request) if self.space.is_wide(job.shape.request) else max(1, gpus)

    def _usable(self, name: str, request: Request) -> list[str]:
        """The GPUs of a node that would do once they are free."""
        cluster = self.cluster
        node = cluster.nodes[name]
        if self.space.closed(node) is not None or (request.nodes and name not in request.nodes):
            return []
        if request == Request(gpus=request.gpus, spread=request.spread) and self.space.is_sound(node):
            return list(node.gpus)
        return [gpu.uuid for gpu in node.gpus.values() if self.space.would_do(node, gpu, request)]

    def _blocking(self, gpus: list[str], need: int) -> list[tuple[float, Active]]:
        """The runs that must end before so many of these GPUs are free, and when each will, the first to end first."""
        cluster = self.cluster
        runs: dict[int, int] = {}
        free = 0
        for uuid in gpus:
            claims = cluster.claims.get(uuid)
            free += not claims
            for job in claims or ():
                runs[job] = runs.get(job, 0) + 1
        if free >= need:
            return []
        blocking: list[tuple[float, Active]] = []
        for at_ms, job in sorted((self._ends_ms(job), job) for job in runs):
            if free >= need:
                break
            blocking.append((at_ms, cluster.active[job]))
            free += runs[job]
        return blocking

    def _ends_ms(self, job: int) -> float:
        """When a run will probably end."""
        if (known := self._ends.get(job)) is None:
            active = self.cluster.active[job]
            age_s = max(0.0, (self.now_ms - active.since_ms) / 1000)
            known = self._ends[job] = active.since_ms + 1000 * self._outlook(active).within(LIKELY, age_s)
        return known

    def _outlook(self, active: Active) -> Outlook:
        return self.cluster.learned.outlook(active.job.shape)

    def _all_gone(self, runs: list[Active]) -> int:
        """When all of these runs will almost surely have ended."""
        ahead_s = 1.0
        while runs and ahead_s < 3e7 and self._chance(runs, ahead_s) < SURE:
            ahead_s *= 1.5
        return self.now_ms + (int(1000 * ahead_s) if runs else 0)

    def _chance(self, runs: list[Active], ahead_s: float) -> float:
        """The probability that all of them have ended so much later."""
        total = 0.0
        for active in runs:
            age_s = max(0.0, (self.now_ms - active.since_ms) / 1000)
            total += log(max(1e-9, self._outlook(active).still_ends_by(age_s + ahead_s, age_s)))
            if total < -1:
                return 0.0
        return exp(total)

    def _price(self, runs: dict[str, list[Active]], need: int, until_ms: int) -> float:
        """What will stand idle until then, in GPU seconds: GPUs that are free now, and those that become free until then."""
        span_s = (until_ms - self.now_ms) / 1000
        price = 0.0
        for name, blocking in runs.items():
            free = min(need, idle_gpus(self.cluster, (name,), self.space))
            price += span_s * free
            for quarter in (0.125, 0.375, 0.625, 0.875):
                price += self._chance(blocking, span_s * quarter) * span_s / 4 * (need - free)
        return price


def idle_gpus(cluster: Cluster, nodes: tuple[str, ...], space: Space) -> int:
    """How many GPUs of these nodes no job has or is about to get."""
    gpus = (uuid for name in nodes if name in cluster.nodes for uuid in cluster.nodes[name].gpus)
    return sum(uuid not in cluster.claims and uuid not in space.given for uuid in gpus)
