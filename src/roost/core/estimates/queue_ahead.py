"""What is ahead of a waiting job, and why: jobs that the policy considers first and that could take the same GPUs.

Pure, and bounded: lines are walked from their heads, and the counting stops at `MAX_COUNTED`.
"""

from heapq import nsmallest

import msgspec

from roost.core.cluster import Cluster
from roost.core.model import RANK_STEP, Job, Request
from roost.core.plan.placement import may_use
from roost.core.plan.planner import over_limit, policy_of
from roost.core.policy._weights import excess, share, turn
from roost.messages import Message

MAX_COUNTED = 1000
NAMED = 3


class Earlier(msgspec.Struct, frozen=True):
    """A job that goes first, and why."""

    id: int
    user: str
    why: Message


class Queue(msgspec.Struct, frozen=True):
    """The jobs that go first: how many, and the first few. With a `count` of `MAX_COUNTED` there may be more."""

    count: int
    jobs: tuple[Earlier, ...]


def ahead_of(cluster: Cluster, job: Job, now_ms: int) -> Queue:
    """What the policy puts before that job."""
    key = policy_of(cluster).key
    own = key(job, cluster, now_ms)
    first: list[tuple[tuple[float, ...], Job]] = []
    count, wanted = 0, _Wanted(cluster, job.shape.request)
    for request, lines in cluster.asking.items():
        if not wanted.is_wanted_by(request):
            continue
        for shape, line in lines.items():
            if over_limit(cluster, shape) is not None:
                continue
            for nth, other in enumerate(cluster.in_line(line)):
                if other.id == job.id or count >= MAX_COUNTED or (at := key(other, cluster, now_ms)) >= own:
                    break
                count += 1
                if nth < NAMED:
                    first.append((at, other))
    named = nsmallest(NAMED, first, key=lambda found: found[0])
    return Queue(count, tuple(Earlier(o.id, o.shape.user, why_first(cluster, o, job)) for _, o in named))


class _Wanted:
    """The GPUs that a request could ever take, and whether another could take one of them."""

    def __init__(self, cluster: Cluster, request: Request) -> None:
        self.cluster, self.has_gpus = cluster, request.gpus > 0
        self.known: dict[Request, bool] = {}
        self.gpus = self._usable(request)

    def _usable(self, request: Request) -> set[str]:
        nodes = self.cluster.nodes.values()
        on = [node for node in nodes if not request.nodes or node.name in request.nodes]
        if not request.gpus:
            return {node.name for node in on}
        return {g.uuid for node in on for g in node.gpus.values() if may_use(self.cluster, node, g, request)}

    def is_wanted_by(self, request: Request) -> bool:
        if (request.gpus > 0) != self.has_gpus:
            return False
        bound = Request(
            gpus=min(1, request.gpus),
            gpu_ids=request.gpu_ids,
            nodes=request.nodes,
            models=request.models,
            min_gpu_mem_mib=request.min_gpu_mem_mib,
        )
        if bound not in self.known:
            self.known[bound] = not self.gpus.isdisjoint(self._usable(bound))
        return self.known[bound]


def why_first(cluster: Cluster, other: Job, job: Job) -> Message:
    """Why the policy puts the other job before this one."""
    policy, user, mine = str(cluster.settings["policy"]), other.shape.user, job.shape.user
    if policy in ("balance", "swift"):
        theirs, own = share(cluster, user), share(cluster, mine)
        if theirs[0] < own[0]:
            return Message("reason.ahead_weight", user=user, weight=f"{cluster.user(user).weight:g}")
        if policy == "balance" and theirs < own:
            return Message("reason.ahead_has_less", user=user, other=mine)
        if policy == "balance" and theirs == own and turn(cluster, user) < turn(cluster, mine):
            return Message("reason.ahead_served_earlier", user=user, other=mine)
    if other.shape.priority > job.shape.priority:
        return Message("reason.ahead_priority")
    if other.rank < other.id * RANK_STEP:
        return Message("reason.ahead_moved")
    if policy == "swift":
        return _sooner(cluster, other, job)
    return Message("reason.ahead_older" if other.rank < job.rank else "reason.ahead_policy")


def _sooner(cluster: Cluster, other: Job, job: Job) -> Message:
    """What counts most for the other in the order of target starts: its age, its shortness, or what its user has."""
    typical_s = cluster.learned.outlook(other.shape).typical_s
    shorter_s = cluster.learned.outlook(job.shape).typical_s - typical_s
    user, mine = other.shape.user, job.shape.user
    less = max(0.0, excess(cluster, mine)) - max(0.0, excess(cluster, user))
    worse = cluster.learned.ill_fared(user) - cluster.learned.ill_fared(mine)
    by_s = {
        Message("reason.ahead_older"): (cluster.ready_ms(job) - cluster.ready_ms(other)) / 1000,
        Message("reason.ahead_shorter", s=_round(typical_s)): cluster.number("policy.wait_factor") * shorter_s,
        Message("reason.ahead_would_have_less", user=user, other=mine): (
            cluster.number("policy.fair_share_penalty_s") * less
        ),
        Message("reason.ahead_waited_longer", user=user): cluster.number("policy.wait_compensation_s") * worse,
    }
    if user == mine:
        by_s = dict(list(by_s.items())[:2])
    return max(by_s, key=lambda why: by_s[why])


def _round(seconds: float) -> int:
    """To what a person would say."""
    for unit in (86_400, 3600, 60):
        if seconds >= unit:
            return round(seconds / unit) * unit
    return max(1, round(seconds))
