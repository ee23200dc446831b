"""Routes about nodes: what is asked of the fleet, and how its answers and refusals look from outside."""

from __future__ import annotations

from typing import Any, cast

import pytest
from tests.contract.conftest import Api

from roost.answers.nodes import NodeCheck, NodeLogin
from roost.core.errors import Conflict, HostKeyUnknown, NotFound, RoostError, TryLater
from roost.messages import plain
from roost.server.identity.people import Caller
from roost.server.nodes.fleet import Fleet
from roost.server.nodes.new_node import NewNode

KEY = "SHA256:AAAAB3NzaC1yc2E"
LOGIN: dict[str, Any] = {"user": "ana", "node": "n1", "target": "ssh://ana@n1", "key": None}


class Recorded:
    """A fleet that keeps what it was asked and answers with what it was told."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []
        self.answer: Any = None

    def _tell(self, *asked: Any) -> Any:
        self.asked.append(asked)
        if isinstance(self.answer, RoostError):
            raise self.answer
        return self.answer

    async def add(self, _: Caller, asked: NewNode) -> Any:
        return self._tell("add", asked)

    async def remove(self, _: Caller, name: str, force: bool) -> Any:
        return self._tell("remove", name, force)

    async def check(self, _: Caller, name: str) -> Any:
        return self._tell("check", name)

    async def lose(self, _: Caller, name: str) -> Any:
        return self._tell("lose", name)

    async def trust(self, _: Caller, name: str, host_key: str | None) -> Any:
        return self._tell("trust", name, host_key)

    async def login(self, _: Caller, name: str, user: str | None, target: str, key: str | None) -> Any:
        return self._tell("login", name, user, target, key)

    async def logout(self, _: Caller, name: str, user: str | None) -> Any:
        return self._tell("logout", name, user)

    def logins(self, _: Caller) -> Any:
        return self._tell("logins")


@pytest.fixture
def fleet(api: Api) -> Recorded:
    made = Recorded()
    api.server.fleet = cast(Fleet, made)
    return made


async def test_nodes_are_shown_one_by_one_and_all(api: Api) -> None:
    (node,) = (await api.get("/nodes"))["nodes"]
    assert node["name"] == "n1" and await api.get("/nodes/n1") == {"version": 1, "node": node}
    answer = await api.call("GET", "/nodes/lab9")
    assert (answer.status, answer.json["error"]["message"]) == (404, "there is no node lab9")


async def test_a_node_is_added(api: Api, fleet: Recorded) -> None:
    fleet.answer = api.server.status.node("n1")
    body = {"name": "lab3", "target": "ssh://root@10.0.0.3:2222", "host_key": KEY, "sim": "4x24G"}
    assert await api.post("/nodes", body) == await api.get("/nodes/n1")
    assert fleet.asked == [("add", NewNode("lab3", "ssh://root@10.0.0.3:2222", KEY, sim="4x24G"))]
    assert (await api.call("POST", "/nodes", {"name": "lab3", "port": 22})).status == 400


async def test_an_unknown_host_key_is_told_with_the_refusal(api: Api, fleet: Recorded) -> None:
    fleet.answer = HostKeyUnknown("lab3", KEY, "ED25519")
    for path in ("/nodes", "/nodes/lab3/trust"):
        answer = await api.call("POST", path, {"name": "lab3"} if path == "/nodes" else {})
        error = answer.json["error"]
        assert (answer.status, error["code"], error["host_key"]) == (409, "host_key_unknown", KEY)
        assert KEY in error["message"] and f"--host-key {KEY}" in error["hint"]


async def test_other_errors_have_no_host_key(api: Api, fleet: Recorded) -> None:
    fleet.answer = TryLater("cannot reach lab3: ssh exited 255 (Connection refused)", "roost node check lab3")
    answer = await api.call("POST", "/nodes", {"name": "lab3"})
    assert (answer.status, set(answer.json["error"])) == (503, {"code", "message", "hint"})


@pytest.mark.parametrize(("query", "force"), [("", False), ("?force=false", False), ("?force=true", True)])
async def test_a_node_is_removed(api: Api, fleet: Recorded, query: str, force: bool) -> None:
    fleet.answer = [4, 7] if force else []
    answer = await api.call("DELETE", f"/nodes/n1{query}")
    assert (answer.status, answer.json) == (200, {"version": 1, "node": "n1", "lost": fleet.answer})
    assert fleet.asked == [("remove", "n1", force)]


async def test_a_node_that_has_jobs_is_not_removed(api: Api, fleet: Recorded) -> None:
    fleet.answer = Conflict("n1 has 2 jobs", "roost node rm n1 --force")
    answer = await api.call("DELETE", "/nodes/n1")
    assert (answer.status, answer.json["error"]["hint"]) == (409, "roost node rm n1 --force")


@pytest.mark.parametrize(
    ("oks", "good"), [([True, True], True), ([True, None], True), ([True, False, None], False), ([], True)]
)
async def test_a_check_is_good_when_nothing_is_missing(
    api: Api, fleet: Recorded, oks: list[bool | None], good: bool
) -> None:
    fleet.answer = [NodeCheck("python", ok, plain("3.11"), None) for ok in oks]
    checks = [{"name": "python", "ok": ok, "text": "3.11", "hint": None} for ok in oks]
    assert await api.post("/nodes/n1/check", None) == {"version": 1, "node": "n1", "ok": good, "checks": checks}


async def test_a_node_is_given_up(api: Api, fleet: Recorded) -> None:
    fleet.answer = [12]
    assert await api.post("/nodes/n1/lost", None) == {"version": 1, "node": "n1", "lost": [12]}
    fleet.answer = NotFound("node.not_found", node="n2")
    assert (await api.call("POST", "/nodes/n2/lost")).status == 404


async def test_a_new_host_key_is_believed(api: Api, fleet: Recorded) -> None:
    fleet.answer = api.server.status.node("n1")
    assert await api.post("/nodes/n1/trust", {"host_key": KEY}) == await api.get("/nodes/n1")
    assert fleet.asked == [("trust", "n1", KEY)]


async def test_logins_come_and_go(api: Api, fleet: Recorded) -> None:
    fleet.answer = NodeLogin(**LOGIN)
    put = await api.call("PUT", "/nodes/n1/login", {"target": "ssh://ana@n1", "user": "ana"})
    gone = await api.call("DELETE", "/nodes/n1/login?user=ana")
    assert put.json == gone.json == {"version": 1, "login": LOGIN}
    fleet.answer = [NodeLogin(**LOGIN)]
    assert await api.get("/logins") == {"version": 1, "logins": [LOGIN]}
    assert fleet.asked == [("login", "n1", "ana", "ssh://ana@n1", None), ("logout", "n1", "ana"), ("logins",)]
    assert (await api.call("PUT", "/nodes/n1/login", {})).status == 400
