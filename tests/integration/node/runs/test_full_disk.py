"""A full disk: what cannot start says so, what runs is not touched, and no exit status is lost."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integration.node.harness import Node, alive, wait_until


@pytest.fixture(params=[[], ["--no-cgroup"]], ids=["runner", "wrapper"])
def small(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Node]:
    """A node on a disk of its own, of a quarter of a megabyte."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k,mode=700", "roost-test", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("cannot mount a small disk here")
    node = Node(disk / "state", *request.param)
    yield node
    free(node)
    node.end()
    wait_until(lambda: subprocess.run(["umount", str(disk)], capture_output=True).returncode == 0, "the disk is given back")


def fill(node: Node) -> None:
    with (node.state.parent / "fill").open("wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
        while True:
            file.write(b"x" * 1024)


def free(node: Node) -> None:
    (node.state.parent / "fill").unlink(missing_ok=True)


def test_nothing_runs_that_could_not_be_noted(small: Node, tmp_path: Path) -> None:
    assert small.run("1.1", "true")["status"] == 0
    fill(small)
    for number in range(5):
        small.start(f"2.{number}", shell=f"echo ran >>{tmp_path}/ran")
        end = small.expect_where(lambda m: m["op"] in ("exited", "refused"))
        assert (end["op"], "space" in end["reason"]) == ("refused", True), end
    assert not (tmp_path / "ran").exists()
    free(small)
    assert small.run("3.1", "true")["status"] == 0


def test_a_status_is_not_lost(small: Node, tmp_path: Path) -> None:
    line = f"until [ -e {tmp_path}/go ]; do sleep 0.01; done; exit 7"
    for name in ("1.1", "2.1"):
        small.start(name, shell=line)
        small.started(name)
    fill(small)
    (tmp_path / "go").touch()
    assert small.exited("1.1")["status"] == small.exited("2.1")["status"] == 7


def test_a_status_is_not_lost_when_no_daemon_lived(small: Node, tmp_path: Path) -> None:
    small.start("1.1", shell=f"until [ -e {tmp_path}/go ]; do sleep 0.01; done; exit 7")
    pid = small.started("1.1")["pid"]
    small.kill_daemon()
    fill(small)
    trace = small.state / "active" / "1.1"
    # Fill the rest of the trace's own block as well, so that the status cannot be noted.
    with trace.open("ab", buffering=0) as file, pytest.raises(OSError, match="No space left"):
        size = trace.stat().st_size
        while True:
            file.write(b" " * 64)
    (tmp_path / "go").touch()
    wait_until(lambda: not alive(pid), "the job ends")
    assert not trace.read_bytes()[size:].strip()
    os.truncate(trace, size)
    free(small)
    wait_until(lambda: trace.read_text()[size:].strip("\n") == "7", "the status is noted as soon as there is room")
    (run,) = small.attach()["runs"]
    assert run["status"] == 7
