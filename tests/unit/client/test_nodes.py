"""Nodes as a program sees them: what is sent, what comes back, and the key in a refusal."""

from __future__ import annotations

import pytest
from tests.unit.client.fake_server import FakeServer, error

from roost.client import ApiError, Roost

KEY = "SHA256:abc"


def test_a_node_is_added(server: FakeServer) -> None:
    server.routes["POST /nodes"] = {"version": 1, "node": {"name": "lab3"}}
    assert Roost().fleet.add("lab3", "ssh://root@lab3", host_key=KEY, sim="4x24G") == {"name": "lab3"}
    nothing = {"key": None, "python": None, "dir": None}
    assert server.bodies("POST /nodes") == [
        {"name": "lab3", "target": "ssh://root@lab3", "host_key": KEY, "sim": "4x24G", **nothing}
    ]


def test_a_refusal_has_the_key_that_was_shown(server: FakeServer) -> None:
    server.routes["POST /nodes"] = lambda _q, _b: (409, error("host_key_unknown", "no", "compare it", host_key=KEY))
    with pytest.raises(ApiError) as caught:
        Roost().fleet.add("lab3")
    assert (caught.value.host_key, caught.value.exit_code) == (KEY, 1)
    assert caught.value.as_json() == {
        "error": {"code": "host_key_unknown", "message": "no", "hint": "compare it", "host_key": KEY}
    }


def test_what_is_asked_of_one_node(server: FakeServer) -> None:
    lost = {"version": 1, "node": "lab3", "lost": [4]}
    login = {"user": "ana", "node": "lab3", "target": "ssh://ana@lab3", "key": None}
    checked = {"version": 1, "node": "lab3", "ok": True, "checks": []}
    server.routes |= {
        "GET /nodes": {"version": 1, "nodes": [{"name": "lab3"}]},
        "GET /nodes/lab3": {"version": 1, "node": {"name": "lab3"}},
        "DELETE /nodes/lab3": lost,
        "POST /nodes/lab3/lost": lost,
        "POST /nodes/lab3/check": checked,
        "POST /nodes/lab3/trust": {"version": 1, "node": {"name": "lab3"}},
        "PUT /nodes/lab3/login": {"version": 1, "login": login},
        "DELETE /nodes/lab3/login": {"version": 1, "login": login},
        "GET /logins": {"version": 1, "logins": [login]},
    }
    fleet = Roost().fleet
    assert fleet.nodes() == [fleet.node("lab3")] == [fleet.trust("lab3", KEY)] == [{"name": "lab3"}]
    assert fleet.remove("lab3") == fleet.remove("lab3", force=True) == fleet.lost("lab3") == lost
    assert fleet.check("lab3") == checked
    assert fleet.login("lab3", "ssh://ana@lab3", user="ana") == fleet.logout("lab3", user="ana") == login
    assert (fleet.logins(), fleet.logout("lab3")) == ([login], login)
    assert server.queries("DELETE /nodes/lab3") == [{}, {"force": "true"}]
    assert server.queries("DELETE /nodes/lab3/login") == [{"user": "ana"}, {}]
    assert server.bodies("POST /nodes/lab3/trust") == [{"host_key": KEY}]
    assert server.bodies("PUT /nodes/lab3/login") == [{"target": "ssh://ana@lab3", "key": None, "user": "ana"}]


@pytest.mark.parametrize("name", ["a/check", "a b", "a?force=true", "../users"])
def test_a_name_cannot_become_another_path(server: FakeServer, name: str) -> None:
    with pytest.raises(ApiError):
        Roost().fleet.node(name)
    ((asked, query, _),) = server.asked
    assert asked.count("/") == 2 and not query
