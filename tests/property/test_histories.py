"""Sentences that hold at every plan, whatever a cluster has gone through."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.property.histories import REQUESTS, USERS, History, histories, unfold

from roost.core.cluster import Cluster
from roost.core.model import Request
from roost.core.plan.placement import Space, cpu_slots, is_named
from roost.core.plan.planner import Start, explain, first_users, plan
from roost.core.reasons import Ahead, BehindUser

# -- what is given away ---------------------------------------------------------------------------------------------


@given(histories())
def test_slots_and_memory_are_never_exceeded(what: History) -> None:
    for world, made in unfold(what):
        for found in made.starts:
            for uuid in found.place.gpus:
                _check_gpu(world.cluster, uuid, made.starts)
        for name, node in world.cluster.nodes.items():
            given_here = sum(not s.place.gpus and s.place.node == name for s in made.starts)
            assert not given_here or node.cpu_used + given_here <= cpu_slots(world.cluster, node)


def _check_gpu(here: Cluster, uuid: str, starts: list[Start]) -> None:
    """All that is and will be on a GPU fits, in arithmetic of its own."""
    gpu, rules, seen = here.nodes[here.node_of[uuid]].gpus[uuid], here.rules_of(uuid), here.seen[uuid]
    held = [(a.job.id, a.request) for a in here.active.values() if uuid in a.gpus]
    # A process of a job that has no run now is one of an earlier attempt, in a sample that is older than its end.
    runs = ((int(p.run.partition(".")[0]), p.mem_mib) for p in seen.procs if p.run is not None)
    used = {job: mib for job, mib in runs if job in {number for number, _ in held}}
    new = [(s.job.id, _given(s)) for s in starts if uuid in s.place.gpus]
    slots = mib = 0
    for job, request in [*held, *new]:
        slots += 0 if request.is_shared else rules.slots if request.exclusive else 1
        asked = request.mem_mib if request.mem_mib is not None else gpu.mem_mib // (1 if request.exclusive else rules.slots)
        mib += max(asked, used.get(job, 0))
    whole = [job for job, request in new if not request.is_shared]
    assert not whole or (slots <= rules.slots and not seen.foreign)
    assert mib + sum(p.mem_mib for p in seen.foreign) <= gpu.mem_mib
    assert not rules.disabled and not rules.drained and seen.fault is None and seen.claimed_by is None


def _given(found: Start) -> Request:
    asked = found.job.shape.request
    return Request(asked.gpus, found.granted_mib) if asked.mem_auto else asked


@given(histories())
def test_a_gang_starts_whole(what: History) -> None:
    for world, made in unfold(what):
        nodes = world.cluster.nodes
        largest = max(len(node.gpus) for node in nodes.values())
        for found in made.starts:
            request, gpus = found.job.shape.request, found.place.gpus
            assert len(set(gpus)) == len(gpus) == request.gpus
            taken = {world.cluster.node_of[uuid] for uuid in gpus}
            if gpus:
                assert found.place.node == world.cluster.node_of[gpus[0]]
            assert len(taken) <= 1 or (request.spread and request.gpus > largest)
            assert sum(not set(nodes[name].gpus) <= set(gpus) for name in taken) <= 1


@given(histories())
def test_a_job_starts_only_where_it_may(what: History) -> None:
    for world, made in unfold(what):
        here = world.cluster
        for found in made.starts:
            asked, places = found.job.shape.request, {found.place.node} | {here.node_of[u] for u in found.place.gpus}
            assert not here.is_paused and found.job.id in here.open
            assert all(here.nodes[name].attached and not here.nodes[name].drained for name in places)
            assert not asked.nodes or places <= set(asked.nodes)
            for uuid in found.place.gpus:
                node = here.nodes[here.node_of[uuid]]
                gpu, util = node.gpus[uuid], here.seen[uuid].util
                assert not asked.models or any(word in gpu.model.lower() for word in asked.models)
                assert gpu.mem_mib >= (asked.min_gpu_mem_mib or 0)
                assert not asked.gpu_ids or is_named(here, node, gpu, asked.gpu_ids)
                assert asked.max_util is None or (util is not None and util <= asked.max_util)


@given(histories())
def test_quotas_are_kept(what: History) -> None:
    for world, made in unfold(what):
        here = world.cluster
        for user in USERS:
            own = [s for s in made.starts if s.job.shape.user == user]
            had = [a for a in here.active.values() if a.job.shape.user == user]
            limits = here.user(user)
            gpus = sum(len(a.gpus) for a in had) + sum(len(s.place.gpus) for s in own)
            assert limits.max_gpus is None or not any(s.place.gpus for s in own) or gpus <= limits.max_gpus
            assert limits.max_jobs is None or not own or len(had) + len(own) <= limits.max_jobs
            assert not own or here.queued_by[user] >= len(own)
        most = here.groups.get(1)
        own = [s for s in made.starts if s.job.shape.group == 1]
        running = sum(a.job.shape.group == 1 for a in here.active.values())
        assert most is None or not own or running + len(own) <= most


# -- what an answer is made of --------------------------------------------------------------------------------------


@given(histories())
def test_what_is_counted_is_what_is_there(what: History) -> None:
    for world, _ in unfold(what):
        here = world.cluster
        for user in USERS:
            had = [a for a in here.active.values() if a.job.shape.user == user]
            waiting = [j for j in here.jobs.values() if j.shape.user == user]
            assert here.gpus_of[user] == sum(len(a.gpus) for a in had) and here.runs_of[user] == len(had)
            assert here.queued_by[user] == len(waiting) and (user in here.present) == bool(had or waiting)
        assert here.runs_in[1] == sum(a.job.shape.group == 1 for a in here.active.values())
        in_lines = {job.id for line in here.lines.values() for job in here.in_line(line)}
        assert in_lines == here.open == {j for j in here.jobs if j not in here.held}


@given(histories())
def test_a_plan_applied_and_planned_again_starts_nothing(what: History) -> None:
    for world, made in unfold(what):
        had_first = bool(first_users(world.cluster))
        world.apply(made)
        again = plan(world.cluster, world.now_ms)
        # Others follow one plan after the last job of a user with a negative weight: see test_policies.
        assert again.preempts == [] and (again.starts == [] or had_first)
        made.starts.clear()  # `unfold` is to apply nothing twice
        made.preempts.clear()


@given(histories(), st.randoms(use_true_random=False))
def test_shuffled_input_gives_the_same_plan(what: History, chance: object) -> None:
    """The same cluster, but for the order in which everything in it came to be."""
    for world, made in unfold(what):
        before = {name: getattr(world.cluster, name) for name in _ORDERED}
        for name, value in before.items():
            keys = list(value)
            chance.shuffle(keys)  # type: ignore[attr-defined]
            setattr(world.cluster, name, {key: value[key] for key in keys})
        world.cluster.index = None
        assert plan(world.cluster, world.now_ms) == made


_ORDERED = ("jobs", "lines", "asking", "active", "nodes", "seen", "claims", "users")


@given(histories())
def test_a_quick_answer_of_a_gpu_is_the_same_as_the_one_in_words(what: History) -> None:
    for world, _ in unfold(what):
        space = Space.of(world.cluster)
        for node, gpu in world.cluster.gpus():
            for kind in REQUESTS:
                assert space.takes(node, gpu, kind) == (space.refuses(node, gpu, kind) is None)


@given(histories())
def test_what_is_remembered_from_plan_to_plan_is_what_a_fresh_look_says(what: History) -> None:
    for world, made in unfold(what):
        world.apply(made)
        kept, fresh = Space.of(world.cluster), Space(world.cluster)
        assert kept.largest == fresh.largest
        for request in REQUESTS:
            assert kept.could(request) == fresh.could(request)
            for with_held in (False, True):
                assert kept.place(request, with_held) == fresh.place(request, with_held)
        made.starts.clear()
        made.preempts.clear()


# -- what is said ---------------------------------------------------------------------------------------------------


@given(histories())
def test_explanations_agree_with_what_happens(what: History) -> None:
    for world, made in unfold(what):
        if world.cluster.node_hold is not None:  # see test_keeping
            continue
        starting = {found.job.id for found in made.starts}
        for job in world.cluster.jobs.values():
            said = [type(reason) for reason in explain(world.cluster, job, world.now_ms)]
            assert said, "every no has a reason"
            follows = said == [BehindUser] and world.cluster.user(job.shape.user).weight >= 0  # when the others have started
            assert job.id not in starting or said == [Ahead] or follows


@given(histories())
def test_jobs_that_still_wait_after_a_plan_have_a_reason(what: History) -> None:
    for world, made in unfold(what):
        had_first = bool(first_users(world.cluster))
        world.apply(made)
        for job in world.cluster.jobs.values():
            said = explain(world.cluster, job, world.now_ms)
            assert said and all(reason.text() for reason in said)
            assert had_first or not any(isinstance(reason, Ahead) for reason in said)
        made.starts.clear()
        made.preempts.clear()
