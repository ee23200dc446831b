"""What would start now: the same job asking for a little less, tried where jobs are placed. Pure."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from roost.core.cluster import Cluster
from roost.core.model import Job, Request
from roost.core.plan.placement import Place, Space
from roost.core.plan.planner import effective, first_users, over_limit, own_reasons
from roost.messages import Message

SIZES_GIB = (64, 48, 40, 32, 24, 20, 16, 12, 10, 8, 6, 4, 2)
"""Memory that is tried for a job that would share its GPUs, the most first."""


class Instead(msgspec.Struct, frozen=True):
    """A change of the request, and where the job would then start; `ask`: what to change, as a submission has it."""

    change: Message
    ask: dict[str, Any]
    node: str
    gpus: tuple[int, ...]


def instead(cluster: Cluster, job: Job, now_ms: int) -> list[Instead]:
    """What would start at once; nothing when it is not for want of GPUs that the job waits, or it fits as it is."""
    first = first_users(cluster)
    if cluster.is_paused or any(own_reasons(cluster, job, now_ms)) or (first and job.shape.user not in first):
        return []
    trying = _Trying(cluster, job)
    if trying.place(job.shape.request) is not None:
        return []
    request = job.shape.request
    found = (trying.first(_fewer(request)), trying.first(trying.shared(request)), trying.first(_freer(request)))
    return [each for each in found if each is not None]


Tried = tuple[Message, dict[str, Any], Request]


class _Trying:
    """Places for a job that asks for something else."""

    def __init__(self, cluster: Cluster, job: Job) -> None:
        self.cluster, self.job = cluster, job
        self.space = Space(cluster)  # of its own: what is tried here need not be kept up to date from then on
        self.least_mib = cluster.learned.memory_mib(job.shape, 0.0) or 0

    def place(self, request: Request) -> Place | None:
        """Where it would start now."""
        shape = msgspec.structs.replace(self.job.shape, request=request)
        if over_limit(self.cluster, shape) is not None:
            return None
        return self.space.find(effective(self.cluster, shape))

    def first(self, tried: Iterable[Tried]) -> Instead | None:
        """The first that would start."""
        for change, ask, request in tried:
            if (place := self.place(request)) is not None:
                nodes, node_of = self.cluster.nodes, self.cluster.node_of
                return Instead(change, ask, place.node, tuple(nodes[node_of[u]].gpus[u].index for u in place.gpus))
        return None

    def shared(self, request: Request) -> Iterator[Tried]:
        """The same GPUs, shared with others: the most memory that is free on them, if its like needed no more."""
        if not request.gpus:
            return
        most_mib = 1 << 40 if request.mem_mib is None else request.mem_mib
        sizes = [gib for gib in SIZES_GIB if self.least_mib <= 1024 * gib < most_mib]
        at = bisect_left(sizes, True, key=lambda gib: self.place(_with_memory(request, gib)) is not None)
        if at < len(sizes):
            change = Message("alternative.share", mem=f"{sizes[at]}G")
            yield change, {"mem_mib": 1024 * sizes[at], "exclusive": False}, _with_memory(request, sizes[at])


def _with_memory(request: Request, gib: int) -> Request:
    return msgspec.structs.replace(request, mem_mib=1024 * gib, mem_auto=False, exclusive=False)


def _fewer(request: Request) -> Iterator[Tried]:
    """The most GPUs that are less than were asked."""
    for gpus in range(request.gpus - 1, 0, -1):
        change = Message("alternative.fewer_gpus", gpus=gpus, asked=request.gpus)
        yield change, {"gpus": gpus}, msgspec.structs.replace(request, gpus=gpus)


def _freer(request: Request) -> Iterator[Tried]:
    """Without one of its conditions on GPUs or nodes."""
    conditions: tuple[tuple[Message, str, Any], ...] = (
        (Message("alternative.any_gpu"), "gpu_ids", ()),
        (Message("alternative.any_model"), "models", ()),
        (Message("alternative.any_gpu_memory"), "min_gpu_mem_mib", None),
        (Message("alternative.any_node"), "nodes", ()),
        (Message("alternative.any_utilization"), "max_util", None),
        (Message("alternative.not_exclusive"), "exclusive", False),
    )
    for change, name, value in conditions:
        freer = msgspec.structs.replace(request, **{name: value})
        if freer != request:
            yield change, {"gpu_models" if name == "models" else name: value}, freer
