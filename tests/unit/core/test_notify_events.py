"""The words for what people are told."""

from __future__ import annotations

import pytest

from roost.core.errors import BadRequest
from roost.core.notify_events import DEFAULT, EVENTS, check_events, is_wanted, words_for
from roost.core.spec import JobSpec, check
from roost.core.states import Outcome


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ("succeeded", {"end"}),
        ("failed", {"end", "fail"}),
        ("cannot_start", {"end", "fail"}),
        ("out_of_memory", {"end", "fail", "oom"}),
        ("timed_out", {"end", "fail", "timeout"}),
        ("killed", {"end", "kill"}),
        ("lost", {"end", "fail", "lost"}),
    ],
)
def test_an_end_is_asked_for_by_several_words(outcome: str, words: set[str]) -> None:
    assert words_for(outcome) == words


def test_every_outcome_is_an_end() -> None:
    assert all("end" in words_for(outcome.value) for outcome in Outcome)


def test_what_the_job_says_goes_before_what_the_target_says() -> None:
    assert is_wanted("failed", ("fail",), ())
    assert not is_wanted("failed", ("fail",), ("start",))
    assert is_wanted("succeeded", ("fail",), ("end",))
    assert not is_wanted("succeeded", ("end",), ("none",))
    assert is_wanted("idle", DEFAULT, ())
    assert not is_wanted("gpu_free", DEFAULT, ())


def test_events_are_kept_once_and_in_one_order() -> None:
    assert check_events(["idle", "end", "idle"]) == ("end", "idle")
    assert check_events(EVENTS) == EVENTS
    with pytest.raises(BadRequest, match="unknown event 'finish'; expected start, end"):
        check_events(["finish"])


def test_a_job_may_name_what_happens_to_a_job_or_none() -> None:
    check(JobSpec("true", notify=("end", "fail")))
    check(JobSpec("true", notify=("none",)))
    for wrong in (("gpu_free",), ("none", "end"), ("x" * 1000,)):
        with pytest.raises(BadRequest):
            check(JobSpec("true", notify=wrong))
