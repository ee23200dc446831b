"""Nodes on the command line, at 80 columns, to the character; and who is asked about a host key."""

from __future__ import annotations

import io
import json
import sys
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.unit.cli.conftest import Roost
from tests.unit.client.fake_server import FakeServer, error

from roost.cli.text import job_text, node_gpus_text
from roost.cli.text.node_text import in_order, models_text
from roost.cli.text.output import Screen, width_of
from roost.cli.verbs.gpus import gpus
from roost.cli.verbs.jobs import ls, show, why
from roost.cli.verbs.nodes import node_add, node_check, node_show, nodes
from roost.cli.verbs.server import status

NOW = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)
KEY = "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU"
REFUSED = "lab3 refused the connection: ssh: connect to host lab3.example.org port 2222: Connection refused"


def node(name: str, **more: Any) -> dict[str, Any]:
    about = {"pid": 7, "program": "a1b2c3d4e5f6a7b8", "python": "3.11.2", "boot": "b", "state_dir": "/var/lib/roost-node/x"}
    size = {"gpus": 4, "cpus": 64, "mem_mib": 257_000, "mem_available_mib": 120_000, "load": 3.25, "jobs": 1}
    reach = {"target": f"ssh://root@{name}.example.org:2222", "runs_as": "each", "clock_ms": 12, "host_key": KEY}
    return {"name": name, "state": "up", "reason": None, "since": None, "sim_dir": None, **about, **size, **reach, **more}


def gpu(name: str, index: int, state: str = "free", **more: Any) -> dict[str, Any]:
    read = {"mem_used_mib": 0, "mem_reserved_mib": 0, "util": 0, "temp_c": 40, "power_w": 60.0}
    known = {"alias": None, "model": "NVIDIA A100-SXM4-80GB", "mem_mib": 81_920, "state": state, "reason": None}
    return {"uuid": f"{name}-{index}", "index": index, "node": name, "jobs": [], "procs": [], **known, **read, **more}


GONE = node("lab3", state="unreachable", reason=REFUSED, since="2026-11-15T11:54:57Z", jobs=3, load=None)
FIVE = [
    node("lab10", gpus=0, jobs=0, load=0.0),
    GONE,
    node("box", target=None, runs_as=None, host_key=None),
    node("lab1", load=512.3),
    node("lab2", state="drained"),
]
GPUS = [
    gpu(name, index, state)
    for name, states in (("box", "fufu"), ("lab1", "ffff"), ("lab2", "dddd"), ("lab3", "xxxx"))
    for index, state in enumerate({"f": "free", "u": "used", "d": "drained", "x": "unreachable"}[sign] for sign in states)
]


# Looking


def test_one_node() -> None:
    assert nodes.lines(FIVE[2:3], GPUS[:4], NOW, Screen(80)) == [
        "NODE  STATE  FREE  JOBS  CPUS  LOAD  ADDRESS",
        "box   up      2/4     1    64   3.2  the server's machine",
    ]


def test_some_nodes_and_why_one_is_gone() -> None:
    assert nodes.lines(FIVE, GPUS, NOW, Screen(80)) == [
        "NODE   STATE        FREE  JOBS  CPUS  LOAD  ADDRESS",
        "box    up            2/4     1    64   3.2  the server's machine",
        "lab1   up            4/4     1    64   512  root@lab1.example.org:2222",
        "lab2   drained       0/4     1    64   3.2  root@lab2.example.org:2222",
        "lab3   unreachable   -/4    3?    64     -  root@lab3.example.org:2222",
        "    unreachable for 5m03s: lab3 refused the connection: ssh: connect to host",
        "    lab3.example.org port 2222: Connection refused; its 3 jobs are unknown",
        "lab10  up              -     0    64   0.0  root@lab10.example.org:2222",
        "5 nodes: 3 up, 1 drained, 1 unreachable; 6 of 16 GPUs free",
    ]


def test_fifty_nodes_with_long_names_fit() -> None:
    many = [node(f"gpu-node-of-the-lab-{number}", state="unreachable" if number % 9 == 0 else "up") for number in range(50)]
    for width in (80, 100):
        found = nodes.lines(many, [], NOW, Screen(width))
        assert max(map(width_of, found)) <= width
        assert len(found) == 1 + 50 + 6 + 1
        assert found[-1] == "50 nodes: 44 up, 6 unreachable; 0 of 200 GPUs free"


def test_names_that_are_alike_are_told_apart_by_their_end() -> None:
    many = [node(f"gpu-node-of-the-lab-of-vision-{number}") for number in (17, 18)]
    found = nodes.lines(many, [], NOW, Screen(80))
    assert [line.split()[0] for line in found[1:3]] == ["gpu-node…ision-17", "gpu-node…ision-18"]
    assert [line.split()[0] for line in nodes.lines(many, [], NOW, Screen(100))[1:3]] == [each["name"] for each in many]


def test_a_reason_without_spaces_is_broken_where_it_may_be() -> None:
    words = (
        "无法连接到服务器：连接被拒绝，请检查防火墙设置以及服务器是否已经开机，或者联系管理员确认网络状态（端口二二二二）"
    )
    gone = {**GONE, "reason": words}
    for width in (60, 72, 80):
        for found in (node_show.lines(gone, [], NOW, Screen(width)), nodes.lines([gone], [], NOW, Screen(width))):
            told = [line for line in found if not line.isascii()]
            assert max(map(width_of, told)) <= width and not any(line.lstrip()[0] in "，：）" for line in told)
            assert words in "".join(line.strip() for line in told)
    path = "/home/王小明/" + "深度学习实验室/" * 5
    assert path in "\n".join(node_show.lines({**GONE, "state_dir": path}, [], NOW, Screen(80)))


def test_what_a_node_had_free_is_not_said_once_it_is_gone() -> None:
    found = node_show.lines({**GONE, "jobs": 12_000, "clock_ms": 3_600_000}, GPUS[12:], NOW, Screen(80))
    assert "  memory:    251.0G" in found and "  clock:     1h00m ahead of the server's" in found
    assert "  jobs:      12,000, unknown while it is unreachable" in found


def test_the_state_of_a_node_is_painted() -> None:
    lines = nodes.lines(FIVE, GPUS, NOW, Screen(80, colour=True))
    assert "\033[32mup\033[0m" in lines[1] and "\033[33mdrained\033[0m" in lines[3]
    assert "\033[31munreachable\033[0m" in lines[4]


def test_names_are_in_the_order_of_their_numbers() -> None:
    names = ["lab10", "lab2", "vm", "a", "lab2b", "10", "9", "lab1-10", "lab1-9", "lab2a"]
    assert sorted(names, key=in_order) == ["a", "lab1-9", "lab1-10", "lab2", "lab2a", "lab2b", "lab10", "vm", "9", "10"]


def test_a_node_whole() -> None:
    assert node_show.lines(node("lab1", hostname="gpu-07.lab"), GPUS[4:8], NOW, Screen(80)) == [
        "node lab1  up",
        "  host name: gpu-07.lab",
        "  address:   root@lab1.example.org:2222",
        f"  host key:  {KEY}",
        "  accounts:  as root: each job runs as its user's account",
        "  GPUs:      4 GPUs (A100-SXM4-80GB): 4 free",
        "  CPUs:      64, load 3.2",
        "  memory:    117.2G free of 251.0G",
        "  jobs:      1",
        "  program:   a1b2c3d4e5f6, pid 7, Python 3.11.2",
        "  directory: /var/lib/roost-node/x",
    ]


def test_a_node_that_is_gone_whole() -> None:
    found = node_show.lines({**GONE, "clock_ms": -65_400}, GPUS[12:], NOW, Screen(80))
    assert found[0] == "node lab3  unreachable for 5m03s"
    assert found[1:3] == [
        "  reason:    lab3 refused the connection: ssh: connect to host lab3.example.org",
        "             port 2222: Connection refused",
    ]
    assert "  jobs:      3, unknown while it is unreachable" in found
    assert "  GPUs:      4 GPUs (A100-SXM4-80GB)" in found
    assert "  clock:     65.4s behind the server's" in found
    closed = {**GONE, "drained": True}
    assert node_show.lines(closed, GPUS[12:], NOW, Screen(80))[0] == "node lab3  unreachable for 5m03s, drained"
    assert nodes.lines([closed], GPUS[12:], NOW, Screen(80))[2].startswith(
        "    unreachable for 5m03s, drained: lab3 refused"
    )


def test_models_in_words() -> None:
    cards = [{"model": "NVIDIA GeForce RTX 3090", "mem_mib": 24_576}] * 3 + [{"model": "H100 80GB", "mem_mib": 81_920}]
    assert models_text(cards) == "3 RTX 3090 24G, 1 H100 80GB"
    assert models_text(cards[:3]) == "RTX 3090 24G"


def test_the_verbs_that_look(roost: Roost, server: FakeServer) -> None:
    server.routes |= {
        "GET /nodes": {"version": 1, "nodes": [node("lab1")]},
        "GET /nodes/lab1": {"version": 1, "node": node("lab1")},
        "GET /gpus": {"version": 1, "gpus": GPUS, "cpu": {"slots": 4, "used": 0}},
    }
    for words in (("nodes",), ("node",), ("node", "ls")):
        found = roost(*words)
        assert (found.code, found.err) == (0, "") and found.out.splitlines()[1].startswith("lab1  up      4/4")
    assert json.loads(roost("nodes", "--json").out) == {"version": 1, "nodes": [node("lab1")]}
    assert roost("node", "show", "lab1").out.startswith("node lab1  up\n")
    assert json.loads(roost("node", "show", "lab1", "--json").out) == {"version": 1, "node": node("lab1")}
    assert roost("node", "show", "lab9").code == 2


# GPUs and jobs of many nodes


def test_the_gpus_of_many_nodes_are_below_their_node() -> None:
    cards = [gpu("lab2", 0), gpu("lab10", 0, "used", jobs=[{"id": 7, "user": "ana", "name": "x", "mem_mib": 0}]),
             *(gpu("lab3", index, "unreachable", reason=REFUSED, jobs=[{"id": 12}]) for index in range(2))]  # fmt: skip
    assert gpus.lines({"gpus": cards, "cpu": {"slots": 8, "used": 1}}, Screen(80)) == [
        "GPU  MODEL           STATE  MEMORY                  UTIL  TEMP  POWER  JOBS",
        "lab2: 1 free",
        "0    A100-SXM4-80GB  free   [----------] 0.0/80.0G    0%   40C    60W  -",
        "lab3: 2 unreachable",
        "     lab3 refused the connection: ssh: connect to host lab3.example.org port",
        "     2222: Connection refused",
        "     A100-SXM4-80GB",
        "     their jobs are unknown: 12",
        "lab10: 1 used",
        "0    A100-SXM4-80GB  used   [----------] 0.0/80.0G    0%   40C    60W  7",
        "     job 7  ana  x",
        "CPU slots: 1 of 8 used",
    ]


def test_the_gpus_of_one_node(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /gpus"] = {"version": 1, "gpus": GPUS, "cpu": {"slots": 4, "used": 0}}
    found = roost("gpus", "--node", "lab1")
    assert (found.code, len(found.out.splitlines())) == (0, 5)
    assert [one["node"] for one in json.loads(roost("gpus", "--node", "box", "--json").out)["gpus"]] == ["box"] * 4
    refused = roost("gpus", "--node", "lab9")
    assert (refused.code, refused.err) == (2, "roost: no GPU on a node named lab9\nhint: list nodes: roost nodes\n")


def test_a_line_for_each_node() -> None:
    cards = [gpu("lab2", 0), gpu("lab2", 1, "used", util=90), gpu("lab2", 2, "fault"), gpu("lab10", 0, "foreign"),
             gpu("lab3", 0, "unreachable")]  # fmt: skip
    assert node_gpus_text.node_lines(cards, Screen(80), 10) == [
        "NODE   FREE  GPUS            MEMORY  UTIL  POWER  MODEL",
        "lab2    1/3  -#!          0M/240.0G   30%   180W  A100-SXM4-80GB",
        "lab3      -  unreachable          -     -      -  A100-SXM4-80GB",
        "lab10   0/1  f             0M/80.0G    0%    60W  A100-SXM4-80GB",
    ]
    many = [gpu(f"lab{number}", index) for number in range(50) for index in range(8)]
    found = node_gpus_text.node_lines(many, Screen(80), 12)
    assert len(found) == 12 and found[-1] == "… and 40 more nodes: roost nodes"


def test_top_shows_jobs_too_however_many_gpus_there_are(roost: Roost, server: FakeServer) -> None:
    many = [gpu(f"lab{number}", index) for number in range(5) for index in range(8)]
    server.routes["GET /gpus"] = {"version": 1, "gpus": many, "cpu": {"slots": 4, "used": 0}}
    server.routes["GET /jobs"] = {"version": 1, "jobs": [UNKNOWN], "nodes": 5, "counts": {}, "next": None}
    lines = roost("top").out.splitlines()
    assert lines[1].startswith("lab0   8/8  --------") and "lab3:0,1" in lines[-1] and len(lines) == 9


def job(number: int, **more: Any) -> dict[str, Any]:
    about = {"name": "train", "user": "ana", "outcome": None, "exit_code": None, "command_line": "python train.py"}
    when = {"submitted_at": "2026-11-15T11:55:00Z", "started_at": "2026-11-15T11:58:00Z", "ended_at": None}
    return {"id": number, "gpus": 1, "request": {"gpus": 1}, "attempts": [], "reasons": [], "error": None,
            "node": "lab3", **about, **when, **more}  # fmt: skip


def attempt(name: str, indices: list[int]) -> dict[str, Any]:
    return {"attempt": 1, "state": "running", "node": name, "gpu_indices": indices, "pid": 4242}


UNKNOWN = job(12, state="unknown", last_state="running", attempts=[attempt("lab3", [0, 1])])


def test_jobs_of_many_nodes() -> None:
    jobs = [
        job(11, state="running", attempts=[attempt("lab1", list(range(8)))]),
        UNKNOWN,
        job(13, state="running", attempts=[attempt("gpu-node-17", [])], request={"gpus": 0}),
        job(14, state="queued", started_at=None, attempts=[attempt("lab3", [0])]),
    ]
    assert ls.lines(jobs, NOW, Screen(80), many_nodes=True) == [
        "ID  NAME   USER  STATE    GPU           TIME  COMMAND / WHY",
        "11  train  ana   running  lab1:0-7     2m00s  python train.py",
        "12  train  ana   unknown  lab3:0,1     2m00s  was running; lab3 is unreachable",
        "13  train  ana   running  gpu-node-17  2m00s  python train.py",
        "14  train  ana   queued   x1           5m00s  python train.py",
    ]
    assert [line.split()[4] for line in ls.lines(jobs, NOW, Screen(80))[1:]] == ["0-7", "0,1", "-", "x1"]
    assert job_text.state_colour(UNKNOWN) == "yellow"


def test_ls_knows_whether_there_are_many(roost: Roost, server: FakeServer) -> None:
    for count, shown in ((1, " 0,1 "), (2, " lab3:0,1 ")):
        server.routes["GET /jobs"] = {"version": 1, "jobs": [UNKNOWN], "nodes": count, "counts": {}, "next": None}
        assert shown in roost("ls").out


def test_why_a_job_is_unknown() -> None:
    assert why.lines(UNKNOWN, NOW, Screen(80)) == [
        "job 12 is unknown: it was running on lab3, GPU 0,1; it started 2m00s ago; the",
        "  node is unreachable: roost nodes",
    ]
    assert "  unknown:   was running; lab3 is unreachable" in show.lines(UNKNOWN, NOW, Screen(80))


def test_the_status_of_few_nodes_and_of_many() -> None:
    def lines(them: list[dict[str, Any]]) -> list[str]:
        answer = {"server": {"since": "2026-11-15T11:58:00Z"}, "nodes": them, "jobs": {"running": 5, "ended": 1, "lost": 1}}
        return status.lines(answer, NOW, Screen(200))

    few = lines(FIVE)
    assert "jobs:       5 running, 1 ended (1 lost); 3 unknown, on unreachable nodes" in few
    assert [line.split()[1] for line in few if line.startswith("node:")] == ["box", "lab1", "lab2", "lab3", "lab10"]
    assert f"node:       lab3 unreachable for 5m03s, pid 7, 4 GPUs, 64 CPUs, 3 jobs: {REFUSED}" in few
    many = lines([*FIVE, *(node(f"n{number}") for number in range(45))])
    assert "nodes:      50: 48 up, 1 drained, 1 unreachable" in many
    assert [line.split()[1] for line in many if line.startswith("node:")] == ["lab2", "lab3"]


# Adding


def test_what_was_added() -> None:
    assert node_add.added(node("lab1"), GPUS[4:8]) == (
        "added lab1: 4 GPUs (A100-SXM4-80GB), Python 3.11.2, as root: each job runs as its user's account"
    )
    plain = node("lab9", target="ssh://gpu@lab9", runs_as="login", gpus=0)
    assert node_add.added(plain, []) == "added lab9: no GPU, Python 3.11.2, all jobs run as gpu"
    assert node_add.advice(node("lab1")) == []
    assert node_add.advice({**plain, "clock_ms": 9000}) == [
        "roost: lab9: no GPU was found",
        "roost: lab9: its clock is 9.0s ahead of the server's",
        "hint: roost node check lab9",
    ]


class Terminal(io.StringIO):
    """Somebody who types."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def strange(server: FakeServer) -> FakeServer:
    """A server that has not seen the key of lab3 before."""
    message = f"the host key of lab3 is {KEY} (ED25519) and has not been confirmed"
    refusal = 409, error("host_key_unknown", message, f"compare it, then say: --host-key {KEY}", host_key=KEY)

    def answer(_: Any, body: Any) -> tuple[int, Any]:
        return (200, {"version": 1, "node": node("lab3")}) if body["host_key"] == KEY else refusal

    server.routes |= {"POST /nodes": answer, "POST /nodes/lab3/trust": answer}
    server.routes["GET /gpus"] = {"version": 1, "gpus": [], "cpu": None}
    return server


BOTH = pytest.mark.parametrize("words", [("node", "add", "lab3", "ssh://root@lab3"), ("node", "trust", "lab3")])


def sent(server: FakeServer) -> list[Any]:
    return [body["host_key"] for name, _, body in server.asked if name.startswith("POST")]


@BOTH
@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("YES\n", 0), ("\n", 1), ("n\n", 1), ("", 1)])
def test_on_a_terminal_the_key_is_asked_about(
    roost: Roost, strange: FakeServer, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], typed: str, code: int
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    found = roost(*words)
    assert found.code == code and "Is this the host key of lab3? [y/N] " in found.err
    assert found.err.startswith(f"roost: the host key of lab3 is {KEY} (ED25519)")
    assert sent(strange) == ([None, KEY] if code == 0 else [None])
    assert bool(found.out) == (code == 0) and found.err.endswith("[y/N] roost: nothing was done\n") == (code != 0)


@BOTH
def test_without_a_terminal_nothing_is_taken_for_a_yes(
    roost: Roost, strange: FakeServer, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    found = roost(*words)
    assert (found.code, found.out) == (1, "")
    assert found.err.splitlines()[1] == f"hint: compare it, then say: --host-key {KEY}"
    assert sent(strange) == [None]
    told = json.loads(roost(*words, "--json").err)
    assert (told["error"]["code"], told["error"]["host_key"]) == ("host_key_unknown", KEY)


@BOTH
@pytest.mark.parametrize(("more", "keys"), [(("--yes",), [None, KEY]), (("--host-key", KEY), [KEY])])
def test_a_key_can_be_named_or_taken(
    roost: Roost, strange: FakeServer, words: tuple[str, ...], more: tuple[str, ...], keys: list[Any]
) -> None:
    assert roost(*words, *more).code == 0
    assert sent(strange) == keys


def test_a_wrong_key_is_not_asked_about(roost: Roost, strange: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
    assert roost("node", "add", "lab3", "--host-key", "SHA256:x", "--yes").code == 1
    assert sent(strange) == ["SHA256:x"]


def test_a_key_file_is_a_path_on_the_servers_machine(
    roost: Roost, strange: FakeServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    roost("node", "add", "lab3", "--key", "id", "--host-key", KEY, "--sim", "4x24G", "--python", "/opt/py")
    (body,) = strange.bodies("POST /nodes")
    assert (body["key"], body["sim"], body["python"], body["target"]) == (str(tmp_path / "id"), "4x24G", "/opt/py", None)
    monkeypatch.setenv("ROOST_SERVER", "http://127.0.0.1:1")
    refused = roost("node", "add", "lab3", "--key", "id")
    assert refused.code == 2 and "the server is another machine" in refused.err


def test_a_node_that_cannot_be_reached_is_for_later(roost: Roost, server: FakeServer) -> None:
    server.routes["POST /nodes"] = lambda _q, _b: (503, error("try_later", "cannot reach lab3: no route", "roost nodes"))
    assert roost("node", "add", "lab3") == (75, "", "roost: cannot reach lab3: no route\nhint: roost nodes\n")


# Checking


GOOD = {"name": "reachable", "ok": True, "text": "as root, in 40 ms", "hint": None}
BAD = {"name": "python", "ok": False, "text": "none from 3.8 on: " + "python3 is 3.6.8, " * 4 + "no other is there",
       "hint": "install one, or say where it is: roost node add lab3 --python /opt/python/bin/python3"}  # fmt: skip
OPEN = {"name": "shared home", "ok": None, "text": "not known", "hint": None}


def checked(name: str, *checks: Any) -> dict[str, Any]:
    return {"version": 1, "node": name, "ok": all(one["ok"] is not False for one in checks), "checks": list(checks)}


def test_a_check_is_a_line_each_with_what_to_do() -> None:
    assert node_check.lines(checked("lab3", GOOD, BAD, OPEN), Screen(80)) == [
        "✓ reachable: as root, in 40 ms",
        "✗ python: none from 3.8 on: python3 is 3.6.8, python3 is 3.6.8, python3 is",
        "  3.6.8, python3 is 3.6.8, no other is there",
        "  hint: install one, or say where it is: roost node add lab3 --python",
        "        /opt/python/bin/python3",
        "? shared home: not known",
    ]
    assert node_check.lines(checked("lab3", GOOD), Screen(80, colour=True))[0].startswith("\033[32m✓\033[0m reachable")


def test_what_is_not_known_for_one_reason_is_one_line() -> None:
    behind = [{"name": name, "ok": None, "text": "not known before reachable is right", "hint": None} for name in "abc"]
    other = {**behind[0], "text": "nobody's to look at"}
    assert node_check.lines(checked("lab3", BAD, *behind, other), Screen(80))[-2:] == [
        "? a, b, c: not known before reachable is right",
        "? a: nobody's to look at",
    ]


def test_one_node_is_checked(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /nodes"] = {"version": 1, "nodes": [node("lab3"), node("lab4")]}
    server.routes["POST /nodes/lab3/check"] = checked("lab3", GOOD, BAD)
    server.routes["POST /nodes/lab4/check"] = checked("lab4", GOOD, OPEN)
    assert roost("node", "check", "lab3").code == 1
    assert roost("node", "check", "lab4").out == "✓ reachable: as root, in 40 ms\n? shared home: not known\n"
    assert json.loads(roost("node", "check", "lab4", "--json").out) == checked("lab4", GOOD, OPEN)
    refused = roost("node", "check", "lab4", "lab9")
    assert (refused.code, refused.err) == (2, "roost: no such node: lab9\nhint: list nodes: roost nodes\n")


def test_all_nodes_are_checked_and_one_that_cannot_be_does_not_hide_the_others(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /nodes"] = {
        "version": 1,
        "nodes": [*(node(f"lab{number}") for number in (10, 3, 2)), node("box", target=None)],
    }
    server.routes["POST /nodes/lab2/check"] = lambda _q, _b: (503, error("try_later", "no way to lab2", "roost nodes"))
    server.routes["POST /nodes/lab3/check"] = checked("lab3", GOOD, OPEN)
    server.routes["POST /nodes/lab10/check"] = checked("lab10", GOOD, {**OPEN, "hint": "look there"})
    found = roost("node", "check")
    assert (found.code, found.out.splitlines()) == (
        1,
        ["✗ lab2: 1 missing", "  ✗ check: no way to lab2", "    hint: roost nodes", "✓ lab3: good",
         "? lab10: 1 to look at", "  ? shared home: not known", "    hint: look there"],
    )  # fmt: skip
    assert [one["node"] for one in json.loads(roost("node", "check", "--json").out)["nodes"]] == ["lab2", "lab3", "lab10"]


def test_the_servers_own_machine_alone_has_nothing_to_check(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /nodes"] = {"version": 1, "nodes": [node("box", target=None)]}
    refused = roost("node", "check")
    assert refused.code == 2 and refused.err.splitlines()[1] == "hint: add one: roost node add lab3 ssh://root@10.0.0.3"


# Going


def test_removing_and_giving_up(roost: Roost, server: FakeServer) -> None:
    server.routes["DELETE /nodes/lab3"] = lambda query, _b: (
        (200, {"version": 1, "node": "lab3", "lost": [4, 5, 6]}) if query else (409, error("conflict", "lab3 has 3 jobs"))
    )
    server.routes["POST /nodes/lab3/lost"] = {"version": 1, "node": "lab3", "lost": [7]}
    server.routes["POST /nodes/lab4/lost"] = {"version": 1, "node": "lab4", "lost": []}
    assert roost("node", "rm", "lab3") == (1, "", "roost: lab3 has 3 jobs\n")
    assert roost("node", "rm", "lab3", "--force").out == "removed lab3; 3 jobs are lost: 4-6\n"
    assert roost("node", "remove", "-f", "lab3", "--json").out == '{"version":1,"node":"lab3","lost":[4,5,6]}\n'
    assert roost("node", "lost", "lab3").out == "lab3: 1 job is lost: 7\n"
    assert roost("node", "lost", "lab4").out == "lab4: it had no jobs\n"


# Logins


LOGIN = {"user": "ana", "node": "lab3", "target": "ssh://ana@10.0.0.3:2222", "key": None}


def test_a_login_of_ones_own_is_at_the_address_of_the_node(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /nodes/lab3"] = {"version": 1, "node": node("lab3", target="ssh://gpu@10.0.0.3:2222")}
    server.routes["GET /nodes/lab4"] = {"version": 1, "node": node("lab4", target="lab4-behind-the-gate")}
    server.routes["GET /nodes/box"] = {"version": 1, "node": node("box", target=None)}
    server.routes["GET /me"] = {"version": 1, "user": "ana"}
    for name in ("lab3", "lab4"):
        server.routes[f"PUT /nodes/{name}/login"] = lambda _q, body: (200, {"version": 1, "login": {**LOGIN, **body}})
    assert roost("node", "login", "lab3").code == roost("node", "login", "lab4", "--user", "bob").code == 0
    assert server.bodies("PUT /nodes/lab3/login") == [{"target": "ssh://ana@10.0.0.3:2222", "key": None, "user": None}]
    assert server.bodies("PUT /nodes/lab4/login") == [
        {"target": "ssh://bob@lab4-behind-the-gate", "key": None, "user": "bob"}
    ]
    assert roost("node", "login", "box").code == 2


def test_logins_are_set_listed_and_taken_back(roost: Roost, server: FakeServer) -> None:
    server.routes["PUT /nodes/lab3/login"] = {"version": 1, "login": {**LOGIN, "key": "/home/ana/.ssh/lab"}}
    server.routes["DELETE /nodes/lab3/login"] = {"version": 1, "login": LOGIN}
    server.routes["GET /logins"] = {"version": 1, "logins": [LOGIN, {**LOGIN, "user": "bob", "key": "/k"}]}
    assert roost("node", "login", "lab3", "ssh://ana@10.0.0.3:2222", "--key", "/home/ana/.ssh/lab").out == (
        "jobs of ana run on lab3 through ssh://ana@10.0.0.3:2222 with /home/ana/.ssh/lab\n"
    )
    assert roost("node", "login", "lab3", "--rm").out == (
        "removed: jobs of ana run on lab3 through ssh://ana@10.0.0.3:2222\n"
    )
    assert roost("node", "login").out.splitlines() == [
        "USER  NODE  TARGET                   KEY",
        "ana   lab3  ssh://ana@10.0.0.3:2222  -",
        "bob   lab3  ssh://ana@10.0.0.3:2222  /k",
    ]
    assert json.loads(roost("node", "login", "--user", "ana", "--json").out) == {"version": 1, "logins": [LOGIN]}
    assert roost("node", "login", "--rm").code == roost("node", "login", "lab3", "x", "--rm").code == 2


def test_several_nodes_are_removed_and_the_first_refusal_ends_it(roost: Roost, server: FakeServer) -> None:
    def gone(name: str) -> dict[str, Any]:
        return {"version": 1, "node": name, "lost": [7] if name == "lab2" else []}

    server.routes |= {f"DELETE /nodes/{name}": gone(name) for name in ("lab1", "lab2")}
    assert roost("node", "rm", "lab1", "lab2", "lab1") == (0, "removed lab1\nremoved lab2; 1 job is lost: 7\n", "")
    assert json.loads(roost("node", "rm", "--json", "lab1", "lab2").out)["nodes"] == [gone("lab1"), gone("lab2")]
    assert json.loads(roost("node", "rm", "--json", "lab1").out) == gone("lab1")
    server.routes["DELETE /nodes/lab2"] = lambda _q, _b: (409, error("conflict", "lab2 has jobs"))
    ran = roost("node", "rm", "lab1", "lab2", "lab3")
    assert (ran.code, ran.out) == (1, "removed lab1\n") and "lab2 has jobs" in ran.err
