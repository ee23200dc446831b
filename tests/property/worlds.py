"""Clusters of every kind, as plain descriptions that can be built in any order."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import msgspec
from hypothesis import strategies as st
from tests.builders import MEM, NOW, job, node, submit

from roost.core import events as ev
from roost.core.cluster import Cluster
from roost.core.model import Claimant, Conditions, Dependency, GpuRules, Host, Job, Observation, Process

REQUESTS: tuple[dict[str, Any], ...] = (
    {"gpus": 0},
    {"gpus": 1},
    {"gpus": 2},
    {"gpus": 3},
    {"mem_mib": 3000},
    {"mem_mib": 11_000, "gpus": 2},
    {"mem_mib": MEM},
    {"mem_mib": 100, "max_util": 30},
    {"exclusive": True},
    {"gpu_ids": ("0",)},
    {"gpu_ids": ("n2:0", "1"), "gpus": 1},
    {"prefer_gpus": ("1",)},
)


class Waiting(NamedTuple):
    """A job in the queue."""

    job: Job
    held: bool
    conditions: Conditions


class Device(NamedTuple):
    """What is said of a GPU."""

    rules: GpuRules
    seen: Observation | None


class Description(NamedTuple):
    """All that a cluster is made of."""

    nodes: list[list[Device]]
    running: list[Job]
    waiting: list[Waiting]
    is_paused: bool
    cpu_slots: int


_observations = st.one_of(
    st.none(),
    st.builds(Observation, st.just(0), st.sampled_from([None, 0, 50])),
    st.builds(lambda mib: Observation(0, 0, procs=(Process(42, "eve", "x", mib),)), st.integers(1, MEM)),
    st.just(Observation(fault="ECC")),
    st.just(Observation(0, 0, claimed_by=Claimant("bo", 4711))),
    st.just(Observation(0, 0)),
    st.just(Observation(0, 0)),
)
_rules = st.builds(GpuRules, st.integers(1, 3), st.sampled_from([False] * 5 + [True]), st.sampled_from([False] * 5 + [True]))
_devices = st.builds(Device, _rules, _observations)


@st.composite
def _jobs(draw: st.DrawFn, first: int, most: int) -> list[Job]:
    count = draw(st.integers(0, most))
    return [
        job(first + i, **draw(st.sampled_from(REQUESTS)) | {"priority": draw(st.integers(0, 2)), "user": draw(_users)})
        for i in range(count)
    ]


_users = st.sampled_from(["ada", "bob"])


@st.composite
def descriptions(draw: st.DrawFn) -> Description:
    """Any cluster with some jobs that run already and some that wait."""
    nodes = draw(st.lists(st.lists(_devices, max_size=4), min_size=1, max_size=3))
    running = draw(_jobs(1, 5))
    waiting = [Waiting(j, draw(_rarely), draw(_conditions(j.id))) for j in draw(_jobs(100, 10))]
    return Description(nodes, running, waiting, draw(_rarely), draw(st.integers(0, 2)))


_rarely = st.sampled_from([False] * 7 + [True])


def _conditions(id: int) -> st.SearchStrategy[Conditions]:
    later = st.just(Conditions((), NOW + 5000))
    other = st.just(Conditions((Dependency(id - 1, "any"),)))
    return st.one_of(st.just(Conditions()), st.just(Conditions()), st.just(Conditions()), later, other)


def build(what: Description, order: list[int] | None = None) -> Cluster:
    """The cluster; `order` is the order in which the waiting jobs come."""
    made = Cluster()
    made.apply(ev.SettingChanged("cpu.slots", what.cpu_slots))
    names = [f"n{i + 1}" for i in range(len(what.nodes))]
    for name, devices in zip(names, what.nodes, strict=True):
        made.apply(node(name, len(devices)))
        made.apply(ev.NodeAttached(name))
        for i, device in enumerate(devices):
            made.apply(ev.GpuRuled(f"{name}-{i}", device.rules))
    _start_forced(made, what.running)
    for name, devices in zip(names, what.nodes, strict=True):
        seen = tuple((f"{name}-{i}", d.seen) for i, d in enumerate(devices) if d.seen is not None)
        made.apply(ev.Sampled(name, Host(64_000, 60_000), seen))
    made.apply(ev.SchedulingSwitched(what.is_paused))
    for i in order if order is not None else range(len(what.waiting)):
        submit(made, what.waiting[i].job, what.waiting[i].conditions, what.waiting[i].held)
    return made


def _start_forced(on: Cluster, jobs: list[Job]) -> None:
    """Where an earlier plan, or a person, put them."""
    for forced in jobs:
        for name, known in sorted(on.nodes.items()):
            if len(known.gpus) >= forced.shape.request.gpus:
                submit(on, forced)
                gpus = tuple(known.gpus)[: forced.shape.request.gpus]
                on.apply(ev.StartIntended(forced.id, NOW, 1, name, gpus))
                break


def snapshot(here: Cluster) -> dict[str, Any]:
    """Everything that a cluster is, as values that can be compared; what is only remembered to be quick is left out."""
    apart = ("lines", "asking", "nodes", "later", "index", "touched", "learned")
    kept = {key: repr(value) for key, value in vars(here).items() if key not in apart and not isinstance(value, Counter)}
    kept |= {key: repr(sorted((+value).items())) for key, value in vars(here).items() if isinstance(value, Counter)}
    kept["lines"] = repr({shape: sorted(set(line.heap)) for shape, line in here.lines.items()})
    kept["nodes"] = repr([msgspec.structs.astuple(n) for n in here.nodes.values()])
    kept["asking"] = repr({request: list(lines) for request, lines in here.asking.items()})
    kept["learned"] = repr((here.learned.ended, here.learned.everyone.counts, here.learned.waits.counts))
    return kept
