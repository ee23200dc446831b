"""Where a request fits: the GPUs that leave the best room, or the reasons why there are none.

Pure. `Space` is the cluster as a plan in the making sees it: what is held, and what this plan has already given away. A GPU
is one sum: slots, memory, and what the driver said. Exclusive, slots, memory shares and MIG slices are the same arithmetic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator
from heapq import heappop, heappush

import msgspec

from roost.core import reasons as r
from roost.core.cluster import Cluster, claim
from roost.core.model import Active, Claim, Gpu, GpuRules, Observation, Request
from roost.core.nodes import ALL, NO_RULES, Node
from roost.messages import Message, size

MAX_KINDS = 256
"""Kinds of requests whose counts are kept up to date at once."""


class Place(msgspec.Struct, frozen=True):
    """Where a job will run. A wide one has GPUs of several nodes; `node` is the first of them."""

    node: str
    gpus: tuple[str, ...]


class Fits:
    """How many GPUs of each node would take a job of one kind; kept by count, so that the best node is found at once.

    Nodes that are held for a wide job are counted apart.
    """

    __slots__ = ("_heaps", "held", "open", "whole", "whole_gpus")

    def __init__(self) -> None:
        self.open: dict[str, int] = {}
        self.held: dict[str, int] = {}
        self.whole: dict[str, int] = {}
        """Nodes all of whose GPUs would do, with their number."""
        self.whole_gpus = 0
        self._heaps: dict[int, list[str]] = {}

    def put(self, node: str, count: int, size: int, is_held: bool) -> None:
        """That many GPUs of the node would do, of so many."""
        self.whole_gpus -= self.whole.pop(node, 0)
        if is_held:
            self.open.pop(node, None)
            self.held[node] = count
            return
        self.held.pop(node, None)
        if count == size > 0:
            self.whole[node] = size
            self.whole_gpus += size
        if self.open.get(node) != count:
            self.open[node] = count
            if count:
                heap = self._heaps.setdefault(count, [])
                if len(heap) > 4 * len(self.open) + 64:  # mostly leftovers of nodes that have changed since
                    heap[:] = sorted({n for n in heap if self.open.get(n) == count})
                heappush(heap, node)

    def drop(self, node: str) -> None:
        """The node is gone."""
        self.whole_gpus -= self.whole.pop(node, 0)
        self.open.pop(node, None)
        self.held.pop(node, None)

    def tightest(self, need: int, besides: Container[str] = ()) -> str | None:
        """The node with the fewest that suffice, and of those the first by name."""
        for count in sorted(c for c in self._heaps if c >= need):
            heap, aside = self._heaps[count], []
            found = None
            while heap:
                node = heap[0]
                if self.open.get(node) != count:
                    heappop(heap)
                elif node in besides:
                    aside.append(heappop(heap))
                else:
                    found = node
                    break
            for node in aside:
                heappush(heap, node)
            if not heap:
                del self._heaps[count]
            if found is not None:
                return found
        return None


class Space:
    """What is free, less what the plan in the making has given away.

    Made once for a cluster and brought up to date by the nodes that were touched since: a step costs by what changed.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.given: dict[str, list[Claim]] = {}
        self.cpu_given: dict[str, int] = {}
        self.largest = max((len(node.gpus) for node in cluster.nodes.values()), default=0)
        self._sizes = {name: len(node.gpus) for name, node in cluster.nodes.items()}
        self._kinds: dict[Request, Fits] = {}
        self._kind_of: dict[Request, Request] = {}
        self.held = frozenset(cluster.node_hold.nodes if cluster.node_hold else ())
        self._given_on: set[str] = set()

    @classmethod
    def of(cls, cluster: Cluster) -> Space:
        """The space of that cluster, up to date, with nothing given away."""
        space = cluster.index
        if not isinstance(space, Space) or space.cluster is not cluster:
            space = cluster.index = cls(cluster)
            cluster.touched.add(ALL)
        space.take_back()
        space._refresh()
        return space

    def _refresh(self) -> None:
        cluster = self.cluster
        held = frozenset(cluster.node_hold.nodes) if cluster.node_hold else frozenset()
        touched = cluster.touched | (held ^ self.held)
        self.held = held
        if ALL in touched:
            wanted = {self.kind(request) for request in cluster.asking}
            self._kinds = {kind: Fits() for kind in wanted if kind in self._kinds}
            self._kind_of.clear()
            touched = set(cluster.nodes)
        for name in touched:
            self._recount(name)
        cluster.touched.clear()

    def hold(self, nodes: Iterable[str]) -> None:
        """From now on, in this plan, these nodes are held, and no others."""
        held = frozenset(nodes)
        changed, self.held = held ^ self.held, held
        for name in changed:
            self._recount(name)

    def _recount(self, name: str) -> None:
        node = self.cluster.nodes.get(name)
        for kind, fits in self._kinds.items():
            if node is None:
                fits.drop(name)
            else:
                fits.put(name, self._fitting(node, kind), len(node.gpus), name in self.held)
        size = len(node.gpus) if node is not None else 0
        if self._sizes.get(name) != size:
            self._sizes[name] = size
            self.largest = max(self._sizes.values())

    def _fitting(self, node: Node, kind: Request) -> int:
        """How many GPUs of that node would do; of CPU slots, for a job without GPUs."""
        if self.closed(node) is not None or (kind.nodes and node.name not in kind.nodes):
            return 0
        if kind.gpus == 0:
            return cpu_slots(self.cluster, node) - node.cpu_used - self.cpu_given.get(node.name, 0)
        return sum(self.takes(node, gpu, kind) for gpu in self._worth_asking(node, kind))

    def _worth_asking(self, node: Node, kind: Request) -> Iterable[Gpu]:
        """The GPUs of a node without those that somebody has who leaves nothing to others: by far the most."""
        if kind.is_shared:
            return node.gpus.values()
        held, given, ruled = self.cluster.claims, self.given, self.cluster.rules
        return [gpu for uuid, gpu in node.gpus.items() if uuid in ruled or not (uuid in held or uuid in given)]

    def kind(self, request: Request) -> Request:
        """What matters of a request on a single GPU: all but their number, and what it would like."""
        kind = self._kind_of.get(request)
        if kind is None:
            if len(self._kind_of) >= 64 * MAX_KINDS:
                self._kind_of.clear()
            kind = msgspec.structs.replace(
                request, gpus=min(request.gpus, 1), prefer_gpus=(), prefer_nodes=(), mem_auto=False, spread=False
            )
            self._kind_of[request] = kind
        return kind

    def fits_of(self, request: Request) -> Fits:
        """Where such a request finds GPUs."""
        kind = self.kind(request)
        fits = self._kinds.get(kind)
        if fits is None:
            if len(self._kinds) >= MAX_KINDS:
                self._kinds.clear()
            fits = self._kinds[kind] = Fits()
            for name, node in self.cluster.nodes.items():
                fits.put(name, self._fitting(node, kind), len(node.gpus), name in self.held)
        return fits

    def is_wide(self, request: Request) -> bool:
        """Whether it takes more than any one node has."""
        return request.spread and request.gpus > self.largest_for(request)

    def largest_for(self, request: Request) -> int:
        """How many GPUs the largest node has that it may use."""
        if not (request.nodes or request.models or request.gpu_ids or request.min_gpu_mem_mib):
            return self.largest
        nodes = (node for node in self.cluster.nodes.values() if not request.nodes or node.name in request.nodes)
        usable = (sum(may_use(self.cluster, node, gpu, request) for gpu in node.gpus.values()) for node in nodes)
        return max(usable, default=0)

    def is_sound(self, node: Node) -> bool:
        """Whether all of its GPUs work, have no process on them, and no rule."""
        rules, seen = self.cluster.rules, self.cluster.seen
        for uuid in node.gpus:
            known = seen.get(uuid)
            if known is None or known.fault is not None or known.claimed_by or known.procs or uuid in rules:
                return False
        return not any(uuid in self.cluster.orphaned for uuid in node.gpus)

    def would_do(self, node: Node, gpu: Gpu, request: Request) -> bool:
        """Whether that GPU would do once nobody has it."""
        rules, seen = self.cluster.rules_of(gpu.uuid), self.cluster.seen.get(gpu.uuid)
        is_sound = seen is not None and seen.fault is None and seen.claimed_by is None and not seen.foreign
        return is_sound and not rules.disabled and not rules.drained and may_use(self.cluster, node, gpu, request)

    def could(self, request: Request) -> bool:
        """Whether it would fit now, outside of held nodes. Cheap."""
        fits = self.fits_of(request)
        if self.is_wide(request):
            return fits.whole_gpus + self.largest >= request.gpus and self._spread(request, fits, fits.whole) is not None
        return fits.tightest(max(1, request.gpus)) is not None

    def give(self, job: int, request: Request, place: Place) -> None:
        """Count a planned start as held."""
        if not place.gpus:
            self.cpu_given[place.node] = self.cpu_given.get(place.node, 0) + 1
        changed = {place.node}
        for uuid in place.gpus:
            name = self.cluster.node_of[uuid]
            taken = claim(job, request, self.cluster.nodes[name].gpus[uuid], self.cluster.rules_of(uuid))
            self.given.setdefault(uuid, []).append(taken)
            changed.add(name)
        self._given_on |= changed
        for name in changed:
            self._recount(name)

    def take_back(self) -> None:
        """Forget what was given: the plan is made."""
        if self._given_on:
            self.given, self.cpu_given = {}, {}
            self.cluster.touched |= self._given_on
            self._given_on = set()

    def claims(self, uuid: str) -> list[Claim]:
        """Every claim on that GPU."""
        held = self.cluster.claims.get(uuid)
        given = self.given.get(uuid)
        if given is None:
            return list(held.values()) if held else []
        return [*held.values(), *given] if held else given

    def place(self, request: Request, with_held: bool = False) -> Place | r.Refusal:
        """The best place for it, or why there is none now. `with_held`: also on held nodes."""
        found = self.find(request, with_held)
        return found if found is not None else r.Refusal(tuple(self._reasons(request)))

    def find(self, request: Request, with_held: bool = False) -> Place | None:
        """The best place for it, or None."""
        fits = self.fits_of(request)
        if self.is_wide(request):
            whole = fits.whole
            if with_held:
                nodes = self.cluster.nodes
                whole = whole | {n: c for n, c in fits.held.items() if c == len(nodes[n].gpus) > 0}
            return self._spread(request, fits, whole, with_held)
        need = max(1, request.gpus)
        if request.prefer_gpus or request.prefer_nodes:
            name = self._preferred(request, fits, need, with_held)
        else:
            name = fits.tightest(need)
            if name is None and with_held:
                name = min(((c, n) for n, c in fits.held.items() if c >= need), default=(0, None))[1]
        if name is None:
            return None
        return Place(name, tuple(self._choose(self.cluster.nodes[name], request, request.gpus)))

    def _spread(self, request: Request, fits: Fits, whole: dict[str, int], with_held: bool = False) -> Place | None:
        """Whole nodes, and the rest where it leaves the best room."""
        left, chosen = request.gpus, []
        if left > sum(whole.values()) + self.largest:
            return None
        for name in sorted(whole, key=lambda n: (n not in self.held, n)):
            if whole[name] <= left:
                chosen.append(name)
                left -= whole[name]
            if not left:
                break
        gpus = [uuid for name in chosen for uuid in self.cluster.nodes[name].gpus]
        if left:
            last = fits.tightest(left, chosen) if left <= self.largest else None
            if last is None and with_held:
                rest = ((c, n) for n, c in fits.held.items() if c >= left and n not in chosen)
                last = min(rest, default=(0, None))[1]
            if last is None:
                return None
            gpus += self._choose(self.cluster.nodes[last], request, left)
            chosen.append(last)
        return Place(chosen[0], tuple(gpus))

    def _preferred(self, request: Request, fits: Fits, need: int, with_held: bool) -> str | None:
        """The node that it would like best: its preferred GPUs, its preferred node, then the fullest."""
        known = fits.open | fits.held if with_held else fits.open
        best: tuple[tuple[int, ...], str] | None = None
        for name in sorted(n for n, count in known.items() if count >= need):
            node = self.cluster.nodes[name]
            chosen = self._choose(node, request, request.gpus)
            unwanted = sum(not is_named(self.cluster, node, node.gpus[u], request.prefer_gpus) for u in chosen)
            score = (unwanted if request.prefer_gpus else 0, name not in request.prefer_nodes, known[name])
            if best is None or score < best[0]:
                best = (score, name)
        return best[1] if best else None

    def _choose(self, node: Node, request: Request, count: int) -> list[str]:
        """So many GPUs of a node that has them, in the order of their index."""
        if count == 0:
            return []
        kind = self.kind(request)
        fitting = [gpu for gpu in self._worth_asking(node, kind) if self.takes(node, gpu, kind)]
        if len(fitting) > count:
            fitting.sort(key=lambda gpu: self._gpu_score(node, gpu, request))
        return [gpu.uuid for gpu in sorted(fitting[:count], key=lambda gpu: gpu.index)]

    def _reasons(self, request: Request) -> Iterator[r.Reason]:
        """Why it does not fit, node by node."""
        if not self.cluster.nodes:
            yield r.NoNodes()
        for name, node in sorted(self.cluster.nodes.items()):
            if (closed := self.closed(node)) is not None:
                yield closed
            elif request.nodes and name not in request.nodes:
                continue
            elif request.gpus == 0:
                yield from self._cpu_reasons(node)
            else:
                yield from self._gpu_reasons(node, request)

    def _cpu_reasons(self, node: Node) -> Iterator[r.Reason]:
        if self._fitting(node, self.kind(Request(gpus=0))) <= 0:
            active = [a for a in self.cluster.active.values() if a.node == node.name and not a.gpus]
            yield r.CpuSlots(node=node.name, slots=cpu_slots(self.cluster, node), holders=tuple(map(_holder, active)))
        elif (hold := self.cluster.node_hold) is not None and node.name in self.held:
            yield r.NodeHeld(node=node.name, job=hold.job, until_ms=hold.until_ms)

    def _gpu_reasons(self, node: Node, request: Request) -> Iterator[r.Reason]:
        kind = self.kind(request)
        refused = [why for gpu in node.gpus.values() if (why := self.refuses(node, gpu, kind)) is not None]
        free = len(node.gpus) - len(refused)
        if free >= request.gpus and (hold := self.cluster.node_hold) is not None and node.name in self.held:
            yield r.NodeHeld(node=node.name, job=hold.job, until_ms=hold.until_ms)
            return
        yield r.TooFewGpus(node=node.name, asked=request.gpus, free=free, total=len(node.gpus))
        yield from (reason for reason in refused if not isinstance(reason, r.GpuNotAsked))

    def closed(self, node: Node) -> r.Reason | None:
        """Why nothing at all may start on that node now."""
        if not node.attached:
            return r.NodeUnreachable(node=node.name, why=node.reason)
        if node.drained:
            return r.NodeDrained(node=node.name)
        if (host := node.host) is not None:
            floor = int(self.cluster.number("safety.host_mem") * host.mem_mib)
            if host.mem_available_mib < floor:
                return r.HostMemory(node=node.name, available_mib=host.mem_available_mib, floor_mib=floor)
        return None

    def _gpu_score(self, node: Node, gpu: Gpu, request: Request) -> tuple[int, ...]:
        """Preferred first; sharing jobs onto the fullest GPU that has room; then the lowest index."""
        preferred = bool(request.prefer_gpus) and is_named(self.cluster, node, gpu, request.prefer_gpus)
        return (not preferred, self.free_mib(gpu), gpu.index)

    def takes(self, node: Node, gpu: Gpu, request: Request) -> bool:
        """Whether that GPU will do for that request now; the same answer as `refuses` gives, without its words."""
        cluster, uuid = self.cluster, gpu.uuid
        rules = cluster.rules.get(uuid, NO_RULES)
        is_whole = request.mem_mib is None and rules.slots == 1
        if is_whole and (uuid in cluster.claims or uuid in self.given):  # by far the most: somebody has it
            return False
        seen = cluster.seen.get(uuid)
        if seen is None or seen.fault is not None or seen.claimed_by is not None or not may_use(cluster, node, gpu, request):
            return False
        if uuid in cluster.orphaned:
            return False
        if is_whole and not seen.procs:
            return not rules.disabled and not rules.drained and self._busy(node, gpu, request, seen) is None
        return self.refuses(node, gpu, request) is None

    def refuses(self, node: Node, gpu: Gpu, request: Request) -> r.Reason | None:
        """Why that GPU will not do for that request now; None when it will."""
        cluster, uuid = self.cluster, gpu.uuid
        if not may_use(cluster, node, gpu, request):
            return r.GpuNotAsked(gpu=f"{node.name}:{gpu.index}", asked=request.gpu_ids)
        rules = cluster.rules.get(uuid, NO_RULES)
        if rules.disabled or rules.drained:
            return r.GpuClosed(gpu=f"{node.name}:{gpu.index}", how="disabled" if rules.disabled else "drained")
        seen = cluster.seen.get(uuid)
        if seen is None:
            return r.GpuUnknown(gpu=f"{node.name}:{gpu.index}")
        if seen.fault is not None:
            return r.GpuFault(gpu=f"{node.name}:{gpu.index}", fault=seen.fault)
        if seen.claimed_by is not None:
            return r.GpuClaimed(gpu=f"{node.name}:{gpu.index}", by=seen.claimed_by)
        if (runs := cluster.orphaned.get(uuid)) is not None:
            return r.GpuOrphaned(gpu=f"{node.name}:{gpu.index}", runs=tuple(sorted(runs)))
        return self._taken(node, gpu, request, rules, seen) or self._busy(node, gpu, request, seen)

    def would_free(self, node: Node, uuid: str, request: Request, job: int) -> bool:
        """Whether that GPU would do for that request, were it not for that job."""
        held = self.cluster.claims.get(uuid, {})
        if job not in held or uuid in self.given or len(held) > 1:
            return False
        own, seen = held.pop(job), self.cluster.seen.get(uuid)
        if not held:
            del self.cluster.claims[uuid]
        if seen is not None:
            others = tuple(p for p in seen.procs if p.run is None or p.run.partition(".")[0] != str(job))
            self.cluster.seen[uuid] = msgspec.structs.replace(seen, procs=others, util=0)
        try:
            return self.refuses(node, node.gpus[uuid], request) is None
        finally:
            self.cluster.claims.setdefault(uuid, {})[job] = own
            if seen is not None:
                self.cluster.seen[uuid] = seen

    def _busy(self, node: Node, gpu: Gpu, request: Request, seen: Observation) -> r.Reason | None:
        if request.max_util is None or (seen.util is not None and seen.util <= request.max_util):
            return None
        return r.GpuBusy(gpu=f"{node.name}:{gpu.index}", util=seen.util, max_util=request.max_util)

    def _taken(self, node: Node, gpu: Gpu, request: Request, rules: GpuRules, seen: Observation) -> r.Reason | None:
        """Who has what the request needs of that GPU: slots or memory."""
        name = f"{node.name}:{gpu.index}"
        claims = self.claims(gpu.uuid)
        if not request.is_shared:
            if seen.foreign:
                return r.GpuForeign(gpu=name, procs=seen.foreign)
            used, needed = sum(c.slots for c in claims), rules.slots if request.exclusive else 1
            if used + needed > rules.slots or (request.exclusive and claims):
                return r.GpuTaken(gpu=name, slots=rules.slots, holders=self._holders(claims))
        asked = claim(0, request, gpu, rules).mem_mib
        floor = _floor_mib(self.cluster, gpu, request)
        if (free := self.free_mib(gpu)) < asked + floor:
            held = self._holders(claims)
            if rules.slots == 1 and not request.is_shared:
                return r.GpuTaken(gpu=name, slots=1, holders=held)
            return r.GpuMemory(
                gpu=name,
                asked_mib=asked,
                free_mib=free,
                total_mib=gpu.mem_mib,
                holders=held,
                procs=seen.foreign,
                floor_mib=floor,
            )
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

    def _holders(self, claims: list[Claim]) -> tuple[r.Holder, ...]:
        active = (self.cluster.active.get(c.job) for c in claims)
        return tuple(_holder(a) for a in active if a is not None)


def _holder(active: Active) -> r.Holder:
    return r.Holder(active.job.id, active.job.shape.user, active.state.value)


def cpu_slots(cluster: Cluster, node: Node) -> int:
    """How many jobs without a GPU may run there at once."""
    return int(cluster.number("cpu.slots")) or node.cpus


def is_named(cluster: Cluster, node: Node, gpu: Gpu, names: tuple[str, ...]) -> bool:
    """Whether one of the names (index, UUID, `node:index`, alias) means that GPU."""
    known = (str(gpu.index), gpu.uuid, f"{node.name}:{gpu.index}", cluster.rules_of(gpu.uuid).alias)
    return any(name in known for name in names)


def may_use(cluster: Cluster, node: Node, gpu: Gpu, request: Request) -> bool:
    """Whether that GPU is one that the request allows, busy or not."""
    if request.gpu_ids and not is_named(cluster, node, gpu, request.gpu_ids):
        return False
    if request.min_gpu_mem_mib is not None and gpu.mem_mib < request.min_gpu_mem_mib:
        return False
    return not request.models or any(word.lower() in gpu.model.lower() for word in request.models)


def impossible(cluster: Cluster, request: Request) -> Message | None:
    """Why the request could not run even if nothing else did; None when it could."""
    gpus = [(n, g) for n, g in cluster.gpus() if not cluster.rules_of(g.uuid).disabled]
    if (missing := no_such_node(cluster, request.nodes)) is not None:
        return missing
    if request.gpus == 0:
        return Message("node.none") if not cluster.nodes else None
    if not gpus:
        if away := [name for name, node in cluster.nodes.items() if not node.attached and not node.gpus]:
            return Message("gpu.none_known", nodes=away)
        return Message("gpu.none_here" if len(cluster.nodes) == 1 else "gpu.none")
    for name in request.gpu_ids:
        if any(is_named(cluster, n, g, (name,)) for n, g in cluster.gpus() if cluster.rules_of(g.uuid).disabled):
            return Message("gpu.disabled", gpu=name)
        if not any(is_named(cluster, n, g, (name,)) for n, g in gpus):
            return Message("gpu.unknown", gpu=name, known=[f"{n.name}:{g.index}" for n, g in gpus[:16]])
    fitting = Counter(n.name for n, g in gpus if _could_fit(cluster, n, g, request))
    best = sum(fitting.values()) if request.spread else max(fitting.values(), default=0)
    if best >= request.gpus:
        return None
    return _most(cluster, gpus, request, best)


def no_such_node(cluster: Cluster, names: tuple[str, ...]) -> Message | None:
    """What to say of the first name that no node has; None when all of them exist."""
    for name in names:
        if name not in cluster.nodes:
            known = sorted(cluster.nodes)
            if len(known) > MAX_NAMED:
                return Message("node.unknown_many", node=name, known=known[:MAX_NAMED], more=len(known) - MAX_NAMED)
            return Message("node.unknown", node=name, known=known) if known else Message("node.not_found", node=name)
    return None


MAX_NAMED = 8
"""Nodes or kinds of GPUs that a refusal lists."""


def _could_fit(cluster: Cluster, node: Node, gpu: Gpu, request: Request) -> bool:
    if (request.nodes and node.name not in request.nodes) or not may_use(cluster, node, gpu, request):
        return False
    return request.mem_mib is None or request.mem_mib <= gpu.mem_mib - _floor_mib(cluster, gpu, request)


def _floor_mib(cluster: Cluster, gpu: Gpu, request: Request) -> int:
    """What jobs that share the GPU may not take of it."""
    return int(cluster.number("safety.gpu_mem") * gpu.mem_mib) if request.is_shared else 0


def _most(cluster: Cluster, gpus: list[tuple[Node, Gpu]], request: Request, best: int) -> Message:
    """What was requested, and the most there is of it."""
    asked, largest = request.gpus, max(sum(1 for n, _ in gpus if n is node) for node in cluster.nodes.values())
    if asked > largest and not (request.models or request.min_gpu_mem_mib or request.nodes):
        return Message("gpu.too_many_here" if len(cluster.nodes) == 1 else "gpu.too_many", asked=asked, largest=largest)
    if request.gpu_ids:
        return Message("gpu.named_do_not_fit", asked=asked, best=best, named=request.gpu_ids)
    if wanted := _wanted(request):
        return Message("gpu.no_such_gpus", asked=asked, wanted=wanted, best=best, kinds=_kinds(gpus))
    largest_gpu = max((g for _, g in gpus), key=lambda gpu: gpu.mem_mib)
    most, floor_mib = largest_gpu.mem_mib, _floor_mib(cluster, largest_gpu, request)
    each, largest_mem = size(request.mem_mib or 0), size(most)
    if each == largest_mem:
        each, largest_mem = f"{request.mem_mib} MiB", f"{most} MiB"
    said = {"asked": asked, "each": each, "best": best, "largest": largest_mem}
    if floor_mib:
        return Message("gpu.too_little_memory_floor", **said, floor_mib=floor_mib)
    return Message("gpu.too_little_memory", **said)


def _wanted(request: Request) -> list[Message]:
    """What the GPUs must be."""
    wanted = []
    if request.models:
        wanted.append(Message("gpu.wanted_model", models=request.models))
    if request.min_gpu_mem_mib is not None:
        wanted.append(Message("gpu.wanted_memory", mib=request.min_gpu_mem_mib))
    if request.nodes:
        wanted.append(Message("gpu.wanted_node", nodes=request.nodes))
    return wanted


def _kinds(gpus: list[tuple[Node, Gpu]]) -> list[Message]:
    """`4 × SIM A100 (40 GiB)`, `2 × SIM T4 (16 GiB)`."""
    known = Counter((g.model, g.mem_mib) for _, g in gpus)
    few = sorted(known.items())[:MAX_NAMED]
    return [Message("gpu.kind", count=count, model=model, mem_mib=mem) for (model, mem), count in few]
