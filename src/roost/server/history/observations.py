"""What a look at the cluster sees, as numbers: a row for every GPU, for every node, and one for all of it. Pure."""

from collections.abc import Iterator, Sequence

from roost.core.cluster import Cluster
from roost.core.history.run_course import Known
from roost.core.history.thinning import Values
from roost.core.model import Active, Observation
from roost.core.nodes import Node
from roost.core.states import State

CLUSTER = "cluster"
GPU_COLUMNS = ("util", "mem_used_mib", "power_w", "temp_c", "gpus_used")
GROUP_COLUMNS = (*GPU_COLUMNS, "mem_total_mib", "gpus_total", "queued")
"""Of a node and of the cluster: utilization is the mean of the GPUs, memory and power their sum, temperature the hottest."""


def columns_of(series: str) -> tuple[str, ...]:
    """What the points of a series have."""
    return GPU_COLUMNS if series.startswith("gpu:") else GROUP_COLUMNS


def look(cluster: Cluster) -> Iterator[tuple[str, Values]]:
    """Every series with what is seen of it now. What is not there, or cannot be reached, is left out."""
    every: list[Values] = []
    total_mib = 0
    for name, node in sorted(cluster.nodes.items()):
        if not node.attached:
            continue
        seen = list(_gpus(cluster, node))
        yield from seen
        rows, mib = [values for _, values in seen], sum(gpu.mem_mib for gpu in node.gpus.values())
        yield f"node:{name}", (*_together(rows), mib, len(rows), None)
        every += rows
        total_mib += mib
    yield CLUSTER, (*_together(every), total_mib, len(every), cluster.counts[State.QUEUED])


def look_at(cluster: Cluster, active: Active, held: dict[tuple[str, str], int]) -> tuple[list[Known], list[Known]]:
    """Utilization and memory of a run on each of its GPUs; `held` is from `memory_held`."""
    util, memory = list[Known](), list[Known]()
    for uuid in active.gpus:
        seen = cluster.seen.get(uuid)
        util.append(seen.util if seen is not None else None)
        memory.append(held.get((active.run, uuid), 0) if seen is not None else None)
    return util, memory


def memory_held(cluster: Cluster) -> dict[tuple[str, str], int]:
    """What the processes of runs have of each GPU, by run and GPU."""
    held: dict[tuple[str, str], int] = {}
    for uuid, seen in cluster.seen.items():
        for process in seen.procs:
            if process.run is not None:
                key = (process.run, uuid)
                held[key] = held.get(key, 0) + max(0, process.mem_mib)
    return held


def _gpus(cluster: Cluster, node: Node) -> Iterator[tuple[str, Values]]:
    for uuid in node.gpus:
        seen = cluster.seen.get(uuid, _NOTHING)
        is_used = 1 if uuid in cluster.claims else 0
        yield f"gpu:{uuid}", (seen.util, seen.mem_used_mib, seen.power_w, seen.temp_c, is_used)


_NOTHING = Observation()


def _together(rows: Sequence[Values]) -> list[float | None]:
    util, memory, power, temperature, used = zip(*rows, strict=True) if rows else ((),) * 5
    known = [value for value in util if value is not None]
    mean = sum(known) / len(known) if known else None
    return [mean, _sum(memory), _sum(power), max((v for v in temperature if v is not None), default=None), sum(used)]


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
