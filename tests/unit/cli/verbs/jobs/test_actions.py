from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.cli.conftest import Roost
from tests.unit.client.fake_server import FakeServer, error

ACTIONS = "POST /jobs/actions"


@pytest.fixture(autouse=True)
def nothing_runs(server: FakeServer) -> None:
    server.routes["GET /jobs"] = {"jobs": [], "next": None}


def answers(server: FakeServer, done: list[int], skipped: list[dict[str, Any]] | None = None, **more: Any) -> None:
    server.routes[ACTIONS] = {"done": done, "skipped": skipped or [], **more}


@pytest.mark.parametrize(
    ("words", "body", "said"),
    [
        ("kill 12 15-20", {"action": "kill", "select": {"ids": "12,15-20"}}, "killed 1, 2"),
        ("kill --now @", {"action": "kill", "select": {"ids": "@"}, "grace_s": 0}, "killed 1, 2"),
        ("kill --grace 5s all", {"action": "kill", "select": {"ids": "all"}, "grace_s": 5}, "killed 1, 2"),
        ("kill --signal SIGUSR1 1", {"action": "kill", "select": {"ids": "1"}, "signal": "USR1"}, "sent SIGUSR1 to 1, 2"),
        ("kill --all", {"action": "kill", "select": {"all": True}}, "killed 1, 2"),
        ("kill --node lab3", {"action": "kill", "select": {"node": "lab3"}}, "killed 1, 2"),
        ("hold -l x", {"action": "hold", "select": {"labels": ["x"]}}, "held 1, 2"),
        ("release -s held -u bob", {"action": "release", "select": {"states": ["held"], "user": "bob"}}, "released 1, 2"),
        ("pause 1", {"action": "pause", "select": {"ids": "1"}}, "paused 1, 2"),
        ("resume 1", {"action": "resume", "select": {"ids": "1"}}, "resumed 1, 2"),
        ("rerun -s failed", {"action": "rerun", "select": {"states": ["failed"]}}, "queued again: 1, 2"),
        ("move 12 0", {"action": "move", "select": {"ids": "12"}, "position": 0}, "moved 1, 2"),
        ("move 12 -1", {"action": "move", "select": {"ids": "12"}, "position": -1}, "moved 1, 2"),
        ("start 12", {"action": "start", "select": {"ids": "12"}}, "started 1, 2"),
        ("start 12 --gpu-id 2", {"action": "start", "select": {"ids": "12"}, "gpu_ids": ["2"]}, "started 1, 2"),
        ("rm 1-3", {"action": "rm", "select": {"ids": "1-3"}}, "removed 1, 2"),
        ("clean", {"action": "rm", "select": {"states": ["ended"]}}, "removed 1, 2"),
        ("clean failed -l x", {"action": "rm", "select": {"states": ["failed"], "labels": ["x"]}}, "removed 1, 2"),
        (
            "edit 12 -p 5 -l a -t 4h --after 3 -- python x",
            {
                "action": "edit",
                "select": {"ids": "12"},
                "changes": {"labels": ["a"], "priority": 5, "time_limit_s": 14400, "after": [3], "command": ["python", "x"]},
            },
            "changed 1, 2",
        ),
    ],
)  # fmt: skip
def test_an_action_is_one_request_and_one_line(
    roost: Roost, server: FakeServer, words: str, body: dict[str, Any], said: str
) -> None:
    answers(server, [1, 2])
    assert roost(*words.split()) == (0, said + "\n", "")
    assert server.bodies(ACTIONS) == [body]


def test_clone_prints_the_new_ids(roost: Roost, server: FakeServer) -> None:
    answers(server, [12], ids=[40])
    assert roost("clone", "12", "--mem", "16G") == (0, "40\n", "")
    assert server.bodies(ACTIONS)[0]["changes"] == {"mem_mib": 16384, "mem_auto": False}


@pytest.mark.parametrize(
    ("words", "changes"),
    [
        ("--mem auto", {"mem_auto": True, "mem_mib": None}),
        ("--gpu-model A100|h100 --min-gpu-mem 40G", {"gpu_models": ["A100", "h100"], "min_gpu_mem_mib": 40960}),
        ("--node a,b --node b --prefer-node c", {"nodes": ["a", "b"], "prefer_nodes": ["c"]}),
        ("--gpu-model any --node any --min-gpu-mem any", {"gpu_models": [], "nodes": [], "min_gpu_mem_mib": None}),
    ],
)
def test_where_it_may_run_is_changed_and_taken_back(
    roost: Roost, server: FakeServer, words: str, changes: dict[str, Any]
) -> None:
    answers(server, [12])
    for verb in ("edit", "clone"):
        assert roost(verb, "12", *words.split()).code == 0
    assert [body["changes"] for body in server.bodies(ACTIONS)] == [changes, changes]


def test_a_variable_is_added_to_those_of_the_job(roost: Roost, server: FakeServer) -> None:
    answers(server, [12])
    server.routes["GET /jobs/12/env"] = {"env": {"PATH": "/bin", "LR": "1"}}
    roost("edit", "12", "--env", "LR=2")
    assert server.bodies(ACTIONS)[0]["changes"] == {"env": {"PATH": "/bin", "LR": "2"}}


def test_many_are_counted_and_written_as_ranges(roost: Roost, server: FakeServer) -> None:
    answers(server, [*range(1, 101), 105])
    assert roost("kill", "all").out == "killed 101 jobs: 1-100, 105\n"


def test_what_runs_is_still_ending_when_it_was_killed(roost: Roost, server: FakeServer) -> None:
    answers(server, [1, 2, 3])
    server.routes["GET /jobs"] = {"jobs": [{"id": 2}, {"id": 9}], "next": None}
    assert roost("kill", "1-3") == (0, "killed 1, 3\nending 2\n", "")
    assert server.queries("GET /jobs") == [{"state": "starting,running,paused,stopping,unknown", "limit": "1000"}]


def test_a_kill_that_was_taken_is_said_though_the_server_goes_away(roost: Roost, server: FakeServer) -> None:
    answers(server, [1])
    server.routes["GET /jobs"] = lambda _q, _b: (503, error("unavailable", "shutting down"))
    assert roost("kill", "1") == (0, "ending 1\n", "")


def test_kill_waits_when_it_is_to(roost: Roost, server: FakeServer) -> None:
    answers(server, [1, 2, 3, 7])
    server.routes["GET /jobs/wait"] = {"jobs": [{"id": 1, "state": "ended", "outcome": "killed", "exit_code": 143}]}
    assert roost("kill", "--wait", "1-3,7") == (0, "killed 1, 2, 3, 7\n", "")
    assert server.queries("GET /jobs/wait") == [{"ids": "1-3,7"}]
    assert roost("kill", "--wait", "--signal", "USR1", "1").code == 2


def test_what_a_node_hears_only_when_it_is_back_is_said_before_anything_else(roost: Roost, server: FakeServer) -> None:
    later = [{"id": 1, "node": "lab3"}, {"id": 2, "node": "lab3"}, {"id": 3, "node": "lab4"}]
    said = [f"roost: {who} is unreachable; this is done when it is back\n" for who in ("1, 2: lab3", "3: lab4")]
    server.routes[ACTIONS] = {"done": [1, 2, 3], "skipped": [], "later": later}
    server.routes["GET /jobs"] = {"jobs": [{"id": 1}, {"id": 2}, {"id": 3}], "next": None}
    server.routes["GET /jobs/wait"] = {"jobs": []}
    assert roost("kill", "1-3") == (0, "ending 1, 2, 3\n", "".join(said))
    assert roost("kill", "--wait", "1-3") == (0, "killed 1, 2, 3\n", "".join(said))
    assert roost("pause", "1-3") == (0, "paused 1, 2, 3\n", "".join(said))
    ran = roost("kill", "--json", "1-3")
    assert ran.err == "" and json.loads(ran.out)["later"] == later


CONFLICT = {"id": 3, "code": "conflict", "reason": "it has ended"}


@pytest.mark.parametrize(
    ("words", "done", "skipped", "code"),
    [
        ("kill 2,3", [2], [CONFLICT], 1),
        ("kill 2,9", [2], [{"id": 9, "code": "not_found", "reason": "no such job"}], 2),
        ("kill 3", [], [{"id": 3, "code": "not_permitted", "reason": "it is bob's"}], 77),
        ("kill all", [2], [CONFLICT], 0),
        ("kill -l x", [2], [CONFLICT], 0),
        ("kill -l x", [], [CONFLICT], 1),
    ],
)
def test_skipping_a_job_that_was_named_is_a_failure(
    roost: Roost, server: FakeServer, words: str, done: list[int], skipped: list[dict[str, Any]], code: int
) -> None:
    answers(server, done, skipped)
    ran = roost(*words.split())
    assert ran.code == code
    assert ran.out == ("killed 2\n" if done else "")
    assert ran.err == (f"roost: {skipped[0]['id']}: {skipped[0]['reason']}\n" if code else "")


def test_of_several_one_speaks_in_the_plural(roost: Roost, server: FakeServer) -> None:
    reason = {"code": "conflict", "reason": "it has already ended"}
    answers(server, [], [{"id": number, **reason} for number in range(1, 15)])
    assert roost("kill", "all") == (1, "", "roost: 14 jobs: 1-14: they have already ended\n")


def test_actions_as_json(roost: Roost, server: FakeServer) -> None:
    answers(server, [2], [CONFLICT])
    ran = roost("kill", "2,3", "--json")
    assert (ran.code, ran.err) == (1, "")
    assert json.loads(ran.out) == {"version": 1, "done": [2], "skipped": [CONFLICT]}


@pytest.mark.parametrize("verb", ["kill", "rm", "hold", "release", "pause", "resume", "rerun", "start"])
def test_saying_nothing_never_means_everything(roost: Roost, server: FakeServer, verb: str) -> None:
    ran = roost(verb)
    assert ran.code == 2
    assert ran.err.startswith("roost: no job given\nhint: ")
    assert server.asked == []


@pytest.mark.parametrize("words", ["kill x", "kill 5-1", "show 1.5", "edit 12", "clean runing", "move 12 first", "archive"])
def test_mistakes_are_found_here(roost: Roost, server: FakeServer, words: str) -> None:
    ran = roost(*words.split())
    assert (ran.code, ran.out) == (2, "")
    assert len(ran.err.splitlines()) <= 2
    assert server.asked == []


def test_nothing_to_clean_is_no_failure(roost: Roost, server: FakeServer) -> None:
    server.routes[ACTIONS] = lambda _q, _b: (404, error("not_found", "no such jobs"))
    assert roost("clean") == (0, "", "roost: nothing to remove\n")


def test_the_box(roost: Roost, server: FakeServer, tmp_path: Path) -> None:
    server.routes["POST /gpus/actions"] = {}
    server.routes["POST /drain"] = {}
    server.routes["POST /scheduler"] = {}
    server.routes["POST /archive"] = {"archived": 2, "path": str(tmp_path / "a")}
    server.routes["POST /backup"] = {}
    assert roost("gpu", "disable", "1,2", "3").out == "disabled GPU 1, 2, 3\n"
    assert roost("gpu", "set", "0", "--slots", "2").code == 0
    assert roost("gpu", "set", "0").code == 2
    assert roost("gpu", "enable", "0", "--slots", "2").code == 2
    assert roost("drain", "box:2").out == "drained box:2\n"
    assert roost("undrain", "box").out == "undrained box\n"
    assert roost("scheduler", "pause").out == "scheduling is paused\n"
    assert roost("gpu", "release", "0").out == "released GPU 0\n"
    assert roost("archive", "1-9", "--to", str(tmp_path / "a")).out == f"archived 2 jobs to {tmp_path}/a\n"
    assert roost("backup", str(tmp_path / "b")).out == f"backup written to {tmp_path}/b\n"
    assert [(name, body) for name, _, body in server.asked] == [
        ("POST /gpus/actions", {"action": "disable", "gpus": ["1", "2", "3"]}),
        ("POST /gpus/actions", {"action": "set", "gpus": ["0"], "slots": 2}),
        ("POST /drain", {"targets": ["box:2"], "undrain": False}),
        ("POST /drain", {"targets": ["box"], "undrain": True}),
        ("POST /scheduler", {"paused": True}),
        ("POST /gpus/actions", {"action": "release", "gpus": ["0"]}),
        ("POST /archive", {"path": f"{tmp_path}/a", "select": {"states": ["ended"], "ids": "1-9"}}),
        ("POST /backup", {"path": f"{tmp_path}/b"}),
    ]


@pytest.mark.parametrize(
    ("word", "value"), [("0.2", 0.2), ("3", 3), ("true", True), ("off", False), ("fifo", "fifo"), ("null", None)]
)
def test_settings_are_typed(roost: Roost, server: FakeServer, word: str, value: object) -> None:
    server.routes["PUT /settings"] = {}
    assert roost("set", "some.key", word).out == f"some.key = {word}\n"
    assert server.bodies("PUT /settings") == [{"some.key": value}]


SETTINGS = {"version": 1, "settings": [{"key": "ls.recent_h", "value": 12, "default": 24, "meaning": "hours of ended jobs"}]}


def test_settings_are_listed_and_shown(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /settings"] = SETTINGS
    assert roost("set").out.splitlines() == [
        "ls.recent_h = 12  (default 24)",
        "    hours of ended jobs",
    ]
    assert roost("set", "ls.recent_h").out == "12\n"
    assert roost("set", "nope").code == 2
    SETTINGS["settings"][0]["was"] = "ls.hours"  # type: ignore[index]
    assert roost("set", "ls.hours").err == "roost: ls.hours was renamed to ls.recent_h\nhint: roost set ls.recent_h\n"
    assert json.loads(roost("set", "--json").out) == SETTINGS


def test_a_simulated_gpu_is_broken_and_mended(roost: Roost, server: FakeServer, tmp_path: Path) -> None:
    server.routes["GET /status"] = {"nodes": [{"sim_dir": str(tmp_path)}], "gpus": {"total": 4}}
    assert roost("sim-gpu", "2", "--fault", "ECC error").out == "simulated GPU 2 fault: ECC error\n"
    assert (tmp_path / "fault-2").read_text() == "ECC error"
    roost("sim-gpu", "2", "--hang")
    assert {path.name for path in tmp_path.iterdir() if path.is_file()} == {"fault-2", "hang-2"}
    assert roost("sim-gpu", "2", "--ok").code == 0
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == []
    assert roost("sim-gpu", "2").code == 2
    assert roost("sim-gpu", "4", "--hang") == (2, "", "roost: there is no simulated GPU 4\nhint: list GPUs: roost gpus\n")


def test_real_gpus_are_not_broken(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /status"] = {"nodes": [{"sim_dir": None}]}
    assert roost("sim-gpu", "2", "--hang").err.startswith("roost: there are no simulated GPUs\n")
