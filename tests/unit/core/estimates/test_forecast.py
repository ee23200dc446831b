"""Forecasts worked out by hand: when a job starts if all goes as it went before; and what a twin leaves alone."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.builders import NOW, cluster, end, job, observe, start_all, submit

from roost.core import events as ev
from roost.core.cluster import Cluster
from roost.core.estimates.forecast import HORIZON_MS, STOPPING_MS, Forecast, Misses, forecast, run_ahead, starts_ahead, twin
from roost.core.model import RANK_STEP, Conditions, Dependency, Job, Stop, StopKind
from roost.core.plan.planner import plan
from roost.core.predictions import Ran
from roost.core.states import Outcome

HOUR = 3600.0


def known(made: Cluster, run_s: float = HOUR, user: str = "ada", gpus: int = 1) -> Cluster:
    """Earlier runs of that user took so long."""
    for _ in range(50):
        made.learned.take(Ran(user, "", gpus, 0, 0.0, run_s))
    return made


def waits_s(made: Cluster, id: int, **how: Any) -> float:
    found = forecast(made, id, NOW, **how).wait_s
    assert found is not None
    return found


def about(seconds: float) -> Any:
    """Run times are remembered in steps of a quarter: an hour is about an hour."""
    return pytest.approx(seconds, rel=0.15)


def busy(*jobs: Job, gpus: int = 1) -> Cluster:
    """A cluster on which the first jobs run since now, the others wait, and every run takes an hour."""
    made = known(cluster(*jobs, gpus=gpus))
    start_all(made)
    return made


def test_one_gpu_and_three_that_wait() -> None:
    made = busy(job(1), job(2), job(3), job(4))
    assert waits_s(made, 2) == about(HOUR)
    assert waits_s(made, 3) == about(2 * HOUR)
    assert waits_s(made, 4) == about(3 * HOUR)


def test_a_run_that_has_lasted_longer_than_its_like_is_given_more() -> None:
    made = busy(job(1), job(2))
    assert forecast(made, 2, NOW + 1_800_000).wait_s == about(HOUR / 2)
    later = forecast(made, 2, NOW + 4 * 3_600_000).wait_s
    assert later is not None and later > 60


def test_what_fits_now_starts_now() -> None:
    made = known(cluster(job(1), gpus=1))
    assert forecast(made, 1, NOW) == Forecast(NOW, NOW, NOW)


def test_the_policy_decides_who_is_first() -> None:
    made = busy(job(1), job(2))
    submit(made, job(3, priority=5))
    assert waits_s(made, 3) == about(HOUR)
    assert waits_s(made, 2) == about(2 * HOUR)


def test_a_job_that_waits_for_another_starts_after_its_end() -> None:
    made = busy(job(1), gpus=2)
    submit(made, job(2), Conditions((Dependency(1, "success"),)))
    submit(made, job(3), Conditions((Dependency(2, "any"),)))
    submit(made, job(4), Conditions((Dependency(1, "failure"),)))
    assert waits_s(made, 2) == about(HOUR)
    assert waits_s(made, 3) == about(2 * HOUR)
    assert forecast(made, 4, NOW).start_ms is None  # somebody else hopes for its success


def test_a_failure_that_is_waited_for_is_expected() -> None:
    made = busy(job(1), gpus=2)
    submit(made, job(2), Conditions((Dependency(1, "failure"),)))
    assert waits_s(made, 2) == about(HOUR)


def test_a_begin_time_is_kept() -> None:
    made = known(cluster(gpus=1))
    submit(made, job(1), Conditions((), NOW + 7_200_000))
    assert waits_s(made, 1) == 7200


def test_nothing_is_said_of_what_a_person_keeps() -> None:
    made = busy(job(1))
    submit(made, job(2), held=True)
    submit(made, job(3))
    assert forecast(made, 2, NOW) == Forecast(NOW, None, NOW)
    assert waits_s(made, 3) == about(HOUR)
    made.apply(ev.SchedulingSwitched(True))
    assert forecast(made, 3, NOW).start_ms is None
    assert forecast(made, 99, NOW).start_ms is None


def test_what_never_comes_free_is_not_foretold() -> None:
    made = known(cluster(job(1), gpus=1))
    observe(made, "n1-0", foreign_mib=500)
    assert forecast(made, 1, NOW).start_ms is None


def test_it_looks_no_further_than_it_may() -> None:
    made = busy(*(job(n) for n in range(1, 12)))
    few = forecast(made, 11, NOW, most=3)
    assert few.start_ms is None and few.looked_ms - NOW == about(3 * HOUR * 1000)
    long = known(cluster(*(job(n) for n in range(1, 12))), 20 * 86_400)
    start_all(long)
    assert forecast(long, 2, NOW).start_ms is not None
    far = forecast(long, 4, NOW)
    assert far.start_ms is None and far.looked_ms <= NOW + HORIZON_MS


def test_a_job_that_shares_is_given_what_others_leave() -> None:
    made = busy(job(1, mem_mib=14_000), job(2, mem_mib=14_000), job(3, mem_mib=8000))
    assert {active.job.id for active in made.active.values()} == {1, 3}
    assert waits_s(made, 2) == about(HOUR)


def test_one_that_was_told_to_stop_is_soon_gone() -> None:
    made = busy(job(1), job(2))
    made.apply(ev.Started(1, NOW, 1, 77))
    made.apply(ev.StopAsked(1, NOW, Stop(StopKind.KILL)))
    assert waits_s(made, 2) == STOPPING_MS / 1000


def test_who_agreed_to_it_makes_room() -> None:
    made = known(cluster(gpus=1))
    yielding = msgspec.structs.replace(job(1).shape, preemptible=True)
    submit(made, Job(1, yielding, RANK_STEP, NOW))
    start_all(made)
    made.apply(ev.Started(1, NOW, 1, 77))
    submit(made, job(2, user="bob"))
    made.apply(ev.SettingChanged("preempt.min_run_s", 0))
    assert waits_s(made, 2) == STOPPING_MS / 1000


# -- the twin -------------------------------------------------------------------------------------------------------


def image(made: Cluster) -> dict[str, Any]:
    """All of a cluster, as values."""
    learned = made.learned
    tallies = {key: (tally.total, tally.version) for key, tally in learned.tallies.items()}
    return {
        **{key: repr(value) for key, value in vars(made).items() if key not in _APART},
        "lines": {shape: list(line.heap) for shape, line in made.lines.items()},
        "asking": {request: list(alike) for request, alike in made.asking.items()},
        "nodes": {name: (n.attached, n.cpu_used, dict(n.gpus)) for name, n in made.nodes.items()},
        "learned": (tallies, learned.waits.version, learned.ended, sorted(map(repr, learned._outlooks))),
    }


_APART = ("lines", "asking", "nodes", "learned", "index", "touched")


def test_a_forecast_changes_nothing() -> None:
    made = busy(*(job(n, gpus=1 + n % 3, user=f"u{n % 4}") for n in range(1, 30)), gpus=4)
    submit(made, job(40), Conditions((Dependency(1, "success"),), NOW + 60_000))
    submit(made, job(41, gpus=0))
    planned = plan(made, NOW)
    before = image(made)
    first = forecast(made, 29, NOW)
    assert first.start_ms is not None
    assert image(made) == before
    assert forecast(made, 29, NOW) == first
    assert plan(made, NOW) == planned


def test_a_twin_goes_its_own_way() -> None:
    made = busy(job(1), job(2), job(3))
    other = twin(made)
    before = image(made)
    end(other, 1)
    assert [s.job.id for s in start_all(other)] == [2]
    other.apply(ev.NodeDrained("n1", True))
    assert image(made) == before
    end(made, 1)
    assert [s.job.id for s in plan(made, NOW).starts] == [2]


def test_what_only_might_happen_teaches_nothing() -> None:
    made = busy(job(1), job(2))
    other = twin(made)
    other.apply(ev.Started(1, NOW, 1, 77))
    other.apply(ev.Ended(1, NOW + 1000, Outcome.SUCCEEDED))
    assert made.learned.ended == other.learned.ended == 50
    assert other.learned.outlook(job(2).shape).typical_s == made.learned.outlook(job(2).shape).typical_s


def test_of_a_long_queue_the_heads_are_copied_and_what_the_job_needs() -> None:
    made = busy(*(job(n, user="ada") for n in range(1, 60)), *(job(n, user="bob") for n in range(60, 63)))
    submit(made, job(70, user="eve"), Conditions((Dependency(50, "success"),)))
    submit(made, job(71, user="eve"), held=True)
    before = image(made)
    short = twin(made, 70, most=12)
    assert sorted(short.jobs) == [*range(2, 11), 50, 60, 61, 62, 70]
    assert short.open == set(short.jobs) - {70} and list(short.conditions) == [70]
    assert run_ahead(short, 70, NOW).start_ms is not None
    assert sorted(twin(made, 55, most=12).open) == [*range(2, 11), 55, 60, 61, 62]
    assert image(made) == before


def test_the_front_of_a_long_queue_is_foretold_as_that_of_a_short_one() -> None:
    made = busy(*(job(n, user=f"u{n % 3}") for n in range(1, 60)), gpus=2)
    assert run_ahead(twin(made, 9, most=30), 9, NOW) == forecast(made, 9, NOW)


# -- what forecasts are worth ---------------------------------------------------------------------------------------


def said(wait_s: float, at_ms: int = NOW) -> Forecast:
    return Forecast(at_ms, at_ms + int(1000 * wait_s), at_ms + int(1000 * wait_s))


def range_s(misses: Misses, wait_s: float, at_ms: int = NOW) -> list[float]:
    eta = misses.eta(said(wait_s, at_ms))
    assert eta is not None
    return [(eta.p50_ms - at_ms) / 1000, (eta.p90_ms - at_ms) / 1000]


def test_at_first_it_is_as_foretold_or_four_times_that() -> None:
    assert range_s(Misses(), 3600) == pytest.approx([3600, 4 * 3660 - 60])
    assert Misses().eta(Forecast(NOW, None, NOW)) is None


def test_it_learns_by_how_much_it_is_wrong() -> None:
    misses = Misses()
    for n in range(600):
        misses.say(n, said(3600))
        misses.started(n, NOW + 1000 * (2 * 3660 - 60))
    assert misses.checked == 600
    assert range_s(misses, 1800) == pytest.approx([2 * 1860 - 60] * 2, rel=0.15)
    assert range_s(misses, 30)[0] == pytest.approx(30), "what is learned of hours is not said of minutes"


def test_it_follows_where_every_wait_is_longer_than_the_last() -> None:
    misses, before_p90 = Misses(), 0
    for n in range(400):
        really_s = 3600 * 1.01**n
        before_p90 += really_s <= range_s(misses, 3600)[1]
        misses.say(n, said(3600))
        misses.started(n, NOW + int(1000 * really_s))
    assert 0.8 * 400 < before_p90 < 0.97 * 400


def test_those_that_are_late_and_wait_are_counted() -> None:
    misses = Misses()
    before = range_s(misses, 1800)
    for n in range(40):
        misses.say(n, said(1800))
    assert range_s(misses, 1800) == before
    after = NOW + 36_000_000
    assert range_s(misses, 1800, after)[0] > 10 * before[0]
    for n in range(40):
        misses.forget(n)
    assert range_s(misses, 1800, after) == before


def test_the_first_word_counts() -> None:
    misses = Misses()
    misses.say(1, said(3600))
    misses.say(1, said(60, NOW + 3_500_000))
    misses.started(1, NOW + 3_600_000)
    misses.started(1, NOW + 9_000_000)
    assert misses.checked == 1


def test_one_run_ahead_tells_all_the_starts_that_single_forecasts_tell() -> None:
    here = cluster(*(job(n, 1 + n % 2) for n in range(1, 9)), gpus=2)
    start_all(here)
    found = starts_ahead(twin(here), NOW, 100)
    assert found == {waiting: forecast(here, waiting, NOW).start_ms for waiting in here.jobs}
    assert set(starts_ahead(twin(here), NOW, 2)) < set(found)


def test_the_middles_of_many_starts_are_those_of_each() -> None:
    misses = Misses()
    for number, waited_s in enumerate((30, 600, 4000, 90_000)):
        misses.say(number, Forecast(NOW, NOW + 1000 * waited_s, NOW))
        misses.started(number, NOW + 1500 * waited_s)
    starts = {7: NOW, 8: NOW + 700_000, 9: NOW + 50_000_000}
    each = {number: misses.eta(Forecast(NOW, at_ms, at_ms)) for number, at_ms in starts.items()}
    assert misses.middles(NOW, starts) == {number: eta.p50_ms for number, eta in each.items() if eta is not None}
