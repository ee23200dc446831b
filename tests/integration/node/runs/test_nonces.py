"""A run is the one that was started with its nonce: one of another past that has its name is never taken for it."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest
from tests.integration.node.harness import Node, alive, wait_until

ASK: dict[str, dict[str, Any]] = {
    "stop": {"why": "kill", "grace_ms": 0},
    "signal": {"signal": "USR1"},
    "pause": {},
    "resume": {},
}


def start(node: Node, run: str, nonce: str, line: str) -> None:
    spec = {"cwd": "/", "env": {"PATH": os.environ["PATH"]}, "vars": {}, "gpus": [], "shell": line}
    node.send("start", run=run, nonce=nonce, spec=spec)


@pytest.mark.parametrize("how", ["ended", "forgotten", "alive"])
@pytest.mark.parametrize("restarts", [False, True])
def test_a_start_under_a_known_name_is_refused_unless_the_nonce_is_that_of_the_run(
    node: Node, how: str, restarts: bool
) -> None:
    start(node, "1.1", "past", "echo of the past; " + ("sleep 1000" if how == "alive" else "exit 9"))
    pid = node.started("1.1")["pid"]
    if how != "alive":
        assert node.exited("1.1")["nonce"] == "past"
    if how == "forgotten":
        node.send("forget", runs=["1.1"])
        wait_until(lambda: not (node.state / "active" / "1.1").exists(), "it is forgotten")
    if restarts:
        os.kill(node.hello["pid"], signal.SIGKILL)
        wait_until(lambda: not alive(node.hello["pid"]), "the daemon is dead")
        hello = node.attach()
        assert [run["nonce"] for run in hello["runs"]] == ([] if how == "forgotten" else ["past"])
    start(node, "1.1", "present", "echo of the present")
    refused = node.expect("refused", run="1.1")
    assert refused["past"] is True and refused["nonce"] == "present"
    start(node, "1.1", "past", "echo of the past")
    known = node.started("1.1") if how == "alive" else node.exited("1.1")
    assert known["nonce"] == "past" and (alive(pid) if how == "alive" else known["status"] == 9)
    start(node, "1.2", "present", "echo of the present")
    assert node.exited("1.2")["nonce"] == "present"


@pytest.mark.parametrize("op", ASK)
def test_what_is_asked_of_another_past_touches_nothing(node: Node, op: str) -> None:
    start(node, "1.1", "past", "sleep 1000")
    pid = node.started("1.1")["pid"]
    node.send(op, run="1.1", nonce="present", **ASK[op])
    assert node.expect("gone", run="1.1")["nonce"] == "present"
    assert alive(pid)
    node.send("stop", run="1.1", nonce="past", why="stale", grace_ms=0)
    assert node.exited("1.1")["why"] == "stale"


@pytest.mark.parametrize("op", ["read_log", "follow"])
def test_a_log_of_another_past_is_not_shown(node: Node, op: str) -> None:
    start(node, "1.1", "past", "echo secret")
    node.exited("1.1")
    node.send("forget", runs=["1.1"])
    node.send(op, id=1, run="1.1", nonce="present", stream="out", offset=0)
    assert "no such run" in node.expect("error", id=1)["message"]
    node.send("read_log", id=2, run="1.1", nonce="past", stream="out", offset=0)
    assert node.expect("log", id=2)["size"] == 7


def test_one_that_could_not_start_keeps_its_nonce(node: Node) -> None:
    start(node, "1.1", "past", "")
    node.send(
        "start", run="2.1", nonce="past", spec={"cwd": "/no/such/place", "env": {}, "vars": {}, "gpus": [], "argv": ["true"]}
    )
    assert node.exited("2.1")["nonce"] == "past"
    os.kill(node.hello["pid"], signal.SIGKILL)
    wait_until(lambda: not alive(node.hello["pid"]), "the daemon is dead")
    hello = node.attach()
    assert {run["nonce"] for run in hello["runs"] if run["run"] == "2.1"} == {"past"}
    start(node, "2.1", "present", "true")
    assert node.expect("refused", run="2.1")["past"] is True
