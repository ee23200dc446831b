"""Which jobs hold a GPU for nothing, and which GPUs became free."""

from __future__ import annotations

from tests.builders import NOW, cluster, end, job, observe, start_all, submit

from roost.core import events as ev
from roost.core.cluster import Cluster
from roost.core.model import Observation
from roost.server.notify.gpu_watch import STALE_MS, FreeWatch, IdleWatch

MIN = 60_000
LIMIT = 30 * MIN


def running(gpus: int = 1) -> Cluster:
    """One job that holds all GPUs there are."""
    made = cluster(job(1, gpus), gpus=gpus)
    start_all(made)
    made.apply(ev.Started(1, NOW, 1, 77))
    return made


def watched(watch: IdleWatch, made: Cluster, *samples: tuple[int, int | None, int | None], uuid: str = "n1-0") -> list[int]:
    """The minutes at which the job is named, of samples (minute, utilization, memory)."""
    named = []
    for minute, util, mem in samples:
        now = NOW + minute * MIN
        watch.see(uuid, Observation(mem, util), now)
        named += [minute for _ in watch.look(made, now, LIMIT)]
    return named


def minutes(first: int, last: int, util: int | None = 0, mem: int | None = 5000) -> list[tuple[int, int | None, int | None]]:
    return [(minute, util, mem) for minute in range(first, last)]


def test_a_job_that_does_nothing_is_named_once() -> None:
    assert watched(IdleWatch(), running(), *minutes(0, 90)) == [30]


def test_one_that_works_is_not() -> None:
    assert watched(IdleWatch(), running(), *minutes(0, 90, util=1)) == []


def test_one_that_works_again_may_be_named_again() -> None:
    samples = [*minutes(0, 40), (40, 80, 5000), *minutes(41, 80)]
    assert watched(IdleWatch(), running(), *samples) == [30, 71]


def test_memory_that_changes_is_work() -> None:
    samples = [(minute, 0, 5000 + minute // 20) for minute in range(90)]
    assert watched(IdleWatch(), running(), *samples) == []


def test_what_is_unknown_is_not_idle() -> None:
    assert watched(IdleWatch(), running(), *minutes(0, 90, util=None)) == []
    assert watched(IdleWatch(), running(), *minutes(0, 90, mem=None)) == []


def test_a_gpu_that_is_not_read_any_more_is_not_idle() -> None:
    watch, made = IdleWatch(), running()
    assert watched(watch, made, *minutes(0, 29)) == []
    assert watch.look(made, NOW + 29 * MIN + STALE_MS, LIMIT) == []


def test_the_time_before_the_job_does_not_count() -> None:
    watch = IdleWatch()
    for minute in range(-60, 0):
        watch.see("n1-0", Observation(5000, 0), NOW + minute * MIN)
    assert watched(watch, running(), *minutes(0, 31)) == [30]


def test_a_paused_job_is_left_alone() -> None:
    made = running()
    made.apply(ev.Paused(1, NOW))
    assert watched(IdleWatch(), made, *minutes(0, 90)) == []


def test_one_idle_gpu_of_two_is_enough_and_is_the_one_named() -> None:
    watch, made = IdleWatch(), running(2)
    for minute in range(31):
        watch.see("n1-0", Observation(5000, 90), NOW + minute * MIN)
        watch.see("n1-1", Observation(10, 0), NOW + minute * MIN)
    (idle,) = watch.look(made, NOW + 30 * MIN, LIMIT)
    assert idle.gpus == (1,) and idle.idle_ms == 30 * MIN and idle.was_seen_working


def test_a_node_that_is_away_says_nothing() -> None:
    watch, made = IdleWatch(), running()
    watched(watch, made, *minutes(0, 29))
    watch.forget({"n1-0"})
    assert watched(watch, made, *minutes(29, 59)) == []


def test_a_gpu_that_was_used_and_stays_free_is_told_once() -> None:
    made, watch = running(), FreeWatch()
    assert watch.look(made, NOW, 5000) == []
    end(made, 1)
    assert watch.look(made, NOW, 5000) == []
    assert watch.look(made, NOW + 4999, 5000) == []
    assert watch.look(made, NOW + 5000, 5000) == [("n1", 0)]
    assert watch.look(made, NOW + 9000, 5000) == []
    assert watch.free == {("n1", 0)}


def test_one_that_was_never_used_is_no_news() -> None:
    made, watch = cluster(gpus=2), FreeWatch()
    assert [watch.look(made, NOW + s * 1000, 0) for s in range(5)] == [[]] * 5


def test_one_that_somebody_waits_for_is_not_free() -> None:
    made, watch = running(), FreeWatch()
    watch.look(made, NOW, 0)
    end(made, 1)
    submit(made, job(9, 4))
    assert watch.look(made, NOW + 1, 0) == [] and not watch.free


def test_one_that_a_stranger_takes_is_not_free() -> None:
    made, watch = running(), FreeWatch()
    watch.look(made, NOW, 5000)
    end(made, 1)
    watch.look(made, NOW, 5000)
    observe(made, "n1-0", foreign_mib=100)
    assert watch.look(made, NOW + 6000, 5000) == []
    observe(made, "n1-0")
    assert watch.look(made, NOW + 7000, 5000) == []
    assert watch.look(made, NOW + 12_000, 5000) == [("n1", 0)]


def test_a_node_that_comes_back_frees_nothing() -> None:
    made, watch = cluster(), FreeWatch()
    made.apply(ev.NodeDetached("n1", "cut"))
    watch.look(made, NOW, 0)
    made.apply(ev.NodeAttached("n1"))
    observe(made, "n1-0")
    assert watch.look(made, NOW + 1, 0) == []
