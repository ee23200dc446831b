"""What starts, where, and why not."""

from __future__ import annotations

import msgspec
from tests.builders import MEM, NOW, attach, cluster, end, job, node, observe, start_all, submit

from roost.core import events as ev
from roost.core.accounts import Account
from roost.core.model import Claimant, Conditions, Dependency, GpuRules, Host, Observation, Process
from roost.core.plan.placement import impossible
from roost.core.plan.planner import explain, plan
from roost.core.reasons import AccountClosed, GpuClaimed, GpuForeign, GpuMemory, GpuTaken


def test_the_first_come_is_the_first_served() -> None:
    here = cluster(job(2), job(1), gpus=1)
    assert [s.job.id for s in plan(here, NOW).starts] == [1]


def test_a_higher_priority_goes_first() -> None:
    here = cluster(job(1), job(2, priority=5), gpus=1)
    assert [s.job.id for s in plan(here, NOW).starts] == [2]


def test_a_small_job_passes_a_big_one_that_cannot_run_now() -> None:
    here = cluster(job(1), job(2, gpus=3), job(3), gpus=3)
    assert [s.job.id for s in start_all(here)] == [1, 3]
    assert "needs 3 free GPUs on n1; 1 of 3 is free" in explain(here, here.jobs[2], NOW)[0].text()


def test_a_job_of_two_gpus_gets_two_of_one_node() -> None:
    here = cluster(job(1, gpus=2), nodes=[node("n1", 1), node("n2", 2)])
    (start,) = plan(here, NOW).starts
    assert start.place.gpus == ("n2-0", "n2-1")


def test_sharing_jobs_fill_a_gpu_up_to_its_memory() -> None:
    here = cluster(*(job(i, mem_mib=9000) for i in (1, 2, 3)), gpus=1)
    assert [s.job.id for s in start_all(here)] == [1, 2]
    (_, reason) = explain(here, here.jobs[3], NOW)
    assert isinstance(reason, GpuMemory) and reason.free_mib == MEM - 18_000
    assert [h.job for h in reason.holders] == [1, 2]


def test_where_only_the_memory_floor_is_in_the_way_the_reason_says_so() -> None:
    here = cluster(*(job(i, mem_mib=MEM // 4 + 1) for i in (1, 2)), gpus=1)
    here.apply(ev.SettingChanged("safety.gpu_mem", 0.5))
    assert [s.job.id for s in start_all(here)] == [1]
    (_, reason) = explain(here, here.jobs[2], NOW)
    assert isinstance(reason, GpuMemory) and reason.floor_mib == MEM // 2 and reason.free_mib >= reason.asked_mib
    assert "(safety.gpu_mem)" in reason.text()
    never = impossible(here, msgspec.structs.replace(job(3).shape.request, mem_mib=MEM // 2 + 1024))
    assert never is not None and "must stay free (safety.gpu_mem)" in str(never)
    whole = job(4, exclusive=True).shape.request
    assert impossible(here, whole) is None


def test_a_job_that_uses_more_than_it_asked_counts_with_what_it_uses() -> None:
    here = cluster(job(1, mem_mib=1000), gpus=1)
    start_all(here)
    submit(here, job(2, mem_mib=20_000))
    here.apply(ev.Sampled("n1", Host(1, 1), (("n1-0", Observation(0, 0, procs=(Process(7, "ada", "x", 9000, "1.1"),))),)))
    (_, reason) = explain(here, here.jobs[2], NOW)
    assert isinstance(reason, GpuMemory) and reason.free_mib == MEM - 9000


def test_a_just_started_job_keeps_what_it_asked_though_the_driver_shows_nothing() -> None:
    here = cluster(job(1), job(2), gpus=1)
    start_all(here)
    observe(here, "n1-0")
    assert plan(here, NOW).starts == []


def test_an_exclusive_job_wants_a_gpu_for_itself() -> None:
    here = cluster(job(1, mem_mib=100), job(2, exclusive=True), gpus=1)
    start_all(here)
    assert isinstance(explain(here, here.jobs[2], NOW)[1], GpuTaken)


def test_two_slots_take_two_jobs_and_no_third() -> None:
    here = cluster(job(1), job(2), job(3), gpus=1)
    here.apply(ev.GpuRuled("n1-0", GpuRules(slots=2)))
    assert [s.job.id for s in plan(here, NOW).starts] == [1, 2]


def test_a_foreign_process_keeps_its_gpu_and_is_named() -> None:
    here = cluster(job(1), gpus=1)
    observe(here, "n1-0", foreign_mib=500)
    (_, reason) = explain(here, here.jobs[1], NOW)
    assert isinstance(reason, GpuForeign) and "pid 4242 of eve (500 MiB, python mine.py)" in reason.text()


def test_a_sharing_job_sits_beside_a_foreign_process_when_the_memory_is_there() -> None:
    here = cluster(job(1, mem_mib=MEM - 500), job(2, mem_mib=MEM), gpus=1)
    observe(here, "n1-0", foreign_mib=500)
    assert [s.job.id for s in plan(here, NOW).starts] == [1]


def test_what_the_driver_has_not_said_is_not_free() -> None:
    here = cluster(job(1), job(2, mem_mib=10, max_util=50), gpus=1)
    observe(here, "n1-0", util=None)
    assert [s.job.id for s in plan(here, NOW).starts] == [1]
    here.apply(ev.NodeDetached("n1", "cut"))
    assert "n1 cannot be reached: cut" in explain(here, here.jobs[1], NOW)[0].text()
    here.apply(ev.NodeAttached("n1"))
    assert plan(here, NOW).starts == []


def test_a_faulty_drained_or_disabled_gpu_is_left_out() -> None:
    here = cluster(job(1), job(2), job(3), job(4), gpus=4)
    observe(here, "n1-0", fault="ECC")
    here.apply(ev.GpuRuled("n1-1", GpuRules(drained=True)))
    here.apply(ev.GpuRuled("n1-2", GpuRules(disabled=True)))
    assert [s.place.gpus for s in plan(here, NOW).starts] == [("n1-3",)]


def test_a_job_without_gpus_neither_waits_for_them_nor_passes_its_slots() -> None:
    here = cluster(job(1, gpus=0), job(2, gpus=0), job(3, gpus=0), job(4), gpus=1)
    assert [s.job.id for s in plan(here, NOW).starts] == [1, 2, 4]


def test_named_gpus_are_forced_and_preferred_ones_are_not() -> None:
    forced, wish = job(1, gpu_ids=("1",)), job(2, prefer_gpus=("1",))
    here = cluster(forced, wish, gpus=2)
    assert [(s.job.id, s.place.gpus) for s in plan(here, NOW).starts] == [(1, ("n1-1",)), (2, ("n1-0",))]


def test_a_sharing_job_goes_to_the_fullest_gpu_that_has_room() -> None:
    here = cluster(job(1, mem_mib=4000, gpu_ids=("1",)), job(2, mem_mib=4000), gpus=2)
    assert [s.place.gpus for s in plan(here, NOW).starts] == [("n1-1",), ("n1-1",)]


def test_nothing_starts_while_scheduling_is_paused_and_the_reason_says_so() -> None:
    here = cluster(job(1))
    here.apply(ev.SchedulingSwitched(True))
    assert plan(here, NOW).starts == []
    assert [r.text() for r in explain(here, here.jobs[1], NOW)] == [
        "scheduling is paused; continue with `roost scheduler resume`"
    ]


def test_a_job_waits_for_another_and_for_its_time() -> None:
    here = cluster(job(1), gpus=2)
    submit(here, job(2), Conditions((Dependency(1, "any"),), NOW + 5000))
    start_all(here)
    assert [r.text() for r in explain(here, here.jobs[2], NOW)] == [
        "waits for job 1 to end (it is starting)",
        "starts after its begin time, in 5 s",
    ]
    end(here, 1, "failed")
    assert plan(here, NOW).starts == []
    here.apply(ev.TimeCame(NOW + 5000))
    assert [s.job.id for s in plan(here, NOW + 5000).starts] == [2]


def test_a_round_starts_no_more_than_its_limit() -> None:
    here = cluster(*(job(i, mem_mib=1) for i in range(1, 20)), gpus=4)
    assert len(plan(here, NOW, limit=7).starts) == 7


def test_whole_nodes_stay_whole() -> None:
    here = cluster(job(1), job(2), nodes=[node("n1", 2), node("n2", 1)])
    assert [s.place.node for s in plan(here, NOW).starts] == ["n2", "n1"]


def test_a_host_short_of_memory_starts_nothing() -> None:
    here = cluster(job(1))
    here.apply(ev.SettingChanged("safety.host_mem", 0.95))
    assert plan(here, NOW).starts == []
    assert "below the minimum of 59.4 GiB" in explain(here, here.jobs[1], NOW)[0].text()


def test_a_node_that_comes_opens_its_gpus() -> None:
    here = cluster(job(1), job(2), gpus=1)
    attach(here, node("n2", 1))
    assert len(plan(here, NOW).starts) == 2


def test_a_gpu_that_another_roost_has_claimed_is_left_alone_until_it_is_free() -> None:
    here = cluster(job(1), job(2, mem_mib=1000), gpus=1)
    observe(here, "n1-0", claimed_by=Claimant("bo", 7))
    assert plan(here, NOW).starts == []
    for waiting in (1, 2):
        (_, reason) = explain(here, here.jobs[waiting], NOW)
        assert reason == GpuClaimed(gpu="n1:0", by=Claimant("bo", 7))
    observe(here, "n1-0")
    assert [s.job.id for s in plan(here, NOW).starts] == [1]


def test_nothing_of_an_account_starts_before_it_is_known_to_be_open() -> None:
    anas = job(1)
    anas = msgspec.structs.replace(anas, shape=msgspec.structs.replace(anas.shape, account=Account("ana")))
    here = cluster(anas, job(2), gpus=4)
    assert len(plan(here, NOW).starts) == 2  # nobody asks about accounts
    for states, started, word in (({}, [2], "unknown"), ({"ana": "locked"}, [2], "locked"), ({"ana": "open"}, [1, 2], "")):
        here.apply(ev.AccountsKnown({Account(name): state for name, state in states.items()}))
        assert [start.job.id for start in plan(here, NOW).starts] == started
        closed = [reason.state for reason in explain(here, here.jobs[1], NOW) if isinstance(reason, AccountClosed)]
        assert closed == ([word] if word else [])
