"""Nodes that come back: what was given up is ended, and only then its GPUs are given out; what runs is heard of again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.box import Box, end, process, until
from tests.cluster.evidence import SCRIPT, Evidence, read
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
        (made.shared / "job.sh").write_text(SCRIPT.replace("say term", "sleep 2; say term"))
        (made.shared / "lines").touch()
        (made.shared / "lines").chmod(0o666)
        asked = {"name": "far", "target": made[0].url(), "host_key": made[0].host_key, "key": str(made.key), "sim": "1x24G"}
        assert lab.box.http("POST", "/nodes", asked).status in (200, 201)
        until("it is up", lambda: _state(lab.box) == "up")
        yield made
        lab.box.stop()


@pytest.fixture
def given_up(lab: Lab, hosts: Hosts) -> int:
    """A job of ana's on the host's only GPU, given up while the host is cut off; it takes its time to end."""
    job = lab.ana.submit(*_place(hosts), "-g", 1, "sh", "job.sh", 600, 0)
    until("it began", lambda: (job, 1) in _evidence(hosts).runs)
    hosts[0].cut()
    until("it is unreachable", lambda: _state(lab.box) == "unreachable")
    assert lab.box.http("POST", "/nodes/far/lost").json["lost"] == [job]
    return job


def test_what_was_given_up_is_ended(lab: Lab, hosts: Hosts, given_up: int) -> None:
    hosts[0].heal()
    until("it is ended", lambda: not _sleeping(hosts[0]), shown=hosts[0].processes)
    lab.box.ends(lab.bob.submit(*_place(hosts), "-g", 1, "true"), "succeeded")
    assert lab.box.state(given_up) == "lost"


def test_its_gpu_is_given_out_only_then(lab: Lab, hosts: Hosts, given_up: int) -> None:
    new = lab.bob.submit(*_place(hosts), "-g", 1, "sh", "job.sh", 0, 0)
    lab.box.kill_server()
    lab.box.do("up", "--detach")
    hosts[0].heal()
    lab.box.ends(new, "succeeded", within_s=60)
    until("both are over", lambda: _evidence(hosts).runs[given_up, 1].last)
    assert _evidence(hosts).overlaps({}) == []


def test_nor_while_one_runs_that_nobody_remembers(lab: Lab, hosts: Hosts, given_up: int) -> None:
    lab.ana.do("rm", given_up)
    hosts[0].heal()
    until("it is back", lambda: _state(lab.box) == "up")
    new = lab.bob.submit(*_place(hosts), "-g", 1, "sh", "job.sh", 0, 0)
    try:
        until("the new one began", lambda: (new, 1) in _evidence(hosts).runs, within_s=15)
        assert _evidence(hosts).runs[given_up, 1].last is not None
    finally:
        _end(hosts[0])


def test_a_key_that_is_trusted_again_brings_back_every_account(lab: Lab, hosts: Hosts) -> None:
    job = lab.ana.submit(*_place(hosts), "-g", 1, "sh", "job.sh", 1, 0)
    until("it began", lambda: (job, 1) in _evidence(hosts).runs)
    hosts[0].change_host_key()
    hosts[0].stop_sshd(sessions=True)
    hosts[0].start_sshd()
    until("it is refused", lambda: _state(lab.box) == "unreachable")
    assert lab.box.http("POST", "/nodes/far/trust", {"host_key": hosts[0].host_key}).status == 200
    lab.box.ends(job, "succeeded")


def _place(hosts: Hosts) -> tuple[str, ...]:
    return ("--cwd", str(hosts.shared), "--node", "far", "--export", "NONE")


def _evidence(hosts: Hosts) -> Evidence:
    return read((hosts.shared / "lines").read_text())


def _state(box: Box) -> str:
    return str(next(node for node in box.http("GET", "/nodes").json["nodes"] if node["name"] == "far")["state"])


def _sleeping(host: Host) -> list[str]:
    return [line for line in host.processes().values() if line.startswith("sleep 600")]


def _end(host: Host) -> None:
    """The sleep, and with it the job."""
    for pid, line in host.processes().items():
        if line.startswith("sleep 600") and (found := process(pid)) is not None:
            end(found)
