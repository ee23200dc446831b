"""A node obeys the latest of the servers that came from one state, and turns the earlier ones away."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.integration.node.harness import DEADLINE_S, Node, alive, wait_until

from roost.links.epoch import Epoch, first

WAS = first("a1", 1_000)
NOW = WAS.next(2_000)
NodeMaker = Callable[..., Node]


def attach(node: Node, epoch: Epoch | None) -> bytes:
    """What another attach hears first. The node's next own attach is of the epoch that was let in."""
    own = [word for word in node.options if word != "--epoch" and "." not in word]
    options = [*own, "--epoch", epoch.token] if epoch is not None else own
    command = [*node.program, "attach", "--state", str(node.state), *options]
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(Path(__file__).resolve().parents[4] / "src"),
        "HOME": "/root",
    }
    environment["ROOST_CLAIMS"] = str(node.claims)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None and process.stdin is not None
        line = process.stdout.readline()
        process.stdin.close()
        process.wait(DEADLINE_S)
    if b'"hello"' in line:
        node.options = options
        node.process.wait(DEADLINE_S)  # it was replaced
    return line


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("older", [WAS, None])
def test_an_earlier_server_is_told_and_commands_nothing(node: Node, older: Epoch | None, restarts: bool) -> None:
    assert json.loads(attach(node, WAS))["op"] == "hello"
    assert json.loads(attach(node, NOW))["op"] == "hello"
    pid = json.loads(attach(node, NOW))["pid"]
    if restarts:
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not alive(pid), "the daemon is dead")
    said = json.loads(attach(node, older))
    assert said == {"op": "fenced", "epoch": NOW.token}
    assert json.loads(attach(node, NOW))["op"] == "hello", "the later one still may"


def test_the_link_of_the_later_server_is_not_cut_by_an_earlier_one(node: Node) -> None:
    node.detach()
    node.options += ["--epoch", NOW.token]
    node.attach()
    assert json.loads(attach(node, WAS))["op"] == "fenced"
    node.send("ping", id=7)
    node.expect("pong", id=7)


def test_another_server_may_have_the_directory(node: Node) -> None:
    assert json.loads(attach(node, NOW))["op"] == "hello"
    other = first("b2", 1)
    assert json.loads(attach(node, other))["op"] == "hello"
    assert json.loads(attach(node, WAS))["op"] == "hello", "it is remembered which server was here last, not which ever was"


def test_where_no_epoch_was_ever_said_none_is_needed(node: Node) -> None:
    assert json.loads(attach(node, None))["op"] == "hello"
