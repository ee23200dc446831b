"""What starts now, and where; and for what does not, why. The same cluster gives the same answer.

While a plan is made, its starts are counted in the cluster (`gpus_of`, `runs_of`, `runs_in`), where policies and quotas
look; they are taken back before it is returned, and the cluster is what it was.

First what a wide job needs that has waited long (`holds`); then the heads of all lines that could start, in the policy's
order, each put where it leaves the best room; then whether somebody who agreed to it should make room. One shape has one
answer, so a plan costs by shapes and by what changed, not by jobs.
"""

from collections.abc import Callable, Container, Iterable, Iterator
from heapq import heapify, heappop, heappush
from types import ModuleType

import msgspec

from roost.core import events as ev
from roost.core import reasons as r
from roost.core.accounts import SERVER_ACCOUNT
from roost.core.cluster import NO_CONDITIONS, Cluster, Line
from roost.core.model import Active, Conditions, Job, NodeHold, Request, Shape
from roost.core.nodes import Node, nodes_barred
from roost.core.plan.holds import GONE, Holds
from roost.core.plan.placement import Place, Space, impossible
from roost.core.policy import find
from roost.core.states import State
from roost.messages import Message

Head = tuple[tuple[float, ...], Job, Iterator[Job]]


class Start(msgspec.Struct, frozen=True):
    """A job and where it will run."""

    job: Job
    place: Place
    granted_mib: int | None = None
    """What it gets of each GPU when it shares them."""


class Preempt(msgspec.Struct, frozen=True):
    """A running job that is asked to make room, and for which."""

    job: int
    for_job: int


class Plan(msgspec.Struct, frozen=True):
    """What is to happen now."""

    starts: list[Start]
    hold: ev.HoldChanged | None = None
    preempts: list[Preempt] = []


def plan(cluster: Cluster, now_ms: int, limit: int = 256) -> Plan:
    """Choose what starts. At most `limit` starts, so that a round stays short; the next follows at once."""
    if cluster.is_paused or not cluster.lines:
        if cluster.node_hold is None:
            return Plan([])
        holds = Holds(cluster, Space.of(cluster), now_ms)  # pays for what stood idle
        holds.drop()
        return Plan([], holds.event())
    return _Planner(cluster, now_ms, limit).plan()


class _Planner:
    """One plan in the making."""

    def __init__(self, cluster: Cluster, now_ms: int, limit: int) -> None:
        self.cluster, self.now_ms, self.limit = cluster, now_ms, limit
        self.space = Space.of(cluster)
        self.holds = Holds(cluster, self.space, now_ms)
        self.key: Callable[[Job, Cluster, int], tuple[float, ...]] = policy_of(cluster).key
        self.only = first_users(cluster)
        self.starts: list[Start] = []
        self.started: set[int] = set()

    def plan(self) -> Plan:
        try:
            self._protect()
            self._fill()
            if self.only and not first_users(self.cluster, self.started):
                self.only = frozenset()
                self._fill()
            hold = self.holds.event()
            return Plan(self.starts, hold, self._make_room())
        finally:
            for start in self.starts:
                self._count(start.job.shape, -1)
            self.space.take_back()

    # -- what starts ------------------------------------------------------------------------------------------------

    def _fill(self) -> None:
        """In the policy's order, whatever fits starts."""
        heads = self._heads()
        refused: set[Request] = set()
        guests = self.holds.hold is not None
        while heads and len(self.starts) < self.limit:
            was, job, followers = heappop(heads)
            asked = job.shape.request  # where the memory is found out, others may be refused for the same and this one not
            if (not guests and not asked.mem_auto and asked in refused) or self._over(job.shape):
                continue
            if heads and self.starts:
                key = self.key(job, self.cluster, self.now_ms)
                if key > was:  # what was given since has set this user back
                    heappush(heads, (key, job, followers))
                    continue
            request = effective(self.cluster, job.shape)
            place = self.space.find(request) if request not in refused else None
            if place is None:
                refused.add(request)
                if guests and may_use_held(self.cluster, self.holds.hold, job, self.now_ms):
                    place = self.space.find(request, with_held=True)
                if place is None:
                    continue
            self._start(job, request, place)
            if (follower := next(followers, None)) is not None:
                heappush(heads, (self._key(follower, bool(heads)), follower, followers))

    def _heads(self) -> list[Head]:
        """The first of every line that could start now."""
        guests = self.holds.hold is not None
        asking = self.cluster.asking.items()
        heads = self._heads_of(lines for request, lines in asking if request.mem_auto or guests or self.space.could(request))
        heapify(heads)
        return heads

    def _heads_of(self, alike: Iterable[dict[Shape, Line]]) -> list[Head]:
        cluster, only = self.cluster, self.only
        found: list[tuple[Job, Iterator[Job]]] = []
        for shape, line in (item for lines in alike for item in lines.items()):
            if (only and shape.user not in only) or self._over(shape):
                continue
            followers = (job for job in cluster.in_line(line) if job.id not in self.started)
            if (job := next(followers, None)) is not None:
                found.append((job, followers))
        return [(self._key(job, len(found) > 1), job, followers) for job, followers in found]

    def _key(self, job: Job, has_rivals: bool) -> tuple[float, ...]:
        """Its place in the order; where nobody else stands in it, there is nothing to reckon."""
        return self.key(job, self.cluster, self.now_ms) if has_rivals else ()

    def _start(self, job: Job, request: Request, place: Place) -> None:
        self.space.give(job.id, request, place)
        self._count(job.shape, 1)
        self.started.add(job.id)
        self.starts.append(Start(job, place, request.mem_mib))
        if self.holds.hold is not None and self.holds.hold.job == job.id:
            self.holds.drop()

    def _count(self, shape: Shape, sign: int) -> None:
        """Count what a start gives a user while the plan is made."""
        self.cluster.gpus_of[shape.user] += sign * shape.request.gpus
        self.cluster.runs_of[shape.user] += sign
        if shape.group:
            self.cluster.runs_in[shape.group] += sign

    def _over(self, shape: Shape) -> bool:
        cluster = self.cluster
        has_limits = cluster.users or cluster.groups or cluster.account_states is not None
        return bool(has_limits) and over_limit(cluster, shape) is not None

    # -- the wide ---------------------------------------------------------------------------------------------------

    def _protect(self) -> None:
        """Start the job that nodes are held for as soon as it fits; or find one to hold nodes for."""
        holds = self.holds
        if holds.hold is not None:
            job = self.cluster.jobs[holds.hold.job]
            request = effective(self.cluster, job.shape)
            is_free = not self._over(job.shape) and not (self.only and job.shape.user not in self.only)
            if is_free and (place := self.space.find(request, with_held=True)) is not None:
                self._start(job, request, place)
                return
            holds.think([])
        elif holds.may_think:
            holds.think([job for job in self._stuck() if holds.is_due(job)])

    def _stuck(self) -> Iterator[Job]:
        """The first of every line that needs several GPUs, or more of one than others, and does not find that."""
        shares = any(request.is_shared or request.mem_auto for request in self.cluster.asking)
        for request, lines in self.cluster.asking.items():
            is_hard = request.gpus > 1 or request.exclusive or (shares and request.gpus > 0)
            if is_hard and not self.space.could(request):
                for shape, line in lines.items():
                    if (self.only and shape.user not in self.only) or self._over(shape):
                        continue
                    if (job := next(self.cluster.in_line(line), None)) is not None:
                        yield job

    # -- those who agreed to make room ------------------------------------------------------------------------------

    def _make_room(self) -> list[Preempt]:
        """Ask preemptible jobs of one node to make room, for the first job that would fit then; one at a time."""
        cluster = self.cluster
        yielding = [cluster.active[job] for job in sorted(cluster.yielding)]
        able = [active for active in yielding if may_preempt(cluster, active, self.now_ms)]
        if not able or any(active.is_preempted for active in yielding):
            return []
        heads = [head for head in self._heads_of(cluster.asking.values()) if not head[1].shape.preemptible]
        for _, job, _ in sorted(heads, key=lambda head: head[0]):
            request = effective(cluster, job.shape)
            if self.space.find(request) is None and (asked := _who_yields(self.space, request, able)):
                return [Preempt(active.job.id, job.id) for active in asked]
        return []


def may_preempt(cluster: Cluster, active: Active, now_ms: int) -> bool:
    """Whether this job may be asked to make room now: it said so, it runs, and it has had its least time."""
    if not active.job.shape.preemptible or active.state is not State.RUNNING:
        return False
    return now_ms - active.since_ms >= 1000 * cluster.number("preempt.min_run_s")


def _who_yields(space: Space, request: Request, able: list[Active]) -> list[Active]:
    """The fewest jobs of one node, the youngest of them, whose GPUs would let that request fit; none when none would."""
    best: list[Active] = []
    kind = space.kind(request)
    for name in sorted({active.node for active in able}):
        node = space.cluster.nodes[name]
        if name in space.held or space.closed(node) is not None or (request.nodes and name not in request.nodes):
            continue
        missing = request.gpus - sum(space.takes(node, gpu, kind) for gpu in node.gpus.values())
        asked = _fewest(space, node, kind, [a for a in able if a.node == name], missing)
        if asked and (not best or len(asked) < len(best)):
            best = asked
    return best


def _fewest(space: Space, node: Node, kind: Request, able: list[Active], missing: int) -> list[Active]:
    """The fewest of these whose GPUs are enough: one that suffices, the youngest; else those with the most."""
    gain = {a.job.id: sum(space.would_free(node, u, kind, a.job.id) for u in a.gpus if u in node.gpus) for a in able}
    if one := [a for a in able if gain[a.job.id] >= missing]:
        return [min(one, key=lambda a: (gain[a.job.id], -a.since_ms, a.job.id))]
    asked: list[Active] = []
    for active in sorted(able, key=lambda a: (-gain[a.job.id], -a.since_ms, a.job.id)):
        if missing > 0 and gain[active.job.id]:
            asked.append(active)
            missing -= gain[active.job.id]
    return asked if missing <= 0 else []


NOWHERE = ("",)
"""Nodes of a job that nobody runs: no node has that name."""

# -- other reasons to wait -------------------------------------------------------------------------------------------


def effective(cluster: Cluster, shape: Shape) -> Request:
    """What is looked for: what was asked, with the memory that its like used before where that was to be found out.

    Whole GPUs while nothing is known, and where the margin makes it more than any GPU would give.
    """
    request = shape.request
    if cluster.barred and (barred := nodes_barred(cluster, shape)):
        left = tuple(name for name in request.nodes or sorted(cluster.nodes) if name not in barred)
        request = msgspec.structs.replace(request, nodes=left or NOWHERE)
    if not request.mem_auto:
        return request
    mem_mib = cluster.learned.memory_mib(shape, cluster.number("mem.margin"))
    known = msgspec.structs.replace(request, mem_mib=mem_mib)
    return known if mem_mib is None or impossible(cluster, known) is None else request


def policy_of(cluster: Cluster) -> ModuleType:
    """The policy that is set; `swift` where its file is gone."""
    try:
        return find(str(cluster.settings["policy"]))
    except ModuleNotFoundError:
        return find("swift")


def first_users(cluster: Cluster, started: Container[int] = ()) -> frozenset[str]:
    """Users of a negative weight that have a job which may start: while it waits, nobody else's starts."""
    if not any(rules.weight < 0 for rules in cluster.users.values()):
        return frozenset()
    if not getattr(policy_of(cluster), "WEIGHS", False):
        return frozenset()
    return frozenset(
        shape.user
        for shape, line in cluster.lines.items()
        if cluster.user(shape.user).weight < 0
        and over_limit(cluster, shape) is None
        and any(job.id not in started for job in cluster.in_line(line))
    )


def over_limit(cluster: Cluster, shape: Shape) -> r.Reason | None:
    """Why nothing more of that user, account or sweep may start: a quota that is reached, a locked account."""
    if (closed := account_closed(cluster, shape)) is not None:
        return closed
    rules, user = cluster.user(shape.user), shape.user
    if rules.max_gpus is not None and cluster.gpus_of[user] + shape.request.gpus > rules.max_gpus:
        asked = shape.request.gpus
        return r.QuotaReached(user=user, what="GPUs", has=cluster.gpus_of[user], most=rules.max_gpus, asked=asked)
    if rules.max_jobs is not None and cluster.runs_of[user] >= rules.max_jobs:
        return r.QuotaReached(user=user, what="jobs", has=cluster.runs_of[user], most=rules.max_jobs)
    most = cluster.groups.get(shape.group)
    if most is not None and cluster.runs_in[shape.group] >= most:
        return r.SweepFull(sweep=shape.group, running=cluster.runs_in[shape.group], most=most)
    return None


def account_closed(cluster: Cluster, shape: Shape) -> r.Reason | None:
    """Why nothing may run as the account of such a job."""
    if cluster.account_states is None or shape.account == SERVER_ACCOUNT:
        return None
    state = cluster.account_states.get(shape.account, "unknown")
    return None if state == "open" else r.AccountClosed(account=shape.account, state=state)


def explain(
    cluster: Cluster, job: Job, now_ms: int, place: int | None = None, own: Iterable[r.Reason] | None = None
) -> tuple[r.Reason, ...]:
    """Every reason why a waiting job does not start now, its own first, then what it lacks.

    `place` is how many jobs stand before it in the queue, for the case that it would fit; None when that is not known.
    `own` are its own reasons (`condition_reasons`) for a job that is not in the queue.
    """
    reasons: list[r.Reason] = list(own_reasons(cluster, job, now_ms) if own is None else own)
    if cluster.is_paused:
        reasons.append(r.SchedulingPaused())
    over = over_limit(cluster, job.shape)
    is_settled = not isinstance(over, r.AccountClosed) or over.state != "unknown"
    if over is not None and (is_settled or not reasons):
        reasons.append(over)
    first = first_users(cluster)
    if first and job.shape.user not in first:
        reasons.append(r.BehindUser(user=min(first)))
    reasons.extend(
        r.NodeBarred(node=node, why=str(Message.of_text(why)))
        for node, why in sorted(nodes_barred(cluster, job.shape).items())
    )
    with_held = may_use_held(cluster, cluster.node_hold, job, now_ms)
    found = Space.of(cluster).place(effective(cluster, job.shape), with_held)
    if isinstance(found, r.Refusal):
        reasons.extend(found.reasons)
    elif not reasons:
        reasons.append(r.Ahead(jobs=place))
    return tuple(reasons)


def may_use_held(cluster: Cluster, hold: NodeHold | None, job: Job, now_ms: int) -> bool:
    """Whether nodes are held for this very job, or it will almost surely have ended when they are needed."""
    if hold is None:
        return False
    return hold.job == job.id or now_ms + 1000 * cluster.learned.outlook(job.shape).within(GONE) < hold.until_ms


def own_reasons(cluster: Cluster, job: Job, now_ms: int) -> Iterator[r.Reason]:
    """Reasons of its own why this job waits, besides resources."""
    conditions = cluster.conditions.get(job.id, NO_CONDITIONS)
    if cluster.recall.doubts(job.id):
        yield from (r.Recalling(node=node) for node in sorted({node for node, _ in cluster.recall.ask}))
    yield from condition_reasons(cluster, job, conditions, job.id in cluster.held, now_ms)


def condition_reasons(cluster: Cluster, job: Job, conditions: Conditions, is_held: bool, now_ms: int) -> Iterator[r.Reason]:
    """The same for a job under these conditions, whether the cluster knows it or not."""
    if is_held:
        yield r.Held()
    for dependency in conditions.after:
        state = cluster.state_of(dependency.job) or State.ENDED
        yield r.WaitsForJob(job=dependency.job, wants=dependency.wants, state=state.value)
    if conditions.begin_ms is not None and conditions.begin_ms > now_ms:
        left_s = -(-(conditions.begin_ms - now_ms) // 1000)
        yield r.NotBefore(begin_ms=conditions.begin_ms, left_s=left_s, attempts=job.attempts)
