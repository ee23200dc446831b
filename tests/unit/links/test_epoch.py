"""Of two servers that came from one state, the restored one is the later; only servers of that state can say so."""

from __future__ import annotations

import msgspec

from roost.links.epoch import first


def test_a_restored_state_is_later_than_what_it_came_from_whatever_the_clock_says() -> None:
    was = first("a1", 1_000)
    later, slow = was.next(5_000), was.next(3)
    assert was.is_before(later.token) and was.is_before(slow.token) and slow.is_before(later.token)
    assert not later.is_before(was.token) and not was.is_before(was.token)


def test_two_restores_of_one_backup_in_one_second_are_in_one_order() -> None:
    was = first("a1", 1_000)
    one, other = was.next(2_000), was.next(2_000)
    assert one.token != other.token and one.is_before(other.token) != other.is_before(one.token)


def test_only_what_this_state_has_signed_is_believed() -> None:
    was = first("a1", 1_000)
    token = was.next(2_000).token
    assert not was.is_before(token.replace(".2000.", ".3000."))
    assert not was.is_before(first("a1", 9_000).token), "another secret"
    assert not was.is_before(msgspec.structs.replace(was, server="b2", count=9_000).token), "another server"
    for rubbish in ("", "....", "a1.9.x", token[:-1], token + "é"):
        assert not was.is_before(rubbish)
