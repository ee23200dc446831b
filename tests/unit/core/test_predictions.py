"""What earlier runs teach."""

from __future__ import annotations

import pytest

from roost.core import predictions
from roost.core.model import Request, Shape
from roost.core.predictions import EDGES, STALE, Learned, Ran, Tally


def shape(user: str = "ada", work: str = "train", gpus: int = 1, limit_s: int = 0) -> Shape:
    return Shape(user, 0, Request(gpus), work, limit_s=limit_s)


def ran(run_s: float, user: str = "ada", work: str = "train", gpus: int = 1, **more: object) -> Ran:
    return Ran(user, work, gpus, 0, None, run_s, **more)  # type: ignore[arg-type]


def learned(*runs: Ran) -> Learned:
    known = Learned()
    for run in runs:
        known.take(run)
    return known


def about(seconds: float) -> object:
    """As near as the steps of a distribution allow: a quarter."""
    return pytest.approx(seconds, rel=0.25)


def test_nothing_known_is_any_order_of_magnitude() -> None:
    outlook = Learned().outlook(shape())
    assert (outlook.runs, outlook.source) == (0, "nothing yet")
    assert outlook.within(0.1) < 10 and outlook.within(0.9) > 1_000_000


def test_quantiles_are_those_of_the_runs() -> None:
    outlook = learned(*(ran(100 if i % 4 else 10_000) for i in range(200))).outlook(shape())
    assert outlook.typical_s == outlook.within(0.5) == about(100)
    assert outlook.within(0.9) == about(10_000)
    assert outlook.ends_by(200) == pytest.approx(0.75, abs=0.03)
    assert outlook.ends_by(1e12) == 1.0


def test_quantiles_never_fall() -> None:
    outlook = learned(*(ran(s) for s in (3, 50, 700, 700, 9000))).outlook(shape())
    for age_s in (0.0, 10.0, 800.0, 50_000.0):
        found = [outlook.within(chance / 20, age_s) for chance in range(1, 21)]
        assert found == sorted(found) and found[0] >= age_s


def test_one_that_has_run_long_is_asked_what_is_left_of_those_that_ran_longer() -> None:
    outlook = learned(*(ran(100 if i % 4 else 10_000) for i in range(200))).outlook(shape())
    assert outlook.within(0.5, age_s=1000) == about(10_000)
    assert outlook.still_ends_by(2000, age_s=1000) == pytest.approx(0, abs=0.01)
    assert outlook.still_ends_by(15_000, age_s=1000) == pytest.approx(1, abs=0.01)


def test_longer_than_anything_known_is_as_long_again() -> None:
    outlook = learned(ran(100)).outlook(shape())
    age_s = 2 * EDGES[-1]
    assert outlook.within(0.5, age_s) == 2 * age_s
    assert outlook.still_ends_by(3 * age_s, age_s) == 1.0 and outlook.still_ends_by(1.5 * age_s, age_s) == 0.0


@pytest.mark.parametrize(
    ("asked", "source", "typical_s"),
    [
        (shape(), "runs like it", 100),
        (shape(gpus=4), "runs of the same command", 100),
        (shape(work="new", gpus=8), "the user's runs of that size", 5000),
        (shape(work="new", gpus=2), "the user's runs", None),
        (shape("bob"), "everyone", None),
    ],
)
def test_the_finest_description_that_was_seen_speaks(asked: Shape, source: str, typical_s: float | None) -> None:
    known = learned(*(ran(100) for _ in range(50)), *(ran(5000, work="other", gpus=8) for _ in range(50)))
    outlook = known.outlook(asked)
    assert outlook.source == source
    assert typical_s is None or outlook.typical_s == about(typical_s)


def test_a_few_runs_of_its_own_weigh_more_than_many_of_others() -> None:
    known = learned(*(ran(10_000, "bob", "other") for _ in range(500)), *(ran(60) for _ in range(5)))
    assert known.outlook(shape()).typical_s == about(60)
    assert known.outlook(shape("cyd", "new")).typical_s == about(10_000)


def test_new_habits_win() -> None:
    known = learned(*(ran(10_000) for _ in range(300)), *(ran(60) for _ in range(100)))
    assert known.outlook(shape()).typical_s == about(60)


def test_a_tally_stands_for_about_fifty_runs_and_never_overflows() -> None:
    tally = Tally()
    for _ in range(5000):
        tally.add(100)
    assert tally.seen == pytest.approx(50, rel=0.02) and tally.unit < 1e13 and tally.total < 1e15


def test_an_outlook_is_new_after_a_run_of_its_like_and_after_many_of_others() -> None:
    known = learned(ran(100))
    first = known.outlook(shape())
    known.take(ran(100, "bob", "other"))
    assert known.outlook(shape()) is first
    known.take(ran(9000))
    second = known.outlook(shape())
    assert second is not first
    for _ in range(STALE + 1):
        known.take(ran(100, "bob", "other"))
    assert known.outlook(shape()) is not second


def test_a_time_limit_caps_it() -> None:
    known = learned(*(ran(10_000) for _ in range(50)))
    assert known.outlook(shape(limit_s=600)).within(1.0) <= 600 * 1.25
    assert known.outlook(shape()).typical_s == about(10_000)


def test_what_is_remembered_is_bounded_and_the_oldest_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(predictions, "MAX_KEYS", 40)
    known = learned(*(ran(100, f"user{i}", peak_mib=i + 1) for i in range(100)))
    for i in range(100):
        known.outlook(shape(f"user{i}"))
    assert len(known.tallies) <= 40 and len(known.peaks) <= 40 and len(known._outlooks) <= 41
    assert known.memory_mib(shape("user0"), 0) is None and known.memory_mib(shape("user99"), 0) is not None


def test_memory_is_the_most_that_its_like_used_and_a_margin() -> None:
    known = learned(ran(9, peak_mib=4000), ran(9, peak_mib=9000), ran(9, peak_mib=None), ran(9, gpus=2, peak_mib=20_000))
    assert known.memory_mib(shape(), 0.5) == 13_501
    assert known.memory_mib(shape(work="new"), 0.5) is None
    for _ in range(20):
        known.take(ran(9, peak_mib=100))
    assert known.memory_mib(shape(), 0.0) == 101  # the last twenty count


def test_a_user_whose_jobs_fail_more_is_known_and_mistyped_commands_do_not_count() -> None:
    known = Learned()
    for _ in range(20):
        known.take(Ran("ada", "t", 1, 0, 3600.0, 3600.0))
        known.take(Ran("bob", "t", 1, 0, 0.0, 3600.0))
        known.take(Ran("cyd", "t", 1, 0, 60.0, 1.0))
    assert known.ill_fared("ada") > 0 > known.ill_fared("bob")
    assert abs(known.ill_fared("cyd")) < 0.5 and known.ill_fared("new") == 0.0


def test_a_retry_says_nothing_of_the_queue() -> None:
    known = learned(ran(100))
    assert known.fared == {} and known.fared_all.mean == 1.0


def test_what_hardly_anybody_waits() -> None:
    known = Learned()
    for i in range(1000):
        known.waited(100_000 if i % 500 == 0 else 50)
    assert 50 <= known.long_wait_s <= 70
