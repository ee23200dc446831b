"""A link whose server is gone before it said a word, as one that was cut on its way: it leaves no node program behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.integration.node.harness import SRC, Node, alive, wait_until


def attach_and_hang_up(state: Path) -> None:
    """What is left of a server that was killed while it attached."""
    command = [sys.executable, "-m", "roost.node", "attach", "--state", str(state), "--sim", "2x24G"]
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SRC), "HOME": "/root", "ROOST_CLAIMS": str(state.parent)}
    assert subprocess.run(command, input=b"", capture_output=True, env=env, timeout=60).returncode == 0


def test_a_program_that_it_started_leaves_with_it(tmp_path: Path) -> None:
    state = tmp_path / "state"
    attach_and_hang_up(state)
    pid = int((state / "node.pid").read_text())
    wait_until(lambda: not alive(pid), "the daemon leaves")


def test_a_program_that_was_told_to_leave_when_idle_still_does(node: Node, tmp_path: Path) -> None:
    flag = tmp_path / "flag"
    node.start("1.1", shell=f"until [ -e {flag} ]; do sleep 0.01; done")
    node.started("1.1")
    node.send("shutdown", when_idle=True)
    node.settle()
    node.detach()
    attach_and_hang_up(node.state)
    assert alive(int(node.hello["pid"]))
    flag.touch()
    wait_until(lambda: not alive(int(node.hello["pid"])), "the daemon leaves")


def test_a_program_whose_server_is_only_away_stays(node: Node) -> None:
    node.settle()
    node.detach()
    attach_and_hang_up(node.state)
    assert alive(int(node.hello["pid"]))
    assert node.attach()["pid"] == node.hello["pid"]


def test_a_first_contact_without_simulated_gpus_starts_one_program(tmp_path: Path) -> None:
    node = Node(tmp_path / "state", "--sim", "off")
    try:
        assert (node.state / "node.log").read_text().count(" begins") == 1
    finally:
        node.end()
