"""Where a request fits: the GPUs that leave the best room, or the reasons why there are none.

Pure. `Space` is the cluster as a plan in the making sees it: what is held, and what this plan has already given away. A GPU
is one sum: slots, memory, and what the driver said. Exclusive, slots, memory shares and MIG slices are the same arithmetic.
"""

from __future__ import annotations

import msgspec

from roost.core.cluster import Cluster, Node, claim
from roost.core.model import Active, Claim, Gpu, Request
from roost.core.reasons import (
    CpuSlots,
    GpuBusy,
    GpuClosed,
    GpuFault,
    GpuForeign,
    GpuMemory,
    GpuNotAsked,
    GpuTaken,
    GpuUnknown,
    Holder,
    HostMemory,
    NodeAway,
    NodeIsDrained,
    NoNodes,
    Reason,
    Refusal,
    TooFewGpus,
)
from roost.core.words import size


class Place(msgspec.Struct, frozen=True):
    """Where a job will run."""

    node: str
    gpus: tuple[str, ...]


class Space:
    """What is free, less what the plan in the making has given away."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.given: dict[str, list[Claim]] = {}
        self.cpu_given: dict[str, int] = {}

    def give(self, job: int, request: Request, place: Place) -> None:
        """Count a planned start as held."""
        if not place.gpus:
            self.cpu_given[place.node] = self.cpu_given.get(place.node, 0) + 1
        node = self.cluster.nodes[place.node]
        for uuid in place.gpus:
            taken = claim(job, request, node.gpus[uuid], self.cluster.rules_of(uuid))
            self.given.setdefault(uuid, []).append(taken)

    def claims(self, uuid: str) -> list[Claim]:
        """Every claim on that GPU."""
        return [*self.cluster.claims.get(uuid, {}).values(), *self.given.get(uuid, ())]

    def place(self, request: Request) -> Place | Refusal:
        """The best place for it, or why there is none now."""
        if not self.cluster.nodes:
            return Refusal((NoNodes(),))
        best: tuple[tuple[int, ...], Place] | None = None
        reasons: list[Reason] = []
        for _, node in sorted(self.cluster.nodes.items()):
            found = self._place_on(node, request)
            if isinstance(found, Place):
                score = self._node_score(node, request, found)
                if best is None or score < best[0]:
                    best = (score, found)
            else:
                reasons.extend(found)
        return best[1] if best else Refusal(tuple(reasons))

    def _node_score(self, node: Node, request: Request, place: Place) -> tuple[int, ...]:
        """Preferred GPUs first, then the node that is fullest: whole nodes stay whole."""
        wanted = sum(not is_named(self.cluster, node, node.gpus[u], request.prefer_gpus) for u in place.gpus)
        free = sum(not self.claims(uuid) for uuid in node.gpus)
        return (wanted if request.prefer_gpus else 0, free)

    def _place_on(self, node: Node, request: Request) -> Place | list[Reason]:
        if (closed := self.closed(node)) is not None:
            return [closed]
        if request.gpus == 0:
            return self._cpu_slot(node)
        fitting: list[tuple[tuple[int, ...], str]] = []
        reasons: list[Reason] = []
        for gpu in node.gpus.values():
            reason = self.refuses(node, gpu, request)
            if reason is None:
                fitting.append((self._gpu_score(node, gpu, request), gpu.uuid))
            elif not isinstance(reason, GpuNotAsked):
                reasons.append(reason)
        if len(fitting) < request.gpus:
            return [
                TooFewGpus(node=node.name, asked=request.gpus, free=len(fitting), total=len(node.gpus)),
                *reasons,
            ]
        fitting.sort()
        chosen = sorted((u for _, u in fitting[: request.gpus]), key=lambda u: node.gpus[u].index)
        return Place(node.name, tuple(chosen))

    def closed(self, node: Node) -> Reason | None:
        """Why nothing at all may start on that node now."""
        if not node.attached:
            return NodeAway(node=node.name, why=node.reason)
        if node.drained:
            return NodeIsDrained(node=node.name)
        if (host := node.host) is not None:
            floor = int(self.cluster.number("safety.host_mem") * host.mem_mib)
            if host.mem_available_mib < floor:
                return HostMemory(node=node.name, available_mib=host.mem_available_mib, floor_mib=floor)
        return None

    def _cpu_slot(self, node: Node) -> Place | list[Reason]:
        slots = cpu_slots(self.cluster, node)
        if node.cpu_used + self.cpu_given.get(node.name, 0) < slots:
            return Place(node.name, ())
        active = [a for a in self.cluster.active.values() if a.node == node.name and not a.gpus]
        return [CpuSlots(node=node.name, slots=slots, holders=tuple(map(_holder, active)))]

    def _gpu_score(self, node: Node, gpu: Gpu, request: Request) -> tuple[int, ...]:
        """Preferred first; sharing jobs onto the fullest GPU that has room; then the lowest index."""
        preferred = bool(request.prefer_gpus) and is_named(self.cluster, node, gpu, request.prefer_gpus)
        return (not preferred, self.free_mib(gpu), gpu.index)

    def refuses(self, node: Node, gpu: Gpu, request: Request) -> Reason | None:
        """Why that GPU will not do for that request now; None when it will."""
        cluster, name = self.cluster, f"{node.name}:{gpu.index}"
        rules = cluster.rules_of(gpu.uuid)
        if request.gpu_ids and not is_named(cluster, node, gpu, request.gpu_ids):
            return GpuNotAsked(gpu=name, asked=request.gpu_ids)
        if rules.disabled or rules.drained:
            return GpuClosed(gpu=name, how="disabled" if rules.disabled else "drained")
        seen = cluster.seen.get(gpu.uuid)
        if seen is None:
            return GpuUnknown(gpu=name)
        if seen.fault is not None:
            return GpuFault(gpu=name, fault=seen.fault)
        claims = self.claims(gpu.uuid)
        if not request.is_shared:
            if seen.foreign:
                return GpuForeign(gpu=name, procs=seen.foreign)
            used, needed = sum(c.slots for c in claims), rules.slots if request.exclusive else 1
            if used + needed > rules.slots or (request.exclusive and claims):
                return GpuTaken(gpu=name, slots=rules.slots, holders=self._holders(claims))
        asked = claim(0, request, gpu, rules).mem_mib
        if (free := self.free_mib(gpu)) < asked + self._floor_mib(gpu, request):
            if rules.slots == 1 and not request.is_shared:
                return GpuTaken(gpu=name, slots=1, holders=self._holders(claims))
            held = self._holders(claims)
            return GpuMemory(
                gpu=name,
                asked_mib=asked,
                free_mib=free,
                total_mib=gpu.mem_mib,
                holders=held,
                procs=seen.foreign,
            )
        if request.max_util is not None and (seen.util is None or seen.util > request.max_util):
            return GpuBusy(gpu=name, util=seen.util, max_util=request.max_util)
        return None

    def free_mib(self, gpu: Gpu) -> int:
        """Memory that nobody holds: a job counts with what it asked or what it uses, whichever is more."""
        seen = self.cluster.seen.get(gpu.uuid)
        used: dict[int, int] = {}
        foreign = 0
        for process in seen.procs if seen else ():
            if process.run is None:
                foreign += process.mem_mib
            else:
                job = int(process.run.partition(".")[0])
                used[job] = used.get(job, 0) + process.mem_mib
        held = sum(max(c.mem_mib, used.get(c.job, 0)) for c in self.claims(gpu.uuid))
        return max(0, gpu.mem_mib - held - foreign)

    def _floor_mib(self, gpu: Gpu, request: Request) -> int:
        return int(self.cluster.number("safety.gpu_mem") * gpu.mem_mib) if request.is_shared else 0

    def _holders(self, claims: list[Claim]) -> tuple[Holder, ...]:
        active = (self.cluster.active.get(c.job) for c in claims)
        return tuple(_holder(a) for a in active if a is not None)

    def is_full(self, of_gpus: bool) -> bool:
        """Whether nothing that wants GPUs (or, without, a CPU slot) could start anywhere. Cheap: asked before all else."""
        for node in self.cluster.nodes.values():
            if not of_gpus and node.cpu_used + self.cpu_given.get(node.name, 0) < cpu_slots(self.cluster, node):
                return False
            if of_gpus and any(self.free_mib(gpu) > 0 for gpu in node.gpus.values()):
                return False
        return True


def _holder(active: Active) -> Holder:
    return Holder(active.job.id, active.job.shape.user, active.state.value)


def cpu_slots(cluster: Cluster, node: Node) -> int:
    """How many jobs without a GPU may run there at once."""
    return int(cluster.number("cpu.slots")) or node.cpus


def is_named(cluster: Cluster, node: Node, gpu: Gpu, names: tuple[str, ...]) -> bool:
    """Whether one of the names (index, UUID, `node:index`, alias) means that GPU."""
    known = (str(gpu.index), gpu.uuid, f"{node.name}:{gpu.index}", cluster.rules_of(gpu.uuid).alias)
    return any(name in known for name in names)


class Impossible(msgspec.Struct, frozen=True):
    """A request that could not run even on an empty cluster; the most there is, said in one line."""

    message: str
    hint: str | None = None


def impossible(cluster: Cluster, request: Request) -> Impossible | None:
    """Whether the request can never run on what there is."""
    gpus = [(n, g) for n, g in cluster.gpus() if not cluster.rules_of(g.uuid).disabled]
    if request.gpus == 0:
        return Impossible("no node is there to run it") if not cluster.nodes else None
    if not gpus:
        return Impossible(
            "this machine has no GPU",
            "-g 0 runs without one; `roost down && roost up --sim 4x24G --detach` simulates some",
        )
    for name in request.gpu_ids:
        if any(is_named(cluster, n, g, (name,)) for n, g in cluster.gpus() if cluster.rules_of(g.uuid).disabled):
            return Impossible(f"GPU {name} is disabled", f"roost gpu enable {name}")
        if not any(is_named(cluster, n, g, (name,)) for n, g in gpus):
            return Impossible(f"there is no GPU {name}: {_named(gpus)}", "roost gpus")
    best = 0
    for node in cluster.nodes.values():
        fitting = sum(1 for n, g in gpus if n is node and _could_fit(cluster, n, g, request))
        best = max(best, fitting)
    if best >= request.gpus:
        return None
    return Impossible(_most(cluster, gpus, request, best))


def _could_fit(cluster: Cluster, node: Node, gpu: Gpu, request: Request) -> bool:
    if request.gpu_ids and not is_named(cluster, node, gpu, request.gpu_ids):
        return False
    floor = cluster.number("safety.gpu_mem") if request.is_shared else 0
    return request.mem_mib is None or request.mem_mib <= gpu.mem_mib - int(floor * gpu.mem_mib)


def _named(gpus: list[tuple[Node, Gpu]]) -> str:
    return "there are " + ", ".join(f"{n.name}:{g.index}" for n, g in gpus[:16]) if gpus else "there are none"


def _most(cluster: Cluster, gpus: list[tuple[Node, Gpu]], request: Request, best: int) -> str:
    largest = max(sum(1 for n, _ in gpus if n is node) for node in cluster.nodes.values())
    asked = f"asked for {request.gpus} GPU{'s' * (request.gpus != 1)}"
    where = (
        f"there {'is' if largest == 1 else 'are'} {largest}"
        if len(cluster.nodes) == 1
        else f"the largest node has {largest}"
    )
    if request.gpus > largest:
        return f"{asked}, {where}"
    if request.gpu_ids:
        return f"{asked}, but only {best} of those named ({','.join(request.gpu_ids)}) would do"
    most = max(g.mem_mib for _, g in gpus)
    each, largest_mem = size(request.mem_mib or 0), size(most)
    if each == largest_mem:
        each, largest_mem = f"{request.mem_mib} MiB", f"{most} MiB"
    return f"{asked} with {each}{' each' * (request.gpus > 1)}; {best} would do, the largest has {largest_mem}"
