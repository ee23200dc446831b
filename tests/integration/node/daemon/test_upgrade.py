"""The program of the last release and this one, on the same state directory: whichever comes second adopts what the
first has started, with its pids, its logs, its pauses and its ends; no run is lost and none runs twice."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.integration.node.harness import Message, Node, alive, wait_until

from roost.node.build import build

RELEASES = sorted((Path(__file__).parents[3] / "data").glob("roost-node-*.pyz"))
WAYS = ("upgrade", "downgrade")
NodeMaker = Callable[..., Node]


class Pair:
    """A node whose program is exchanged for another."""

    def __init__(self, make: NodeMaker, first: str, second: str, *options: str) -> None:
        self._second = [sys.executable, "-I", second]
        self.node = make("--sim", "lab:2x24G", *options, program=[sys.executable, "-I", first])

    def exchange(self) -> dict[str, Message]:
        """The second program attaches: what it knows of runs, by their names."""
        before = self.node.hello
        self.node.detach()
        self.node.program = self._second
        hello = self.node.attach()
        assert hello["program"] != before["program"] and hello["pid"] != before["pid"]
        return {run["run"]: run for run in hello["runs"]}


def test_every_release_has_left_its_program() -> None:
    assert [path.stem for path in RELEASES] == ["roost-node-0.1.0", "roost-node-d5bfb30"]


@pytest.fixture(params=[(release, way) for release in RELEASES for way in WAYS], ids=lambda p: f"{p[0].stem}-{p[1]}")
def programs(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    """The program that comes first, and the one that follows it."""
    release, way = request.param
    old, new = str(release), build(str(tmp_path)).path
    return (old, new) if way == "upgrade" else (new, old)


@pytest.fixture(params=["cgroups", "no cgroups"])
def pair(request: pytest.FixtureRequest, make_node: NodeMaker, programs: tuple[str, str]) -> Pair:
    return Pair(make_node, *programs, *(["--no-cgroup"] if request.param == "no cgroups" else []))


def _start_waiting(node: Node, run: str, flag: Path, status: int, **spec: object) -> int:
    """A run that says `begun`, then waits for the flag, says `done` and ends with that status; its pid."""
    node.start(run, shell=f"echo begun; until [ -e {flag} ]; do sleep 0.01; done; echo done; exit {status}", **spec)
    pid = int(node.started(run)["pid"])
    wait_until(lambda: node.log(run) == b"begun\n", f"{run} has begun")
    return pid


def test_a_living_program_makes_way_and_its_runs_go_on(pair: Pair, tmp_path: Path) -> None:
    node = pair.node
    gpu = node.hello["gpus"][0]["uuid"]
    pids = {"1.1": _start_waiting(node, "1.1", tmp_path / "one", 6, gpus=[gpu])}
    pids["2.1"] = _start_waiting(node, "2.1", tmp_path / "two", 7)
    node.send("pause", run="2.1")
    node.expect("paused", run="2.1")
    ended = node.run("3.1", "sh", "-c", "echo over; exit 5")
    failed = node.run("4.1", "no-such-command")

    known = pair.exchange()

    assert {name: run["op"] for name, run in known.items()} == {
        "1.1": "started",
        "2.1": "started",
        "3.1": "exited",
        "4.1": "exited",
    }
    assert {name: known[name]["pid"] for name in pids} == pids
    assert [known[name]["paused"] for name in pids] == [False, True]
    assert [_end(known["3.1"]), _end(known["4.1"])] == [_end(ended), _end(failed)]
    (tmp_path / "one").touch()
    assert node.exited("1.1")["status"] == 6
    assert node.log("1.1") == b"begun\ndone\n"
    assert node.log("3.1") == b"over\n"
    _assert_paused_and_thaws(node, "2.1", tmp_path / "two", 7)


def _end(told: Message) -> list[object]:
    """What stays true of an end; its times come from files now, a few milliseconds from what the first program saw."""
    return [told[key] for key in ("op", "run", "status", "why", "error", "pid")]


def _assert_paused_and_thaws(node: Node, run: str, flag: Path, status: int) -> None:
    """It does nothing though nothing holds it but its pause, and goes on when it is thawed."""
    flag.touch()
    for number in range(20):  # a run that is thawed by mistake sees the flag within one sleep of 10 ms
        assert node.run(f"9{number}.1", "true")["status"] == 0
    assert node.log(run) == b"begun\n"
    node.send("resume", run=run)
    node.expect("resumed", run=run)
    assert node.exited(run)["status"] == status
    assert node.log(run) == b"begun\ndone\n"


def test_what_ended_while_no_program_was_there_is_told_by_the_other(pair: Pair, tmp_path: Path) -> None:
    node = pair.node
    lives = _start_waiting(node, "1.1", tmp_path / "one", 6)
    ends = _start_waiting(node, "2.1", tmp_path / "two", 7)
    paused = _start_waiting(node, "3.1", tmp_path / "three", 8)
    node.send("pause", run="3.1")
    node.expect("paused", run="3.1")
    node.kill_daemon()
    (tmp_path / "two").touch()
    trace = node.state / "active" / "2.1"
    wait_until(lambda: trace.read_text().count("\n") == 4, "the wrapper notes the status")
    wait_until(lambda: not alive(ends), "the job ends")
    ended_ms = trace.stat().st_mtime_ns // 1_000_000

    known = pair.exchange()

    assert [known[name]["pid"] for name in ("1.1", "2.1", "3.1")] == [lives, ends, paused]
    told = known["2.1"]
    assert (told["op"], told["status"], told["why"], told["at_ms"]) == ("exited", 7, None, ended_ms)
    assert node.log("2.1") == b"begun\ndone\n"
    (tmp_path / "one").touch()
    assert node.exited("1.1")["status"] == 6
    _assert_paused_and_thaws(node, "3.1", tmp_path / "three", 8)
