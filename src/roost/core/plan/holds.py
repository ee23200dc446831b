"""Keeping nodes free for a job that needs many GPUs at once and has waited long, so that narrow ones cannot starve it.

Kept GPUs stand idle, and that is paid from a purse, which fills at `policy.purse` of the cluster: however wrong the
predictions are, keeping can cost no more. One job at a time, the one whose turn it is: its wait must already be worth what
the keeping will probably cost, the more so the longer it waited compared with others. Those nodes are chosen that will empty
first. Others may use them meanwhile if they will almost surely be gone by then. What costs or takes twice what was foreseen
is given up, and the job's wait counts from there. The next time the purse must hold twice what that cost: else one attempt
after the other would begin too early, and end for want of money.
"""

from math import exp, log

import msgspec

from roost.core import events as ev
from roost.core.cluster import Cluster
from roost.core.model import Active, Job, Keeping, Request
from roost.core.plan.placement import Space
from roost.core.predictions import Outlook

WORTH = 0.2
"""Keeping may cost so many GPU seconds for each one that the job has waited for, times its GPUs…"""
LONG = 0.3
"""…and more in proportion, once it has waited longer than this part of what hardly anybody waits."""
OVERRUN = 2.0
SURE, LIKELY, GONE = 0.8, 0.7, 0.9
"""Chances: that all of it is empty by then; with which a node's time is reckoned; that a guest has left by then."""
PURSE_HOURS, SAVED_HOURS = 6, 500
"""The purse holds what comes in in so many hours; what is more is saved, so many hours of it…"""
SMALL, SAVED_FOR_S = 0.25, 7 * 86_400
"""…for jobs that take a small part of the cluster, or have waited so long: most of a cluster is not emptied every day."""
NODE_HOURS = 2
"""Where the cluster is small, the purse holds at least so many hours of its largest node."""
CHOOSE_MS, AGAIN_MS = 120_000, 300_000
"""The choice of nodes is thought over so often, and what was too dear after so long; sooner where all is quicker."""


class Keeper:
    """What a plan knows of keeping: the purse brought up to now, and what is kept."""

    def __init__(self, cluster: Cluster, space: Space, now_ms: int) -> None:
        self.cluster, self.space, self.now_ms = cluster, space, now_ms
        self.keeping, self.purse, self.savings = cluster.keeping, cluster.purse, cluster.savings
        self.gave_up: int | None = None
        self.in_vain = 0.0
        self.again_ms = cluster.keep_again_ms
        self.rate = cluster.number("policy.purse") * cluster.gpu_count
        self._ends: dict[int, float] = {}
        self._pay()

    def _pay(self) -> None:
        """Fill the purse by the time that went by, and pay for what stood idle in it."""
        cluster, now_ms = self.cluster, self.now_ms
        passed_s = max(0, now_ms - cluster.purse_ms) / 1000 if cluster.purse_ms is not None else 0.0
        self.purse += passed_s * self.rate
        if (more := self.purse - self._most) > 0:
            self.purse -= more
            self.savings = min(SAVED_HOURS * 3600 * self.rate, self.savings + more)
        keeping = self.keeping
        if keeping is None:
            return
        idle = keeping.idle * passed_s
        self.purse -= idle
        if self.purse < 0 and keeping.is_saved_for:
            saved = min(self.savings, -self.purse)
            self.purse, self.savings = self.purse + saved, self.savings - saved
        if keeping.job not in cluster.open or not self.rate:
            self.drop()
            return
        self.keeping = msgspec.structs.replace(keeping, spent=keeping.spent + idle)
        is_late = now_ms - keeping.since_ms > OVERRUN * (keeping.until_ms - keeping.since_ms) + 1000
        if self.purse < 0 or is_late or self.keeping.spent > OVERRUN * keeping.expected:
            self.gave_up, self.in_vain = keeping.job, self.keeping.spent
            self.drop()

    @property
    def _most(self) -> float:
        """What the purse holds."""
        least = NODE_HOURS * 3600 * self.space.largest if self.rate else 0
        return max(PURSE_HOURS * 3600 * self.rate, least)

    def drop(self) -> None:
        """Keep nothing any longer."""
        self.keeping = None
        self.space.keep(())

    def think(self, stuck: list[Job]) -> None:
        """Choose what to keep, for the first of those that do not fit, or choose again when it was long ago."""
        if self.keeping is not None:
            after_ms = min(CHOOSE_MS, max(1000, (self.keeping.until_ms - self.keeping.chosen_ms) // 4))
            if self.now_ms - self.keeping.chosen_ms >= after_ms and self.gave_up is None:
                job = self.cluster.jobs[self.keeping.job]
                nodes, until_ms, _ = self._choose(job)
                until_ms = min(until_ms, self.keeping.until_ms)  # never later, or guests would come for ever
                self.keeping = msgspec.structs.replace(self.keeping, nodes=nodes, chosen_ms=self.now_ms, until_ms=until_ms)
                self.space.keep(nodes)
            return
        if not stuck:
            self.again_ms = self.now_ms + int(min(AGAIN_MS, max(250, 50 * self.cluster.number("policy.patience_s"))))
            return
        job = min(stuck, key=self._turn)
        waited_ms = self.now_ms - self.cluster.ready_ms(job)
        self.again_ms = self.now_ms + min(AGAIN_MS, max(1000, waited_ms // 20))
        nodes, until_ms, price = self._choose(job)
        is_small = job.shape.request.gpus <= SMALL * self.cluster.gpu_count
        is_saved_for = is_small or waited_ms >= 1000 * SAVED_FOR_S
        means = self.purse + self.savings if is_saved_for else self.purse
        learned = OVERRUN * (before.in_vain if (before := self.cluster.gave_up.get(job.id)) is not None else 0.0)
        if nodes and max(price, min(learned, self._most)) <= means and price <= self._worth(job):
            expected = max(price, learned, 60.0 * job.shape.request.gpus)
            self.keeping = Keeping(job.id, nodes, self.now_ms, self.now_ms, until_ms, expected, is_saved_for=is_saved_for)
            self.space.keep(nodes)

    @property
    def may_think(self) -> bool:
        """Whether it is worth looking for a job that nodes could be kept for."""
        has_means = self.purse > 0 or self.savings > 0
        return self.keeping is None and has_means and self.gave_up is None and self.now_ms >= self.again_ms

    def event(self) -> ev.Kept | None:
        """What must be remembered of it until the next plan; None when nothing has changed."""
        cluster, keeping = self.cluster, self.keeping
        if keeping is not None:
            idle = idle_gpus(cluster, keeping.nodes, self.space) if len(cluster.open) > 1 else 0
            keeping = msgspec.structs.replace(keeping, idle=idle)
        is_same = keeping is None and cluster.keeping is None and self.again_ms == cluster.keep_again_ms
        if is_same and (cluster.purse_ms is not None or not self.rate):
            return None
        return ev.Kept(self.now_ms, keeping, self.purse, self.gave_up, self.again_ms, self.savings, self.in_vain)

    def is_due(self, job: Job) -> bool:
        """Whether a job that does not fit has waited long enough for anything to be kept for it."""
        patience_s = max(self.cluster.number("policy.patience_s"), self._typical_s(job))
        return self.now_ms - self.cluster.ready_ms(job) >= 1000 * patience_s

    def _turn(self, job: Job) -> tuple[float, int]:
        """Whose turn it is: the same order of age and shortness in which jobs start."""
        alpha = self.cluster.number("policy.alpha")
        return (self.cluster.ready_ms(job) + 1000 * alpha * self._typical_s(job), job.id)

    def _typical_s(self, job: Job) -> float:
        return self.cluster.learned.outlook(job.shape).typical_s

    def _worth(self, job: Job) -> float:
        cluster = self.cluster
        waited_s = (self.now_ms - cluster.ready_ms(job)) / 1000
        before = cluster.gave_up.get(job.id)
        since_s = (self.now_ms - max(cluster.ready_ms(job), before.at_ms if before is not None else 0)) / 1000
        how_long = max(1.0, waited_s / max(60.0, LONG * cluster.learned.long_wait_s))
        return WORTH * since_s * job.shape.request.gpus * how_long

    def _choose(self, job: Job) -> tuple[tuple[str, ...], int, float]:
        """The nodes to keep, when they will be empty, and what that will cost. No nodes where it cannot be done."""
        cluster, request = self.cluster, job.shape.request
        need = self._sizes(job)
        usable = {name: gpus for name in cluster.nodes if len(gpus := self._usable(name, request)) >= need}
        ways = {name: self._in_the_way(gpus, need) for name, gpus in usable.items()}
        known = sorted((way[-1][0] if way else float(self.now_ms), name) for name, way in ways.items())
        count = 1 if not self.space.is_wide(request) else -(-request.gpus // need)
        if len(known) < count:
            return (), self.now_ms, 0.0
        chosen = [name for _, name in known[:count]]
        runs = {name: [active for _, active in ways[name]] for name in chosen}
        until_ms = self._all_gone(list({a.job.id: a for some in runs.values() for a in some}.values()))
        return tuple(sorted(chosen)), until_ms, self._price(runs, need, until_ms)

    def _sizes(self, job: Job) -> int:
        """How many GPUs must be free on a node that is kept for it."""
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

    def _in_the_way(self, gpus: list[str], need: int) -> list[tuple[float, Active]]:
        """The runs that must end before so many of these GPUs are free, those that end first, with when they will."""
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
        way: list[tuple[float, Active]] = []
        for at_ms, job in sorted((self._ends_ms(job), job) for job in runs):
            if free >= need:
                break
            way.append((at_ms, cluster.active[job]))
            free += runs[job]
        return way

    def _ends_ms(self, job: int) -> float:
        """When a run will probably have ended."""
        if (known := self._ends.get(job)) is None:
            active = self.cluster.active[job]
            age_s = max(0.0, (self.now_ms - active.since_ms) / 1000)
            known = self._ends[job] = active.since_ms + 1000 * self._outlook(active).within(LIKELY, age_s)
        return known

    def _outlook(self, active: Active) -> Outlook:
        return self.cluster.learned.outlook(active.job.shape)

    def _all_gone(self, runs: list[Active]) -> int:
        """When all of these runs will have ended, almost surely."""
        ahead_s = 1.0
        while runs and ahead_s < 3e7 and self._chance(runs, ahead_s) < SURE:
            ahead_s *= 1.5
        return self.now_ms + (int(1000 * ahead_s) if runs else 0)

    def _chance(self, runs: list[Active], ahead_s: float) -> float:
        """The chance that all of them have ended so much later."""
        total = 0.0
        for active in runs:
            age_s = max(0.0, (self.now_ms - active.since_ms) / 1000)
            total += log(max(1e-9, self._outlook(active).still_ends_by(age_s + ahead_s, age_s)))
            if total < -1:
                return 0.0
        return exp(total)

    def _price(self, runs: dict[str, list[Active]], need: int, until_ms: int) -> float:
        """What will stand idle until then, in GPU seconds: what is free now, and what becomes free on the way."""
        span_s = (until_ms - self.now_ms) / 1000
        price = 0.0
        for name, way in runs.items():
            free = min(need, idle_gpus(self.cluster, (name,), self.space))
            price += span_s * free
            for quarter in (0.125, 0.375, 0.625, 0.875):
                price += self._chance(way, span_s * quarter) * span_s / 4 * (need - free)
        return price


def idle_gpus(cluster: Cluster, nodes: tuple[str, ...], space: Space) -> int:
    """How many GPUs of these nodes nobody holds, nor is about to."""
    gpus = (uuid for name in nodes if name in cluster.nodes for uuid in cluster.nodes[name].gpus)
    return sum(uuid not in cluster.claims and uuid not in space.given for uuid in gpus)
