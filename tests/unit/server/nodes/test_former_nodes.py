"""What a machine says that it has of nodes that it was before: believed only as far as it makes sense."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from roost.core.accounts import NODE_CHANNEL, Channel
from roost.core.errors import TryLater
from roost.core.model import Access
from roost.server.nodes.fleet import Fleet
from roost.server.nodes.former_nodes import MAX_PROGRAMS, Former, former, unanswered


def test_the_programs_of_names_that_no_node_has_are_told_to_end_their_runs() -> None:
    said = {"old": {"": [], "ana": ["7.1", "8.2"]}, "there": {"": ["9.1"]}}
    own, hers = former({"leftovers": said}, {"there"})
    assert (own, hers) == (Former("old", NODE_CHANNEL, []), Former("old", Channel("ana"), ["7.1", "8.2"]))
    assert [line["op"] for line in own.farewell] == ["shutdown"]
    assert [line.get("run") for line in hers.farewell] == ["7.1", "8.2", None]
    assert hers.farewell[-1] == {"op": "shutdown", "when_idle": True}


@pytest.mark.parametrize(
    "said", [None, 7, [], {"x": 1}, {"x": {"": 1}}, {"x": {"": [1]}}, {"../x": {"": []}}, {"a@b": {"": []}}]
)
def test_nonsense_is_nothing(said: Any) -> None:
    assert former({"leftovers": said}, ()) == [] and former({}, ()) == []


def test_nobody_is_asked_without_end() -> None:
    many = {f"n{i}": {"": ["1.1"] * 9999} for i in range(999)}
    found = former({"leftovers": many}, ())
    assert len(found) == MAX_PROGRAMS and len(found[0].farewell) < 9999


def test_a_machine_that_could_not_say_it_is_told_from_one_that_has_nothing() -> None:
    assert unanswered({"leftovers": {"error": "no answer within 8 s"}}) == "no answer within 8 s"
    assert unanswered({"leftovers": {}}) is unanswered({"leftovers": {"error": {"": ["7.1"]}}}) is unanswered({}) is None


async def test_it_is_not_added_before_it_could() -> None:
    engine = SimpleNamespace(watchers=set(), controller=SimpleNamespace(cluster=SimpleNamespace(nodes={})))
    anything: Any = SimpleNamespace(ways=None)
    fleet = Fleet(engine, anything, anything, anything)  # type: ignore[arg-type]
    with pytest.raises(TryLater, match="could not find out what new still runs"):
        await fleet._end_former("new", Access("ssh://new"), {"leftovers": {"error": "no answer within 8 s"}})
