from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.cli.parse import values


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("30m", 1800),
        ("2h", 7200),
        ("1d", 86400),
        ("1w", 604800),
        ("2h30m", 9000),
        ("1-02:00:00", 93600),
        ("1-2", 93600),
        ("02:30:00", 9000),
        ("10:30", 630),
        ("90", 5400),
        ("0.5h", 1800),
        ("2H 30M", 9000),
        ("5min", 300),
        ("2hours", 7200),
        ("0", 0),
    ],
)
def test_durations(text: str, seconds: int) -> None:
    assert values.seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "x", "2x", "h", "2h30", "1:2:3:4", "-5", "1-", "-1:00", "1..5h", "3ms", "٣h"])
def test_what_is_no_duration_says_what_is(text: str) -> None:
    with pytest.raises(ValueError, match="expected a duration like 90s"):
        values.seconds(text)


def test_a_bare_number_is_minutes_and_knows_it() -> None:
    assert isinstance(values.seconds("90"), values.BareMinutes)
    assert not isinstance(values.seconds("90m"), values.BareMinutes)


@given(st.integers(0, 9), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_every_spelling_of_a_duration_means_the_same(days: int, hours: int, minutes: int, rest: int) -> None:
    total = ((days * 24 + hours) * 60 + minutes) * 60 + rest
    assert values.seconds(f"{days}d{hours}h{minutes}m{rest}s") == total
    assert values.seconds(f"{days}-{hours:02}:{minutes:02}:{rest:02}") == total
    assert values.seconds(values.in_words(total)) == total


@given(st.integers(0, 10**8))
def test_the_brief_form_fits_its_column(total: int) -> None:
    assert len(values.brief(total)) <= 6
    assert len(values.lasted(total / 1000)) <= 6


@pytest.mark.parametrize(
    ("text", "mib"),
    [("8G", 8192), ("800M", 800), ("8GiB", 8192), ("8gb", 8192), ("1.5G", 1536), ("1T", 1048576), ("2048K", 2)],
)
def test_sizes(text: str, mib: int) -> None:
    assert values.mebibytes(text) == mib


@pytest.mark.parametrize("text", ["", "8", "G", "8x", "8i", "-8G", "8GG", "1k", "0G", "nanG"])
def test_what_is_no_size_says_what_is(text: str) -> None:
    with pytest.raises(ValueError, match="expected a size like 8G"):
        values.mebibytes(text)


@given(st.integers(1, 10**6))
def test_a_size_in_mib_is_itself(mib: int) -> None:
    assert values.mebibytes(f"{mib}M") == mib


NOON = time.mktime((2026, 11, 15, 12, 0, 0, 0, 0, -1))


@pytest.mark.parametrize(
    ("text", "offset_s"),
    [
        ("22:00", 10 * 3600),
        ("8:00", 20 * 3600),
        ("12:00", 24 * 3600),
        ("+2h", 7200),
        ("now+1hour", 3600),
        ("tomorrow 8:00", 20 * 3600),
        ("tomorrow", 12 * 3600),
        ("today 13:30", 5400),
        ("2026-11-16 12:00", 24 * 3600),
        ("2026-11-16", 12 * 3600),
    ],
)
def test_a_start_is_local_time_and_never_in_the_past(text: str, offset_s: int) -> None:
    assert values.begin(text, NOON) == values.rfc3339(NOON + offset_s)


def test_a_start_with_a_zone_keeps_it() -> None:
    assert values.begin("2026-11-20T08:00:00+08:00") == "2026-11-20T00:00:00Z"
    assert values.begin("2026-11-20t08:00:00z") == "2026-11-20T08:00:00Z"


@pytest.mark.parametrize("text", ["", "x", "25:00", "12", "12:60", "2026-13-01", "tomorrow x"])
def test_what_is_no_start_says_what_is(text: str) -> None:
    with pytest.raises(ValueError, match="expected a start time like 22:00"):
        values.begin(text, NOON)


@given(st.sets(st.integers(1, 300), min_size=1))
def test_ids_survive_being_written_as_ranges(numbers: set[int]) -> None:
    text = values.compress(list(numbers)).replace(" ", "")
    assert values.expand(values.ids(text)) == sorted(numbers)


@pytest.mark.parametrize("text", ["12", "10-20", "12,15", "@", "@~2", "all", "1-3,7,@"])
def test_ids_that_are_understood(text: str) -> None:
    assert ",".join(values.ids(text)) == text


@pytest.mark.parametrize("text", ["", "x", "20-10", "1-", "-1", "@2", "@~", "1.5", "1-2-3", "²"])
def test_ids_that_are_not(text: str) -> None:
    with pytest.raises(ValueError):
        values.ids(text)


def test_too_wide_a_range_is_refused() -> None:
    with pytest.raises(ValueError, match="more than 100,000"):
        values.expand(["1-99999999"])


@pytest.mark.parametrize("text", ["4", "4x24G", "2x80G,1x24G", "off", "4x24", "lab:4x24G", "a-B_9:4"])
def test_simulated_gpus(text: str) -> None:
    assert values.simulated(text) == text


@pytest.mark.parametrize("text", ["", "x", "4x", "0", "x24G", "4x24Q", "99999", "4,", "lab:", "lab:off", "a:b:4"])
def test_what_is_no_set_of_simulated_gpus(text: str) -> None:
    with pytest.raises(ValueError, match="expected simulated GPUs like 4 or 4x24G"):
        values.simulated(text)


@pytest.mark.parametrize("text", [":4", "a b:4", "7:4", "a/b:4", "ä:4", "x" * 33 + ":4"])
def test_what_is_no_name_of_a_simulation(text: str) -> None:
    with pytest.raises(ValueError, match="the name before the colon"):
        values.simulated(text)


@pytest.mark.parametrize(
    ("total_s", "text"),
    [
        (0, "<1ms"),
        (0.0004, "<1ms"),
        (0.04, "40ms"),
        (0.1, "0.1s"),
        (0.81, "0.8s"),
        (0.999, "0.9s"),
        (1.9, "1s"),
        (61, "1m01s"),
    ],
)
def test_what_takes_less_than_a_second_is_not_nothing(total_s: float, text: str) -> None:
    assert values.lasted(total_s) == text


def test_one_is_not_several() -> None:
    assert [values.plural(count, "GPU") for count in (0, 1, 2000)] == ["0 GPUs", "1 GPU", "2,000 GPUs"]
