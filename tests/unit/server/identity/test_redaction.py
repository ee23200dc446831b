"""Who is told of which event."""

from __future__ import annotations

import inspect

import msgspec
import pytest

from roost.core import events as ev
from roost.core.model import Access, Login
from roost.server.identity.redaction import SEEN_BY_ALL, may_see

HIDDEN = {ev.NodeKnown, ev.LoginSet, ev.GivenUp, ev.Accounted, ev.FilesLeft, ev.FilesGone, ev.Recalled}
"""Of machines and of others' accounts. An event that is new is for administrators until it is named in `SEEN_BY_ALL`."""


def test_every_event_that_streams_is_for_all_or_hidden() -> None:
    kinds = {kind for _, kind in inspect.getmembers(ev, inspect.isclass) if issubclass(kind, ev.Event)}
    streamed = {kind for kind in kinds - {ev.Event} if not issubclass(kind, ev.MOMENTARY)}
    assert {kind for kind in streamed if not issubclass(kind, SEEN_BY_ALL)} == HIDDEN


@pytest.mark.parametrize(("user", "is_admin", "is_told"), [("ana", False, True), ("bob", False, False), ("bob", True, True)])
def test_a_login_is_told_to_its_user_and_to_administrators(user: str, is_admin: bool, is_told: bool) -> None:
    login = msgspec.convert({"target": "ssh://ana@far", "key": None}, Login, strict=False)
    assert may_see(user, is_admin, ev.LoginSet("far", "ana", login)) == is_told
    assert may_see(user, is_admin, ev.NodeKnown("far", Access("ssh://root@far", "key"))) == is_admin
