"""In which order jobs are looked at: fifo, balance, swift."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest
from tests.builders import NOW, attach, cluster, end, job, node, start, start_all, submit

from roost.core import events as ev
from roost.core.cluster import Cluster
from roost.core.estimates.queue_ahead import why_first
from roost.core.model import Job, Request, Shape, UserRules
from roost.core.plan.planner import explain, plan
from roost.core.policy import find, names
from roost.core.predictions import Ran

S = 1000


def under(policy: str, here: Cluster, **weights: float) -> Cluster:
    here.apply(ev.SettingChanged("policy", policy))
    for user, weight in weights.items():
        here.apply(ev.UserRuled(user, UserRules(weight)))
    return here


def of(id: int, user: str = "ada", work: str = "", at_s: int = 0, priority: int = 0) -> Job:
    made = job(id, user=user, priority=priority)
    return msgspec.structs.replace(made, shape=msgspec.structs.replace(made.shape, work=work), submitted_ms=NOW + at_s * S)


def order(here: Cluster, now_ms: int = NOW) -> list[int]:
    """Those that a plan starts, in its order."""
    return [found.job.id for found in plan(here, now_ms).starts]


def ahead(here: Cluster, now_ms: int = NOW) -> list[int]:
    """All that wait, in the policy's order."""
    key = find(str(here.settings["policy"])).key
    return sorted(here.jobs, key=lambda id: key(here.jobs[id], here, now_ms))


def test_policies_are_found_by_name() -> None:
    assert names() == ["balance", "fifo", "swift"]
    with pytest.raises(ModuleNotFoundError):
        find("best")


@pytest.mark.parametrize("policy", names())
def test_a_key_ends_in_the_jobs_id(policy: str) -> None:
    here = under(policy, cluster(job(7)))
    assert find(policy).key(here.jobs[7], here, NOW)[-1] == 7


@pytest.mark.parametrize("policy", names())
def test_a_job_that_was_moved_to_the_front_is_first(policy: str) -> None:
    here = under(policy, cluster(job(1), job(2), job(3)))
    here.apply(ev.Moved(3, NOW, msgspec.structs.replace(here.jobs[3], rank=-5)))
    assert ahead(here)[0] == 3


# -- fifo -----------------------------------------------------------------------------------------------------------


def test_fifo_is_first_come_first_served_inside_a_priority() -> None:
    here = under("fifo", cluster(of(1), of(2, "bob"), of(3, priority=1), of(4)))
    assert ahead(here) == [3, 1, 2, 4]


def test_under_fifo_weights_say_nothing() -> None:
    here = under("fifo", cluster(of(1), of(2, "bob"), gpus=2), bob=-1)
    assert order(here) == [1, 2]


# -- balance --------------------------------------------------------------------------------------------------------


def test_balance_looks_first_at_who_holds_least_and_inside_a_user_at_the_oldest() -> None:
    here = under("balance", cluster(*(of(i) for i in range(1, 5)), of(5, "bob"), of(6, "bob"), gpus=4))
    assert order(here) == [1, 5, 2, 6]


def test_one_who_comes_late_to_a_full_cluster_has_the_next_gpu() -> None:
    here = under("balance", cluster(*(of(i) for i in range(1, 500)), gpus=2))
    start_all(here)
    submit(here, of(1000, "bob"))
    end(here, 1)
    assert order(here) == [1000]


def test_on_one_gpu_two_users_take_turns_also_where_one_came_first() -> None:
    here, served = under("balance", cluster(*(of(i) for i in range(1, 7)))), []
    start_all(here)
    for late in (of(10, "bob"), of(11, "bob"), of(12, "cy")):
        submit(here, late)
    while here.active:
        (running,) = here.active.values()
        served.append(running.job.shape.user)
        end(here, running.job.id)
        start_all(here)
    assert served == ["ada", "bob", "cy", "ada", "bob", "ada", "ada", "ada", "ada"]


def test_whose_turn_it_is_is_said() -> None:
    here = under("balance", cluster(of(1), of(2), of(3, "bob")))
    start_all(here)
    end(here, 1)
    assert str(why_first(here, here.jobs[3], here.jobs[2])) == "bob has waited longer for a turn than ada"


@pytest.mark.parametrize("policy", ["fifo", "swift"])
def test_only_under_balance_turns_count(policy: str) -> None:
    here = under(policy, cluster(of(1), of(2), of(3, "bob", at_s=1)))
    before = ahead(here)
    here.serve("ada")
    assert ahead(here) == before


def test_with_weight_k_gpus_count_as_a_kth() -> None:
    jobs = [of(i, "ada" if i % 2 else "bob") for i in range(1, 401)]
    here = under("balance", cluster(*jobs, gpus=8), bob=3)
    assert Counter(found.job.shape.user for found in plan(here, NOW).starts) == {"ada": 2, "bob": 6}


def test_over_many_jobs_weights_are_shares() -> None:
    jobs = [of(i, "ada" if i % 2 else "bob") for i in range(1, 801)]
    here, held = under("balance", cluster(*jobs, gpus=8), ada=1, bob=3), Counter[str]()
    while len(started := start_all(here)) and sum(held.values()) < 400:
        held.update(found.job.shape.user for found in started)
        end(here, next(iter(here.active)))
    assert held["bob"] / held["ada"] == pytest.approx(3, rel=0.1)


def test_balance_keeps_priorities_inside_a_user_only() -> None:
    here = under("balance", cluster(of(1), of(2, priority=9), of(3, "bob"), gpus=3))
    assert order(here) == [2, 3, 1]


@pytest.mark.parametrize("policy", ["balance", "swift"])
def test_weight_0_goes_before_every_positive_one_and_a_negative_before_all(policy: str) -> None:
    here = under(policy, cluster(of(1), of(2, "bob"), of(3, "zero"), of(4, "minus"), gpus=1), bob=1000, zero=0, minus=-1)
    assert ahead(here)[:2] == [4, 3]
    for expected in (4, 3):
        assert order(here) == [expected]
        start_all(here)
        end(here, expected)


@pytest.mark.parametrize("policy", ["balance", "swift"])
def test_weight_0_holds_any_number_and_is_still_first(policy: str) -> None:
    here = under(policy, cluster(of(1), *(of(i, "zero") for i in range(2, 6)), gpus=4), zero=0)
    assert order(here) == [2, 3, 4, 5]


@pytest.mark.parametrize("policy", ["balance", "swift"])
def test_while_a_job_of_a_negative_weight_waits_nobody_elses_starts(policy: str) -> None:
    wide = job(2, 4, user="minus")
    here = under(policy, cluster(of(1), gpus=4), minus=-1)
    start_all(here)
    for waiting in (wide, of(3), of(4, "zero")):
        submit(here, waiting)
    assert order(here) == []
    assert [r.text() for r in explain(here, here.jobs[3], NOW)] == [
        "jobs of minus go first (negative weight), and one of them is waiting"
    ]
    here.apply(ev.JobHeld(2, NOW))  # a held one does not wait for GPUs
    assert sorted(order(here)) == [3, 4]


@pytest.mark.parametrize("policy", ["balance", "swift"])
def test_one_whose_quota_is_reached_stops_nobody(policy: str) -> None:
    here = under(policy, cluster(of(1, "minus"), of(2), gpus=2))
    here.apply(ev.UserRuled("minus", UserRules(-1, max_gpus=0)))
    assert order(here) == [2]


def test_when_the_last_job_of_a_negative_weight_starts_others_start_in_the_same_plan() -> None:
    here = under("balance", cluster(of(1, "minus"), of(2), gpus=2), minus=-1)
    assert order(here) == [1, 2]


# -- swift ----------------------------------------------------------------------------------------------------------


def knowing(*jobs: Job, gpus: int = 1) -> Cluster:
    """Everybody's "short" runs take a minute, the "long" ones an hour; nobody ever waited."""
    here = cluster(*jobs, gpus=gpus)
    for user in ("ada", "bob"):
        for _ in range(30):
            here.learned.take(Ran(user, "short", 1, 0, 0.0, 60))
            here.learned.take(Ran(user, "long", 1, 0, 0.0, 3600))
    return under("swift", here)


def test_shorter_first() -> None:
    assert ahead(knowing(of(1, work="long"), of(2, work="short"))) == [2, 1]


def test_the_older_wins_in_the_end() -> None:
    here = knowing(of(1, work="long"), of(2, work="short", at_s=40_000))
    assert ahead(here, NOW + 40_000 * S) == [1, 2]


def test_without_alpha_it_is_first_come_first_served() -> None:
    here = knowing(of(1, work="long"), of(2, work="short", at_s=1))
    here.apply(ev.SettingChanged("policy.wait_factor", 0.0))
    assert ahead(here) == [1, 2]


def test_priority_comes_before_all_that() -> None:
    assert ahead(knowing(of(1, work="short"), of(2, work="long", priority=1))) == [2, 1]


def test_a_user_above_their_fair_share_goes_back() -> None:
    here = knowing(*(of(i, work="short") for i in (1, 2, 3, 4)), gpus=4)
    start_all(here)
    submit(here, of(5, work="short"))
    submit(here, of(6, "bob", "short", at_s=3600))
    assert ahead(here) == [6, 5]
    here.apply(ev.SettingChanged("policy.fair_share_penalty_s", 0))
    assert ahead(here) == [5, 6]


def test_a_larger_weight_is_a_larger_part() -> None:
    here = knowing(*(of(i, work="short") for i in (1, 2, 3, 4)), gpus=4)
    start_all(here)
    submit(here, of(5, work="short"))
    submit(here, of(6, "bob", "short", at_s=600))
    assert ahead(here) == [6, 5]
    here.apply(ev.UserRuled("ada", UserRules(100)))
    assert ahead(here) == [5, 6]


def test_who_fared_worse_lately_goes_ahead() -> None:
    here = knowing(of(1, work="short"), of(2, "bob", "short", at_s=600))
    assert ahead(here) == [1, 2]
    for _ in range(50):
        here.learned.take(Ran("bob", "short", 1, 0, 6000.0, 60))
    assert ahead(here) == [2, 1]
    here.apply(ev.SettingChanged("policy.wait_compensation_s", 0))
    assert ahead(here) == [1, 2]


def test_how_one_fared_counts_only_so_much() -> None:
    here = knowing(of(1, work="short"), of(2, "bob", "short", at_s=200_000))
    for _ in range(500):
        here.learned.take(Ran("bob", "short", 1, 0, 1e9, 60))
    assert ahead(here, NOW + 200_000 * S) == [1, 2]


def test_what_a_plan_gives_sets_its_user_back_in_the_same_plan() -> None:
    here = knowing(*(of(i, work="short") for i in range(1, 9)), *(of(i, "bob", "short") for i in range(9, 17)), gpus=8)
    users = Counter(found.job.shape.user for found in plan(here, NOW).starts)
    assert users == {"ada": 4, "bob": 4}


def test_a_policy_and_its_numbers_change_live() -> None:
    here = knowing(of(1, work="long"), of(2, work="short"))
    assert order(here) == [2]
    under("fifo", here)
    assert order(here) == [1]


def test_a_job_that_waited_for_a_person_counts_from_its_release() -> None:
    here = knowing(of(1, work="short"), of(2, "bob", "short", at_s=100))
    here.apply(ev.JobHeld(1, NOW))
    here.apply(ev.Released(1, NOW + 500 * S))
    assert ahead(here, NOW + 500 * S) == [2, 1]


def test_the_same_shape_is_served_in_its_order() -> None:
    here = knowing(*(of(i, work="short") for i in (3, 1, 2)))
    attach(here, node("n2", 1))
    found = plan(here, NOW).starts
    assert [s.job.id for s in found] == [1, 2]
    start(here, found[0])
    assert ahead(here) == [2, 3]


@pytest.mark.parametrize("policy", ["balance", "swift"])
def test_two_jobs_of_a_negative_weight_and_one_of_another_start_once_each(policy: str) -> None:
    here = cluster(job(1, user="neg"), job(2, user="neg"), job(3, user="neg"), job(4), gpus=4)
    here.apply(ev.SettingChanged("policy", policy))
    here.apply(ev.UserRuled("neg", UserRules(weight=-1)))
    assert [found.job.id for found in plan(here, NOW).starts] == [1, 2, 3, 4]


def test_memory_that_no_gpu_would_give_is_a_whole_gpu() -> None:
    here = cluster(msgspec.structs.replace(job(1), shape=Shape("ada", 0, Request(1, mem_auto=True), "big")), gpus=1)
    here.learned.take(Ran("ada", "big", 1, 0, 0.0, 60.0, 23_500))
    (start,) = plan(here, NOW).starts
    assert start.granted_mib is None
