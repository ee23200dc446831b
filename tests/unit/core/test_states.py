"""The table of states."""

from __future__ import annotations

import pytest

from roost.core.states import ACTIVE, TABLE, WAITING, Change, RefusedChange, State, after, chart, is_allowed


@pytest.mark.parametrize(("state", "change"), [(s, c) for s in State for c in Change])
def test_what_is_not_in_the_table_is_refused_with_the_story(state: State, change: Change) -> None:
    if is_allowed(state, change):
        assert after(7, state, change) is TABLE[state, change]
        return
    with pytest.raises(RefusedChange, match=f"job 7 is {state.value}"):
        after(7, state, change)


def test_every_state_is_waiting_active_or_ended() -> None:
    assert WAITING | ACTIVE | {State.ENDED} == set(State)
    assert not WAITING & ACTIVE


def test_every_state_can_be_reached_and_left() -> None:
    assert {following for following in TABLE.values()} | {State.QUEUED} == set(State)
    assert {state for state, _ in TABLE} == set(State)


def test_every_life_can_end() -> None:
    assert all(is_allowed(state, Change.END) for state in State if state is not State.ENDED)


def test_the_chart_has_a_line_for_every_row() -> None:
    assert len(chart().splitlines()) == len(TABLE) + 3
