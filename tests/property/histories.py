"""Clusters that go through things: any nodes, any rules, any events, with a plan made and applied after each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NamedTuple

import msgspec
from hypothesis import strategies as st
from tests.builders import NOW, start, submit

from roost.core import events as ev
from roost.core.cluster import Cluster
from roost.core.model import (
    RANK_STEP,
    Gpu,
    GpuRules,
    Host,
    Job,
    Observation,
    Process,
    Request,
    Shape,
    Stop,
    StopKind,
    UserRules,
)
from roost.core.plan.placement import impossible
from roost.core.plan.planner import Plan, plan
from roost.core.policy import names
from roost.core.settings import Value
from roost.core.states import Outcome, State

USERS = ("ada", "bob", "cyd")
A100, T4 = ("Sim A100", 40_000), ("Sim T4", 16_000)
REQUESTS = (
    Request(0),
    Request(1),
    Request(1),
    Request(2),
    Request(3),
    Request(5, spread=True),
    Request(7, spread=True),
    Request(1, mem_mib=5000),
    Request(2, mem_mib=9000),
    Request(1, mem_mib=16_000, max_util=30),
    Request(1, exclusive=True),
    Request(1, models=("a100",)),
    Request(2, models=("t4", "h100")),
    Request(1, min_gpu_mem_mib=20_000),
    Request(2, nodes=("n1",)),
    Request(0, nodes=("n2",)),
    Request(1, gpu_ids=("0",)),
    Request(1, prefer_gpus=("1",), prefer_nodes=("n2",)),
    Request(1, mem_auto=True),
    Request(2, mem_auto=True),
)
Op = tuple[str, int, Any]


class History(NamedTuple):
    """A cluster, and what happens to it."""

    nodes: list[list[tuple[str, int]]]
    policy: str
    users: list[UserRules]
    group_limit: int | None
    is_generous: bool
    """Whether there is much in the allowance, and little patience."""
    ops: list[Op]


class World:
    """A cluster with a clock. Jobs get ids in the order in which they come."""

    def __init__(self, what: History) -> None:
        self.cluster, self.now_ms, self.last = Cluster(), NOW, 0
        for number, gpus in enumerate(what.nodes, 1):
            self._attach(f"n{number}", gpus)
        self.cluster.apply(ev.SettingChanged("policy", what.policy))
        self.cluster.apply(ev.SettingChanged("preempt.min_run_s", 60))
        for user, rules in zip(USERS, what.users, strict=True):
            self.cluster.apply(ev.UserRuled(user, rules))
        self.cluster.apply(ev.GroupLimited(1, what.group_limit))
        if what.is_generous:
            self.cluster.apply(ev.SettingChanged("policy.idle_allowance", 0.5))
            self.cluster.apply(ev.SettingChanged("policy.hold_after_s", 0))
            self.cluster.apply(ev.HoldChanged(NOW, None, 100_000.0))

    def _attach(self, name: str, gpus: list[tuple[str, int]]) -> None:
        known = tuple(Gpu(f"{name}-{i}", i, model, mib) for i, (model, mib) in enumerate(gpus))
        self.cluster.apply(ev.NodeSeen(name, 2, 64_000, known))
        self.cluster.apply(ev.NodeAttached(name))
        self.sample(name, {})

    def sample(self, name: str, others: dict[str, Observation]) -> None:
        """The driver shows the GPUs of a node empty, but for these."""
        seen = tuple((uuid, others.get(uuid, Observation(0, 0))) for uuid in self.cluster.nodes[name].gpus)
        self.cluster.apply(ev.Sampled(name, Host(64_000, 60_000), seen))

    def apply(self, made: Plan) -> None:
        """Let a plan happen."""
        for found in made.starts:
            start(self.cluster, found, self.now_ms)
            self.cluster.apply(ev.Started(found.job.id, self.now_ms, found.job.attempts + 1, 77))
        for asked in made.preempts:
            self.cluster.apply(ev.StopAsked(asked.job, self.now_ms, Stop(StopKind.PREEMPT, asked.for_job)))
        if made.hold is not None:
            self.cluster.apply(made.hold)


def unfold(what: History) -> Iterator[tuple[World, Plan]]:
    """The world after each event, with the plan that is made of it, before that is applied."""
    world = World(what)
    for name, which, how in what.ops:
        _OPS[name](world, which, how)
        made = plan(world.cluster, world.now_ms)
        yield world, made
        world.apply(made)


# -- what may happen ------------------------------------------------------------------------------------------------


def _submit(world: World, which: int, how: tuple[int, int, bool, bool]) -> None:
    priority, group, preemptible, held = how
    request = REQUESTS[which % len(REQUESTS)]
    if impossible(world.cluster, request) is not None:
        return
    world.last += 1
    shape = Shape(USERS[which // 20 % 3], priority, request, f"work {which // 60 % 2}", group, preemptible)
    job = Job(world.last, shape, world.last * RANK_STEP, world.now_ms)
    submit(world.cluster, job, held=held)


def _end(world: World, which: int, how: int) -> None:
    """A run ends, some time later, having used some memory."""
    world.now_ms += 1000 * how
    if world.cluster.active:
        usage = ev.Usage(peak_mem_mib=(which % 30 + 1) * 700)
        active = sorted(world.cluster.active)
        outcome = Outcome.SUCCEEDED if which % 3 else Outcome.FAILED
        world.cluster.apply(ev.Ended(active[which % len(active)], world.now_ms, outcome, usage=usage))


def _pass(world: World, _: int, how: int) -> None:
    world.now_ms += 1000 * how


def _drain(world: World, which: int, how: bool) -> None:
    world.cluster.apply(ev.NodeDrained(_node(world, which), how))


def _rule(world: World, which: int, how: GpuRules) -> None:
    world.cluster.apply(ev.GpuRuled(_gpu(world, which), how))


def _see(world: World, which: int, how: Observation) -> None:
    uuid = _gpu(world, which)
    world.sample(world.cluster.node_of[uuid], {uuid: how})


def _detach(world: World, which: int, how: bool) -> None:
    name = _node(world, which)
    if how:
        world.cluster.apply(ev.NodeDetached(name, "cut"))
    else:
        world.cluster.apply(ev.NodeAttached(name))
        world.sample(name, {})


def _hold(world: World, which: int, how: bool) -> None:
    waiting = sorted(world.cluster.jobs)
    if not waiting:
        return
    job = waiting[which % len(waiting)]
    is_held = world.cluster.state_of(job) is State.HELD
    if how and not is_held:
        world.cluster.apply(ev.JobHeld(job, world.now_ms))
    if not how and is_held:
        world.cluster.apply(ev.Released(job, world.now_ms))


def _move(world: World, which: int, _: object) -> None:
    waiting = sorted(world.cluster.jobs)
    if waiting:
        job = world.cluster.jobs[waiting[which % len(waiting)]]
        moved = msgspec.structs.replace(job, rank=min(j.rank for j in world.cluster.jobs.values()) - 1)
        world.cluster.apply(ev.Moved(job.id, world.now_ms, moved))


def _kill(world: World, which: int, _: object) -> None:
    waiting = sorted(world.cluster.jobs)
    if waiting:
        world.cluster.apply(ev.Ended(waiting[which % len(waiting)], world.now_ms, Outcome.KILLED))


def _set(world: World, _: int, how: tuple[str, Any]) -> None:
    world.cluster.apply(ev.SettingChanged(*how))


def _pause(world: World, _: int, how: bool) -> None:
    world.cluster.apply(ev.SchedulingSwitched(how))


def _weigh(world: World, which: int, how: UserRules) -> None:
    world.cluster.apply(ev.UserRuled(USERS[which % 3], how))


def _node(world: World, which: int) -> str:
    return f"n{1 + which % len(world.cluster.nodes)}"


def _gpu(world: World, which: int) -> str:
    gpus = [gpu.uuid for _, gpu in world.cluster.gpus()]
    return gpus[which % len(gpus)]


_OPS: dict[str, Callable[[World, int, Any], None]] = {
    "submit": _submit,
    "end": _end,
    "pass": _pass,
    "drain": _drain,
    "rule": _rule,
    "see": _see,
    "detach": _detach,
    "hold": _hold,
    "move": _move,
    "kill": _kill,
    "set": _set,
    "pause": _pause,
    "weigh": _weigh,
}

# -- any of it ------------------------------------------------------------------------------------------------------
#
# Drawn from a seed, because the parts must be weighed (most events are submits and ends, most GPUs are whole and healthy)
# or hardly anything would ever run; the length is hypothesis's own, so that a failure comes with the shortest history.


@st.composite
def histories(draw: st.DrawFn, most: int = 60) -> History:
    """Any cluster, and any events."""
    chance = Random(draw(st.integers(0, 1 << 32)))
    nodes = [[chance.choice((A100, A100, T4)) for _ in range(chance.randint(1, 4))] for _ in range(chance.randint(1, 3))]
    users = [_rules(chance) for _ in USERS]
    limit = chance.choice((None, None, 0, 1, 3))
    made = History(nodes, chance.choice(names()), users, limit, chance.random() < 0.7, [])
    made.ops.extend(_op(chance) for _ in range(draw(st.integers(1, most))))
    return made


def _op(chance: Random) -> Op:
    (name,) = chance.choices(list(_WEIGHTS), list(_WEIGHTS.values()))
    return name, chance.randrange(1000), _HOW[name](chance)


_WEIGHTS = {"submit": 30, "end": 12, "pass": 6, "drain": 2, "rule": 2, "see": 3, "detach": 2, "hold": 2, "move": 2,
            "kill": 2, "set": 2, "pause": 1, "weigh": 1}  # fmt: skip


def _rules(chance: Random) -> UserRules:
    weight = chance.choice((1.0,) * 6 + (3.0, 0.5, 0.0, -1.0))
    return UserRules(weight, chance.choice((None,) * 6 + (0, 2, 5)), chance.choice((None,) * 6 + (1, 3)))


def _gpu_rules(chance: Random) -> GpuRules:
    return GpuRules(chance.randint(1, 3), chance.random() < 0.1, chance.random() < 0.1)


def _seen(chance: Random) -> Observation:
    some = chance.randint(1, 40_000)
    foreign, own = Process(42, "eve", "x", some), Process(43, "ada", "x", some, f"{chance.randint(1, 30)}.1")
    return chance.choice(
        (
            Observation(0, 0),
            Observation(0, 50),
            Observation(0, None),
            Observation(0, 0, procs=(foreign,)),
            Observation(0, 0, procs=(own,)),
            Observation(fault="ECC"),
        )
    )


_SETTINGS: tuple[tuple[str, Value], ...] = (
    *(("policy", name) for name in names()),
    ("policy.hold_after_s", 3600),
    ("policy.idle_allowance", 0.0),
    ("safety.gpu_mem", 0.2),
    ("safety.gpu_mem", 0.0),
    ("cpu.slots", 1),
)
_HOW: dict[str, Callable[[Random], Any]] = {
    "submit": lambda c: (c.choice((0, 0, 1)), c.choice((0, 0, 1)), c.random() < 0.2, c.random() < 0.1),
    "end": lambda c: c.choice((0, 1, 100, 5000)),
    "pass": lambda c: c.choice((1, 60, 4000, 100_000)),
    "drain": lambda c: c.random() < 0.4,
    "rule": _gpu_rules,
    "see": _seen,
    "detach": lambda c: c.random() < 0.4,
    "hold": lambda c: c.random() < 0.4,
    "move": lambda c: None,
    "kill": lambda c: None,
    "set": lambda c: c.choice(_SETTINGS),
    "pause": lambda c: c.random() < 0.3,
    "weigh": _rules,
}
