"""Claims of real node programs: held by runners, by wrappers, and by jobs whose daemon is gone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.integration.node.harness import Message, Node, wait_until

from roost.node.system.procfs import user_of

SIM = "lab:2x24G"
Pair = tuple[Node, Node]


@pytest.fixture(params=["runners", "wrappers"])
def pair(request: pytest.FixtureRequest, make_node: Callable[..., Node], tmp_path: Path) -> Iterator[Pair]:
    """Two node programs that share two simulated GPUs; in turn with runners, where cgroups can be made, and without."""
    claims = tmp_path / "claims"
    claims.mkdir()
    how = [] if request.param == "runners" else ["--no-cgroup"]
    found = [make_node("--sim", SIM, "--claims", "each", *how, name=name, claims=claims) for name in ("ana", "bo")]
    if request.param == "runners":
        if any("none" in node.journal() for node in found):
            pytest.skip("no cgroup can be made here: there are no runners")
        wait_until(lambda: all(map(_has_runner, found)), "a runner on both that can hold claims")
    yield found[0], found[1]


def _has_runner(node: Node) -> bool:
    pid = node.hello["pid"]
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return any("roost-gpu" in _open_files(int(child)) for child in children)


def _open_files(pid: int) -> str:
    try:
        names = os.listdir(f"/proc/{pid}/fd")
        return " ".join(os.readlink(f"/proc/{pid}/fd/{name}") for name in names)
    except OSError:
        return ""


def _gpus(node: Node) -> list[str]:
    return [gpu["uuid"] for gpu in node.hello["gpus"]]


def _hold(node: Node, run: str, index: int = 0) -> Message:
    node.start(run, "sleep", "600", gpus=[_gpus(node)[index]])
    return node.started(run)


def _refused(node: Node, run: str, index: int = 0) -> str:
    node.start(run, "true", gpus=[_gpus(node)[index]])
    refused = node.expect("refused", run=run)
    assert refused["claimed"] is True
    return str(refused["reason"])


def _end(node: Node, run: str) -> None:
    node.send("stop", run=run, grace_ms=0, why="kill")
    node.exited(run)


def test_named_simulations_are_the_same_and_others_are_not(pair: Pair, make_node: Callable[..., Node]) -> None:
    assert _gpus(pair[0]) == _gpus(pair[1]) == ["SIM-lab-0", "SIM-lab-1"]
    assert not set(_gpus(make_node("--sim", "2x24G", name="own"))) & set(_gpus(pair[0]))


def test_a_start_on_anothers_gpu_is_refused_until_it_is_free(pair: Pair) -> None:
    ana, bo = pair
    _hold(ana, "1.1")
    assert _refused(bo, "1.1") == f"GPU 0 is claimed by {user_of(os.getpid())}'s Roost (pid {ana.hello['pid']})"
    assert not (bo.state / "runs" / "1.1").exists()
    assert bo.run("2.1", "true", gpus=[_gpus(bo)[1]])["status"] == 0
    _end(ana, "1.1")
    assert bo.run("1.1", "true", gpus=[_gpus(bo)[0]])["status"] == 0


def test_samples_say_who_has_it(pair: Pair) -> None:
    ana, bo = pair
    _hold(ana, "1.1", 1)
    sample = bo.expect_where(lambda m: m["op"] == "sample" and any(gpu.get("claimed_by") for gpu in m["gpus"]))
    assert [(gpu.get("claimed_by") or {}).get("pid") for gpu in sample["gpus"]] == [None, ana.hello["pid"]]
    _end(ana, "1.1")
    bo.expect_where(lambda m: m["op"] == "sample" and not any(gpu.get("claimed_by") for gpu in m["gpus"]))


def test_many_short_jobs_leave_no_claim(pair: Pair) -> None:
    ana, bo = pair
    for number in range(20):
        assert ana.run(f"{number}.1", "true", gpus=_gpus(ana))["status"] == 0
        assert bo.run(f"{number}.1", "true", gpus=_gpus(bo))["status"] == 0


def test_a_job_keeps_its_claim_when_its_daemon_is_killed(pair: Pair) -> None:
    ana, bo = pair
    _hold(ana, "1.1")
    ana.kill_daemon()
    _refused(bo, "1.1")
    ana.attach()
    _refused(bo, "2.1")
    _hold(ana, "2.1")  # beside the adopted one
    _end(ana, "1.1")
    _refused(bo, "3.1")
    _end(ana, "2.1")
    assert bo.run("4.1", "true", gpus=[_gpus(bo)[0]])["status"] == 0


def test_a_claim_dies_with_the_job_when_no_daemon_is_there(pair: Pair) -> None:
    ana, bo = pair
    pid = _hold(ana, "2.1")["pid"]
    ana.kill_daemon()
    _refused(bo, "1.1")
    os.kill(int(pid), 9)

    def starts() -> bool:
        bo.start("2.1", "true", gpus=[_gpus(bo)[0]])
        return bool(bo.expect_where(lambda m: m.get("run") == "2.1" and m["op"] in ("refused", "exited"))["op"] == "exited")

    wait_until(starts, "the GPU is free again")


def test_a_job_without_gpus_inherits_nothing(pair: Pair) -> None:
    ana, _ = pair
    ana.run("1.1", "sh", "-c", "ls -l /proc/self/fd")
    assert b"roost-gpu" not in ana.log("1.1")
    ana.run("2.1", "sh", "-c", "ls -l /proc/self/fd", gpus=[_gpus(ana)[0]])
    assert b"roost-gpu-SIM-lab-0" in ana.log("2.1")


def test_none_and_standing(make_node: Callable[..., Node]) -> None:
    root = make_node("--sim", SIM, "--claims", "standing", name="root")
    ana = make_node("--sim", SIM, "--claims", "each", name="ana")
    account = make_node("--sim", SIM, "--claims", "none", name="account")
    _refused(ana, "1.1", 1)
    assert root.run("1.1", "true", gpus=_gpus(root))["status"] == 0
    assert account.run("1.1", "true", gpus=_gpus(account))["status"] == 0
    root.kill_daemon()
    assert ana.run("2.1", "true", gpus=_gpus(ana))["status"] == 0
