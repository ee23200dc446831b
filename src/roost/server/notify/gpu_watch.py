"""GPUs that users want to hear of: those that a job holds without using them, and those that became free.

Fed with samples and asked regularly. No clock, no I/O.
"""

import msgspec

from roost.core.cluster import Cluster
from roost.core.model import Active, Observation
from roost.core.nodes import Node
from roost.core.states import State

STALE_MS = 60_000
"""A GPU whose last sample is older is not known to be idle."""


class Idle(msgspec.Struct, frozen=True):
    """A run that holds GPUs and does not use them."""

    active: Active
    gpus: tuple[int, ...]
    idle_ms: int
    was_seen_working: bool
    """Whether this run used its GPUs since this server watches; if not, an earlier server may have reported it."""


class _Still(msgspec.Struct):
    """Since when a GPU has been at 0 utilization, and the memory in use."""

    since_ms: int
    seen_ms: int
    mem_mib: int | None


class IdleWatch:
    """Finds running jobs that hold GPUs whose utilization stays 0 and whose memory does not change."""

    def __init__(self) -> None:
        self._still: dict[str, _Still] = {}
        self._worked_ms: dict[str, int] = {}
        self._reported: set[tuple[int, int]] = set()

    def see(self, uuid: str, seen: Observation, now_ms: int) -> None:
        """Take in one sample of one GPU. Unknown is not idle."""
        still = self._still.get(uuid)
        if seen.util != 0 or seen.mem_used_mib is None:
            self._still.pop(uuid, None)
            if seen.util:
                self._worked_ms[uuid] = now_ms
        elif still is None or still.mem_mib != seen.mem_used_mib:
            self._still[uuid] = _Still(now_ms, now_ms, seen.mem_used_mib)
        else:
            still.seen_ms = now_ms

    def begin_again(self) -> None:
        """Nothing is known of any GPU: the clock was set."""
        self._still.clear()

    def forget(self, uuids: set[str]) -> None:
        """Drop what is known of these: their node is away."""
        for uuid in uuids:
            self._still.pop(uuid, None)

    def look(self, cluster: Cluster, now_ms: int, limit_ms: int) -> list[Idle]:
        """Runs that have been idle for that long and were not reported yet; one that works again may be reported again."""
        found, standing = [], set()
        for active in cluster.active.values():
            key = (active.job.id, active.attempt)
            if active.state is not State.RUNNING or not active.gpus:
                standing.add(key)
                continue
            idle = [(uuid, ms) for uuid in active.gpus if (ms := self._idle_ms(uuid, active, now_ms)) >= limit_ms]
            if idle:
                standing.add(key)
            if idle and key not in self._reported:
                indices = tuple(g.index for uuid, _ in idle if (g := cluster.nodes[active.node].gpus.get(uuid)))
                worked = any(self._worked_ms.get(uuid, 0) >= active.since_ms for uuid in active.gpus)
                found.append(Idle(active, indices, max(ms for _, ms in idle), worked))
        self._reported = {key for key in self._reported if key in standing}
        self._reported |= {(idle.active.job.id, idle.active.attempt) for idle in found}
        return found

    def _idle_ms(self, uuid: str, active: Active, now_ms: int) -> int:
        still = self._still.get(uuid)
        if still is None or now_ms - still.seen_ms > STALE_MS:
            return -1
        return now_ms - max(still.since_ms, active.since_ms)


class FreeWatch:
    """Finds GPUs that became free: no process, not held, and no queued job asks for a GPU."""

    def __init__(self) -> None:
        self._was_used: set[str] = set()
        self._since_ms: dict[str, int] = {}
        self.free: set[tuple[str, int]] = set()
        """Those that were free at the last look, no matter for how long."""

    def look(self, cluster: Cluster, now_ms: int, limit_ms: int) -> list[tuple[str, int]]:
        """Node and index of each that was in use and has been free for that long; each once, until it is used again."""
        is_wanted = any(line.shape.request.gpus > 0 for line in cluster.lines.values())
        found = []
        self.free = set()
        for node, gpu in cluster.gpus():
            is_free = _is_free(cluster, node, gpu.uuid)
            if is_free is False or (is_free and is_wanted):
                self._was_used.add(gpu.uuid)
            if is_free and not is_wanted:
                self.free.add((node.name, gpu.index))
            if not is_free or is_wanted or gpu.uuid not in self._was_used:
                self._since_ms.pop(gpu.uuid, None)
            elif now_ms - self._since_ms.setdefault(gpu.uuid, now_ms) >= limit_ms:
                self._was_used.discard(gpu.uuid)
                found.append((node.name, gpu.index))
        return found


def _is_free(cluster: Cluster, node: Node, uuid: str) -> bool | None:
    """Whether it is free, as the scheduler sees it; None when that is not known, or no job may use it."""
    rules, seen = cluster.rules_of(uuid), cluster.seen.get(uuid)
    if not node.attached or node.drained or rules.disabled or rules.drained or seen is None or seen.fault:
        return None
    is_kept = cluster.node_hold is not None and node.name in cluster.node_hold.nodes
    return not is_kept and uuid not in cluster.claims and not seen.procs
