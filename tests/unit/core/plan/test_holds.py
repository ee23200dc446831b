"""Nodes kept free for a wide job: when, which, for how long, and who may use them meanwhile."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.builders import NOW, attach, cluster, end, job, node, start, submit

from roost.core import events as ev
from roost.core.cluster import Cluster
from roost.core.model import Gpu, Job, NodeHold, Request, UserRules
from roost.core.plan.holds import MIN_NODE_HOURS, SAVED_FOR_S, SAVED_HOURS, Holds
from roost.core.plan.placement import Space, impossible
from roost.core.plan.planner import explain, plan
from roost.core.predictions import Ran
from roost.core.reasons import Ahead, NodeHeld
from roost.core.states import Outcome

WIDE = 10
RUN_S = 600


def narrow(id: int, work: str = "long") -> Job:
    made = job(id)
    return msgspec.structs.replace(made, shape=msgspec.structs.replace(made.shape, work=work))


def wide(waited_s: int = 20_000, gpus: int = 2, **asked: Any) -> Job:
    made = job(WIDE, gpus, user="zoe", **asked)
    return msgspec.structs.replace(made, submitted_ms=NOW - 1000 * waited_s)


def busy(waiting: Job, allowance: float = 1e6, run_s: int = RUN_S) -> Cluster:
    """Two nodes with two GPUs each, all held by jobs that take `run_s` ("long") as a rule; 10 s is "short"."""
    here = cluster(*(narrow(i) for i in range(1, 5)), nodes=[node("n1", 2), node("n2", 2)])
    for _ in range(30):
        here.learned.take(Ran("ada", "long", 1, 0, 0.0, run_s))
        here.learned.take(Ran("ada", "short", 1, 0, 0.0, 10))
        here.learned.take(Ran("zoe", "", 2, 0, 0.0, run_s))
    carry_out(here)
    submit(here, waiting)
    here.apply(ev.HoldChanged(NOW, None, allowance))
    return here


def half_free(allowance: float) -> Cluster:
    """The same, with a GPU of each node free: kept, it would stand idle until the other is."""
    here = busy(wide(), allowance)
    end(here, 1)
    end(here, 3)
    return here


def carry_out(here: Cluster, now_ms: int = NOW) -> list[int]:
    """Plan, and let all of it happen; what started."""
    made = plan(here, now_ms)
    for found in made.starts:
        start(here, found, now_ms)
        here.apply(ev.Started(found.job.id, now_ms, 1, 77))
    if made.hold is not None:
        here.apply(made.hold)
    return [found.job.id for found in made.starts]


def kept(here: Cluster, now_ms: int = NOW) -> NodeHold | None:
    """What a plan keeps."""
    made = plan(here, now_ms).hold
    return made.hold if made is not None else here.node_hold


def keeping(here: Cluster, **known: Any) -> None:
    """n1 is kept."""
    values = {"since_ms": NOW, "chosen_ms": NOW, "until_ms": NOW + 1000 * RUN_S, "expected": 1e6} | known
    here.apply(ev.HoldChanged(NOW, NodeHold(WIDE, ("n1",), **values), here.allowance))


# -- when -----------------------------------------------------------------------------------------------------------


def test_a_node_is_kept_for_a_job_that_has_waited_long() -> None:
    here = busy(wide())
    found = kept(here)
    assert found is not None and (found.job, len(found.nodes), found.idle) == (WIDE, 1, 0)
    assert 0 < found.until_ms - NOW <= 2000 * RUN_S


def test_not_before_its_patience_is_over() -> None:
    assert kept(busy(wide(3599))) is None
    assert kept(busy(wide(3600))) is not None


def test_a_job_that_runs_long_has_patience_as_long_as_its_run() -> None:
    assert kept(busy(wide(10_000), allowance=1e9, run_s=20_000)) is None


def test_nothing_is_kept_for_narrow_jobs_nor_for_one_that_fits() -> None:
    assert kept(busy(wide(gpus=1))) is None
    here = busy(wide())
    end(here, 1)
    end(here, 2)
    assert kept(here) is None and carry_out(here) == [WIDE]


def test_nothing_is_kept_that_the_purse_cannot_pay() -> None:
    assert kept(busy(wide(), allowance=0.0)) is None
    assert kept(half_free(allowance=1.0)) is None
    here = busy(wide())
    here.apply(ev.SettingChanged("policy.idle_allowance", 0.0))
    here.apply(ev.HoldChanged(NOW, None, 0.0))
    assert kept(here, NOW + 10**9) is None


def test_nothing_is_kept_that_its_wait_is_not_worth() -> None:
    """Its wait is short beside that of others, and there is much to pay: a free GPU stands idle until a long run ends."""
    here = busy(wide(3700), run_s=3000)
    end(here, 1)
    end(here, 3)
    here.learned.long_wait_s = 1e7
    assert kept(here) is None
    here.learned.long_wait_s = 0.0  # nobody else waits that long
    assert kept(here) is not None


def test_what_was_too_dear_is_not_thought_of_again_at_once() -> None:
    here = half_free(allowance=1.0)
    carry_out(here)
    assert here.hold_again_ms > NOW


def test_one_job_at_a_time_and_the_oldest_first() -> None:
    here = busy(wide())
    submit(here, msgspec.structs.replace(job(11, 2, user="yan"), submitted_ms=NOW - 30_000_000))
    found = kept(here)
    assert found is not None and found.job == 11


def test_nothing_is_kept_for_one_whose_quota_is_reached() -> None:
    here = busy(wide())
    here.apply(ev.UserRuled("zoe", UserRules(max_gpus=1)))
    assert kept(here) is None


# -- which ----------------------------------------------------------------------------------------------------------


def test_the_node_that_will_be_empty_first() -> None:
    here = busy(wide())
    end(here, 3)
    end(here, 4)
    submit(here, narrow(5, "short"))
    submit(here, narrow(6, "short"))
    for id, uuid in ((5, "n2-0"), (6, "n2-1")):
        here.apply(ev.StartIntended(id, NOW, 1, "n2", (uuid,)))
    found = kept(here)
    assert found is not None and found.nodes == ("n2",)


def test_whole_nodes_for_one_that_is_wider_than_any() -> None:
    found = kept(busy(wide(gpus=3, spread=True)))
    assert found is not None and found.nodes == ("n1", "n2")


@pytest.mark.parametrize("closed", [ev.NodeDrained("n1", True), ev.NodeDetached("n1", "cut")])
def test_no_node_that_is_closed(closed: ev.Event) -> None:
    here = busy(wide())
    here.apply(closed)
    found = kept(here)
    assert found is not None and found.nodes == ("n2",)


def test_no_node_where_it_may_not_run() -> None:
    found = kept(busy(wide(nodes=("n2",))))
    assert found is not None and found.nodes == ("n2",)


# -- meanwhile ------------------------------------------------------------------------------------------------------


def test_only_guests_that_will_be_gone_in_time() -> None:
    here = busy(wide())
    keeping(here)
    end(here, 1)
    submit(here, narrow(20, "long"))
    assert carry_out(here) == []
    assert isinstance(explain(here, here.jobs[20], NOW)[0], NodeHeld)
    submit(here, narrow(21, "short"))
    assert carry_out(here) == [21]


def test_others_start_where_nothing_is_kept() -> None:
    here = busy(wide())
    keeping(here)
    end(here, 3)
    submit(here, narrow(20))
    assert carry_out(here) == [20] and here.active[20].node == "n2"


def test_the_job_for_which_it_is_kept_goes_before_any_priority() -> None:
    here = busy(wide())
    keeping(here)
    submit(here, job(20, priority=9))
    end(here, 1)
    end(here, 2)
    assert carry_out(here) == [WIDE]
    assert here.node_hold is None


def test_what_stands_idle_is_paid_and_the_purse_fills() -> None:
    here = busy(wide(), allowance=1000.0)
    submit(here, narrow(20))
    keeping(here, idle=2)
    now_ms = NOW + 100_000
    holds = Holds(here, Space.of(here), now_ms)
    assert holds.allowance == pytest.approx(1000 + 100 * 0.02 * 4 - 100 * 2)
    assert holds.hold is not None and holds.hold.spent == 200


def test_the_purse_holds_only_so_much() -> None:
    here = busy(wide(), allowance=0.0)
    holds = Holds(here, Space.of(here), NOW + 10**12)
    assert holds.allowance == pytest.approx(MIN_NODE_HOURS * 3600 * len(here.nodes["n1"].gpus))
    assert holds.savings == pytest.approx(SAVED_HOURS * 3600 * 0.02 * 4)


def test_what_is_saved_is_for_those_who_wait_longest() -> None:
    """The allowance is empty, and what was saved suffices: for a job of days, not for one of hours."""
    for waited_s, is_kept in ((10_000, False), (SAVED_FOR_S + 10, True)):
        here = busy(wide(waited_s), allowance=0.0)
        end(here, 1)  # a free GPU would stand idle
        here.apply(ev.HoldChanged(NOW, None, 0.0, savings=1e6))
        assert (kept(here) is not None) is is_kept


@pytest.mark.parametrize(("allowance", "is_kept"), [(7_999, False), (8_001, True)])
def test_behind_an_attempt_in_vain_the_purse_must_hold_twice_what_that_cost(allowance: float, is_kept: bool) -> None:
    """Or one attempt after the other would begin as soon as its price seems to be there, and starve the job."""
    here = half_free(allowance=0.0)
    here.apply(ev.HoldChanged(NOW, None, 0.0, WIDE, in_vain=4_000.0))
    later_ms = NOW + 300_000
    here.apply(ev.HoldChanged(later_ms, None, allowance))
    found = kept(here, later_ms)
    assert (found is not None) is is_kept
    assert found is None or found.expected == 8_000


def test_an_attempt_in_vain_never_asks_for_more_than_the_purse_holds() -> None:
    here = half_free(allowance=0.0)
    here.apply(ev.HoldChanged(NOW, None, 0.0, WIDE, in_vain=1e9))
    later_ms = NOW + 300_000
    here.apply(ev.HoldChanged(later_ms, None, MIN_NODE_HOURS * 3600.0 * 2))
    assert kept(here, later_ms) is not None


def test_what_costs_twice_its_price_is_given_up_and_the_wait_counts_from_there() -> None:
    here = busy(wide())
    keeping(here, expected=60.0, idle=2)
    now_ms = NOW + 61_000
    carry_out(here, now_ms)
    assert here.node_hold is None and here.abandoned_holds[WIDE].at_ms == now_ms
    here.learned.long_wait_s = 1e7
    assert kept(here, now_ms + 1000) is None


def test_it_is_given_up_when_the_purse_is_empty() -> None:
    here = busy(wide(), allowance=10.0)
    keeping(here, idle=2)
    carry_out(here, NOW + 100_000)
    assert here.node_hold is None and here.allowance < 0


@pytest.mark.parametrize("gone", [ev.JobHeld(WIDE, NOW), ev.Ended(WIDE, NOW, Outcome.KILLED)])
def test_nothing_is_kept_for_one_that_no_longer_waits(gone: ev.Event) -> None:
    here = busy(wide())
    submit(here, narrow(20))
    keeping(here)
    end(here, 1)
    here.apply(gone)
    assert carry_out(here) == [20] and here.node_hold is None


# -- what does not hold yet -----------------------------------------------------------------------------------------


def test_the_job_for_which_it_is_kept_is_not_told_that_it_is_kept_for_another() -> None:
    here = busy(wide())
    keeping(here)
    end(here, 1)
    end(here, 2)
    assert [s.job.id for s in plan(here, NOW).starts] == [WIDE]
    assert [type(reason) for reason in explain(here, here.jobs[WIDE], NOW)] == [Ahead]


def test_a_guest_that_starts_is_not_told_that_the_node_is_kept() -> None:
    here = busy(wide())
    keeping(here)
    end(here, 1)
    submit(here, narrow(21, "short"))
    assert [s.job.id for s in plan(here, NOW).starts] == [21]
    assert [type(reason) for reason in explain(here, here.jobs[21], NOW)] == [Ahead]


def test_no_node_whose_gpus_would_not_do() -> None:
    here = busy(wide(models=("h100",)))
    gpus = tuple(Gpu(f"n3-{i}", i, "Sim H100", 80_000) for i in range(2))
    attach(here, ev.NodeSeen("n3", 2, 64_000, gpus))
    submit(here, narrow(5))
    here.apply(ev.StartIntended(5, NOW, 1, "n3", ("n3-0",)))
    here.apply(ev.Started(5, NOW + 1000, 1, 77))  # ends last of all
    found = kept(here, NOW + 1000)
    assert found is None or found.nodes == ("n3",)


def test_what_stood_idle_is_paid_when_the_job_leaves_too() -> None:
    here = busy(wide(), allowance=1000.0)
    submit(here, narrow(20))
    keeping(here, idle=2)
    here.apply(ev.Ended(WIDE, NOW + 100_000, Outcome.KILLED))
    carry_out(here, NOW + 100_000)
    assert here.allowance == pytest.approx(1000 + 100 * 0.02 * 4 - 100 * 2)


def test_one_that_may_spread_does_so_over_the_nodes_where_it_may_run() -> None:
    nodes = [node("n1", 2), node("n2", 2), node("n3", 4)]
    here = cluster(job(1, 4, spread=True, nodes=("n1", "n2")), nodes=nodes)
    assert impossible(here, here.jobs[1].shape.request) is None
    assert len(plan(here, NOW).starts) == 1


def test_a_node_that_lost_gpus_is_no_longer_the_largest() -> None:
    here = cluster(nodes=[node("n1", 4), node("n2", 2)])
    plan(here, NOW)
    Space.of(here)
    attach(here, node("n1", 2))
    submit(here, job(1, 4, spread=True))
    assert Space.of(here).largest == Space(here).largest == 2
    assert len(plan(here, NOW).starts) == 1


def test_a_cpu_job_asks_nothing_of_what_is_kept() -> None:
    here = busy(wide())
    keeping(here)
    submit(here, job(30, gpus=0))
    assert Space.of(here).find(Request(gpus=0)) is not None
    assert carry_out(here) == [30]
