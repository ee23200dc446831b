"""`roost simulate`: a workload under several policies, over several seeds, as numbers to compare.

Runs without a server. `first-fit` is what all are held against: in order of arrival, whatever fits, nothing kept for anyone.
"""

import gc
import multiprocessing
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed

import msgspec

from roost.core.policy import names
from roost.core.settings import DEFAULTS, Value
from roost.sim.measures import Measures, averaged, measure
from roost.sim.replay import Forecasts, replay
from roost.sim.traces import Unusable, Workload, shaken

FIRST_FIT = "first-fit"

Tell = Callable[[str], None]
ForecastCounts = tuple[int, int, int]
"""Forecasts, and how many of these jobs started before p50 and before p90."""
Replayed = tuple[Measures, ForecastCounts | None]


class Asked(msgspec.Struct, frozen=True):
    """What to replay a workload on, under what, and how often."""

    nodes: tuple[int, ...]
    """GPUs of each node."""
    policies: tuple[str, ...]
    """As `policies` gives them."""
    squeeze: float = 1.0
    jitter_s: float = 0.0
    seeds: int = 1
    processes: int = 1
    eta_every: int | None = None
    """A forecast is made for every Nth waiting job, under the first policy; None: for none."""


def policies(named: Sequence[str]) -> tuple[str, ...]:
    """What to compare: those named, each once, or the default one; `first-fit` always, and last."""
    known = sorted([*names(), FIRST_FIT])
    for name in named:
        if name not in known:
            raise Unusable("sim.no_policy", name=repr(name), known=known)
    wanted = [name for name in named or [str(DEFAULTS["policy"])] if name != FIRST_FIT]
    return (*dict.fromkeys(wanted), FIRST_FIT)


class Task(msgspec.Struct, frozen=True):
    """One replay."""

    policy: str
    seed: int


def split(workload: Workload, nodes: Sequence[int]) -> tuple[Workload, int]:
    """The workload without the jobs that are wider than all nodes together, and how many those were."""
    kept = tuple(arrival for arrival in workload.arrivals if arrival.gpus <= sum(nodes))
    if not kept:
        raise Unusable("sim.all_too_wide", gpus=sum(nodes))
    return msgspec.structs.replace(workload, arrivals=kept), len(workload.arrivals) - len(kept)


def simulate(workload: Workload, asked: Asked, tell: Tell) -> dict[str, dict[str, float]]:
    """The measures of every policy, means over the seeds; `tell` hears how far it is.

    Where forecasts were asked for, `eta` is what they were worth: how many, and which part started before p50 and p90.
    """
    # Without jitter every seed is the same replay.
    seeds = range(1, (asked.seeds if asked.jitter_s else 1) + 1)
    tasks = [Task(name, seed) for name in asked.policies for seed in seeds]
    found: dict[str, list[Measures]] = {name: [] for name in asked.policies}
    counts: list[ForecastCounts] = []
    run = _one_after_the_other if asked.processes == 1 else _side_by_side
    for task, (measures, said) in run(workload, asked, tasks, tell):
        found[task.policy].append(measures)
        counts += [said] if said is not None else []
    shown = {name: msgspec.to_builtins(averaged(found[name])) for name in asked.policies}
    return {**shown, "eta": calibration(counts)} if counts else shown


def calibration(counts: Sequence[ForecastCounts]) -> dict[str, float]:
    """How many forecasts there were, and which part of those jobs started before p50, and before p90."""
    count, before_p50, before_p90 = (sum(column) for column in zip(*counts, strict=True))
    parts = (before_p50 / count, before_p90 / count) if count else (0.0, 0.0)
    return {"forecasts": count, "before_p50": parts[0], "before_p90": parts[1]}


def _one_after_the_other(
    workload: Workload, asked: Asked, tasks: Sequence[Task], tell: Tell
) -> Iterator[tuple[Task, Replayed]]:
    for task in tasks:
        total = f"{len(workload.arrivals):,} jobs"

        def told(came: int, task: Task = task, total: str = total) -> None:
            tell(f"{task.policy}, seed {task.seed}: {came:,} of {total}")

        yield task, _replayed(workload, asked, task, told)


def _side_by_side(workload: Workload, asked: Asked, tasks: Sequence[Task], tell: Tell) -> Iterator[tuple[Task, Replayed]]:
    """In processes of their own; given in the order of the tasks, so that sums do not depend on who was quicker."""
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(min(asked.processes, len(tasks)), context) as pool:
        futures = [pool.submit(_replayed, workload, asked, task, _silent) for task in tasks]
        for done, _ in enumerate(as_completed(futures), 1):
            tell(f"{done} of {len(tasks)} replays")
        for task, future in zip(tasks, futures, strict=True):
            yield task, future.result()


def _silent(came: int) -> None:
    pass


def _replayed(workload: Workload, asked: Asked, task: Task, told: Callable[[int], None]) -> Replayed:
    moments = shaken(workload, asked.squeeze, asked.jitter_s, task.seed)
    gc.collect()
    gc.freeze()  # the workload stays to the end: looking through it again and again would cost more than the replay
    is_forecast = asked.eta_every is not None and task.policy == asked.policies[0]
    forecasts = Forecasts(asked.eta_every or 1) if is_forecast else None
    began = time.perf_counter()
    try:
        ran = replay(moments, asked.nodes, settings_of(task.policy), told, forecasts)
    finally:
        gc.unfreeze()
    measures = measure(ran, asked.nodes, time.perf_counter() - began)
    return measures, forecasts.counts if forecasts else None


def settings_of(name: str) -> Mapping[str, Value]:
    """The settings that make the scheduler that policy."""
    return {"policy": "fifo", "policy.idle_allowance": 0} if name == FIRST_FIT else {"policy": name}
