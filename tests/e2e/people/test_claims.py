"""Several Roosts on one machine and the same GPUs: a GPU given out by one is given out by no other.

The jobs prove it themselves: each makes a file for every GPU that it was given, which nobody may have made before, and
removes it at its end. A GPU held twice is a job that fails.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.accounts import Account, AccountBox, Reach, needs_root, reachable_roost, throw_away_accounts
from tests.box import Box, until

JOBS = 100
SHARED = "lab:4x24G"
_JOB = """\
set -C
for gpu in $(echo $ROOST_GPUS | tr , ' '); do
    echo "$USER $ROOST_JOB_ID" >$MARKS/$gpu || { cat $MARKS/$gpu; exit 9; }
done
sleep 0.1
for gpu in $(echo $ROOST_GPUS | tr , ' '); do rm $MARKS/$gpu; done
"""
pytestmark = needs_root("GPU claims between two accounts of one machine")


@pytest.fixture(scope="module")
def reach() -> Iterator[Reach]:
    with reachable_roost() as found:
        yield found


@pytest.fixture(scope="module")
def people() -> Iterator[list[Account]]:
    with throw_away_accounts("ana", "bo") as found:
        yield found


@pytest.fixture
def common() -> Iterator[Path]:
    """A directory that is to all what /run/lock is, and one for the jobs' marks."""
    directory = Path(tempfile.mkdtemp(prefix="roost-claims-", dir="/tmp"))
    directory.chmod(0o755)
    for name in ("claims", "marks"):
        (directory / name).mkdir()
        (directory / name).chmod(0o1777)
    (directory / "job").write_text(_JOB)
    (directory / "job").chmod(0o644)
    yield directory
    shutil.rmtree(directory)


@pytest.fixture
def boxes(reach: Reach, people: list[Account], common: Path) -> Iterator[list[AccountBox]]:
    """A Roost of each person's own, on the same four simulated GPUs."""
    env = {"ROOST_CLAIMS": str(common / "claims"), "MARKS": str(common / "marks")}
    with contextlib.ExitStack() as stack:
        made = [AccountBox(account, reach, gpus=SHARED, env=env) for account in people]
        for box in made:
            stack.callback(box.close)
        yield [_up(box) for box in made]


def _up(box: AccountBox) -> AccountBox:
    box.up()
    return box


def _queue(box: AccountBox, common: Path) -> None:
    """Many short jobs. Three of four GPUs at once are allowed: so both want more than there is, and neither has all."""
    box.do("user", "set", box.account.name, "--max-gpus", 3)
    lines = [f"-g {2 if number % 10 == 0 else 1} sh {common / 'job'}\n" for number in range(JOBS)]
    (box.work / "jobs.txt").write_text("".join(lines))
    box.do("submit", "--from", str(box.work / "jobs.txt"))


def _counts(box: Box) -> dict[str, int]:
    found: dict[str, int] = box.json("status")["jobs"]
    return found


def _all_succeed(box: Box) -> None:
    until("every job has ended", lambda: _counts(box).get("ended", 0) == JOBS, within_s=150, shown=lambda: _counts(box))
    assert _counts(box)["succeeded"] == JOBS, _failed(box)


def _failed(box: Box) -> object:
    jobs = [job for job in box.json("ls", "--all", "-n", JOBS)["jobs"] if job["outcome"] != "succeeded"]
    return [(job["id"], job["outcome"], job["exit_code"], box.log(job["id"])) for job in jobs[:5]]


def _server(box: AccountBox) -> None:
    box.kill_server()


def _server_and_node(box: AccountBox) -> None:
    box.kill_server()
    box.kill_all_nodes()


@pytest.mark.parametrize("kill", [_server, _server_and_node])
def test_no_gpu_is_ever_held_twice(boxes: list[AccountBox], common: Path, kill: Callable[[AccountBox], None]) -> None:
    ana, _ = boxes
    for box in boxes:
        _queue(box, common)
    until("both are at it", lambda: all(_counts(box).get("succeeded", 0) for box in boxes))
    until("one is in the middle", lambda: _counts(ana)["succeeded"] >= JOBS // 5)
    assert _counts(ana)["queued"]
    kill(ana)
    ana.up()
    for box in boxes:
        _all_succeed(box)
    assert list((common / "marks").iterdir()) == []


def test_others_claims_are_shown_and_waited_for(boxes: list[AccountBox]) -> None:
    ana, bo = boxes
    held = ana.submit("-g", 1, "--gpu-id", 2, "--", "sleep", 600)
    ana.comes_to(held, "running")
    words = f"claimed by {ana.account.name}'s Roost (pid {ana.node.pid})"
    assert bo.gpu_comes_to(2, "claimed")["reason"] == words
    assert words in bo.do("gpus")
    waiting = bo.submit("-g", 4, "--", "true")
    assert f"GPU {bo.gpu(2)['node']}:2 is {words}" in bo.why(waiting)
    [reason] = [reason for reason in bo.job(waiting)["reasons"] if reason["code"] == "gpu_claimed"]
    assert reason["by"] == {"user": ana.account.name, "pid": ana.node.pid}
    assert bo.state(bo.submit("-g", 1, "--gpu-id", 2, "--", "true")) == "queued"
    assert bo.ends(bo.submit("-g", 1, "--gpu-id", 1, "--", "true"))["outcome"] == "succeeded"
    ana.kill_all_nodes()  # the job has its claim itself
    ana.kill_server()
    assert bo.gpu_comes_to(2, "claimed")
    ana.up()
    assert ana.comes_to(held, "running")
    assert bo.state(waiting) == "queued"
    ana.do("kill", held)
    assert bo.ends(waiting)["outcome"] == "succeeded"


def test_a_run_beside_an_adopted_one_keeps_the_claim(boxes: list[AccountBox]) -> None:
    ana, bo = boxes
    share = ("-g", 1, "--gpu-id", 0, "--mem", "1G", "--", "sleep", 600)
    first = ana.submit(*share)
    ana.comes_to(first, "running")
    ana.kill_all_nodes()
    until("a new node program is there", lambda: ana.json("status")["node_pid"])
    second = ana.submit(*share)
    ana.comes_to(second, "running")
    ana.do("kill", first)
    ana.ends(first, "killed")
    assert bo.gpu_comes_to(0, "claimed")
    assert bo.state(bo.submit("-g", 1, "--gpu-id", 0, "--mem", "1G", "--", "true")) == "queued"
    assert ana.state(second) == "running"


def test_a_directory_that_is_not_safe_stops_gpu_jobs_and_says_why(boxes: list[AccountBox], common: Path) -> None:
    ana = boxes[0]
    (common / "claims").chmod(0o777)
    fault = ana.gpu_comes_to(0, "fault")["reason"]
    assert "not sticky" in fault
    assert "ROOST_CLAIMS" in fault
    job = ana.submit("-g", 1, "--", "true")
    assert "not sticky" in ana.why(job)
    assert any("not sticky" in line for line in ana.json("status")["health"])
    assert ana.ends(ana.submit("-g", 0, "--", "true"))["outcome"] == "succeeded"
    assert ana.state(job) == "queued"
    (common / "claims").chmod(0o1777)
    assert ana.ends(job)["outcome"] == "succeeded"


def test_a_root_server_keeps_all_gpus_and_leaves_those_that_are_in_use(
    boxes: list[AccountBox], common: Path, new_box: Callable[..., Box]
) -> None:
    ana, _ = boxes
    held = ana.submit("-g", 1, "--gpu-id", 3, "--", "sleep", 600)
    ana.comes_to(held, "running")
    root = new_box(gpus=SHARED)
    root.env["ROOST_CLAIMS"] = str(common / "claims")
    root.up()
    root.gpu_comes_to(3, "claimed")
    assert ana.gpu_comes_to(0, "claimed")["reason"] == f"claimed by root's Roost (pid {root.node.pid})"
    whole = root.submit("-g", 4, "--", "true")
    assert root.state(whole) == "queued"
    ana.do("kill", held)
    assert root.ends(whole)["outcome"] == "succeeded"
    ana.gpu_comes_to(3, "claimed")  # it stands, though nothing of root's runs
