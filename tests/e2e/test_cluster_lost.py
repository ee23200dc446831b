"""A node that was given up while its jobs ran on: when it is back they are ended, and only then its GPUs are given out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.box import Box, until
from tests.cluster.evidence import SCRIPT, read
from tests.hosts import Host, Hosts, needs_hosts
from tests.lab import Lab, laboratory

pytestmark = needs_hosts("what happens on nodes that come back")


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    """A root server whose own machine has no part in this."""
    with laboratory("1x24G") as made:
        made.box.do("set", "node.retry_s", 1)
        made.box.do("drain", made.box.json("nodes")["nodes"][0]["name"])
        yield made


@pytest.fixture(scope="module")
def hosts(lab: Lab) -> Iterator[Hosts]:
    """One host with a single GPU, added with a root login."""
    with Hosts(1, (lab.ana.name, lab.bob.name)) as made:
        (made.shared / "job.sh").write_text(SCRIPT)
        (made.shared / "lines").touch()
        (made.shared / "lines").chmod(0o666)
        asked = {"name": "far", "target": made[0].url(), "host_key": made[0].host_key, "key": str(made.key), "sim": "1x24G"}
        assert lab.box.http("POST", "/nodes", asked).status in (200, 201)
        until("it is up", lambda: _state(lab.box) == "up")
        yield made
        lab.box.stop()


@pytest.mark.parametrize("restarted", [False, True], ids=["", "after a restart of the server"])
def test_what_was_given_up_is_ended_before_its_gpu_is_given_out(lab: Lab, hosts: Hosts, restarted: bool) -> None:
    host, box = hosts[0], lab.box
    place = ("--cwd", str(hosts.shared), "--node", "far", "--export", "NONE", "-g", 1)
    old = lab.ana.submit(*place, "sh", "job.sh", 600, 0)
    until("it began", lambda: (old, 1) in _runs(hosts))
    host.cut()
    until("it is unreachable", lambda: _state(box) == "unreachable")
    assert box.http("POST", "/nodes/far/lost").json["lost"] == [old]
    new = lab.bob.submit(*place, "sh", "job.sh", 0, 0)
    if restarted:
        box.kill_server()
        box.do("up", "--detach")
    host.heal()
    box.ends(new, "succeeded", within_s=60)
    assert box.state(old) == "lost"
    until("the old one is gone", lambda: not _sleeping(host), shown=host.processes)
    found = read((hosts.shared / "lines").read_text())
    assert found.problems == [] and found.overlaps({}) == []


def _runs(hosts: Hosts) -> set[tuple[int, int]]:
    return set(read((hosts.shared / "lines").read_text()).runs)


def _state(box: Box) -> str:
    return str(next(node for node in box.http("GET", "/nodes").json["nodes"] if node["name"] == "far")["state"])


def _sleeping(host: Host) -> list[str]:
    return [line for line in host.processes().values() if line.startswith("sleep 600")]
