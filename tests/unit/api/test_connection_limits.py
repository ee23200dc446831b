"""Which connection is cut when there are too many."""

from __future__ import annotations

import os

from roost.api.edge.connection_limits import Connections


class Connection:
    def __init__(self, owner: object, is_dispensable: bool = True) -> None:
        self.owner, self.is_dispensable, self.is_cut = owner, is_dispensable, False

    def drop(self) -> None:
        self.is_cut = True


def cut(*arrivals: Connection, most: int = 3) -> list[int]:
    """The positions of those that were cut."""
    here = Connections(most)
    for one in arrivals:
        here.admit(one)
    return [n for n, one in enumerate(arrivals) if one.is_cut]


ME = os.geteuid()


def test_the_oldest_idle_one_of_who_has_most_goes() -> None:
    assert cut(Connection("b"), Connection("a"), Connection("a"), Connection("c")) == [1]


def test_one_whose_caller_waits_for_an_answer_stays() -> None:
    assert cut(Connection("a", False), Connection("a"), Connection("a", False), Connection("a")) == [1]
    assert cut(*(Connection("a", False) for _ in range(3)), Connection("b")) == [3]


def test_the_servers_account_loses_none_to_others_and_makes_room_for_itself() -> None:
    own = [Connection(ME) for _ in range(3)]
    assert cut(*own, Connection("a")) == [3]
    own = [Connection(ME) for _ in range(3)]
    assert cut(*own, Connection(ME), Connection(ME)) == [0, 1]
    assert cut(Connection(ME), Connection("a"), Connection(ME), Connection(ME)) == [1]


def test_one_that_has_left_is_not_counted() -> None:
    here, gone = Connections(1), Connection("a")
    here.admit(gone)
    here.leave(gone)
    next_one = Connection("a")
    here.admit(next_one)
    assert not next_one.is_cut
