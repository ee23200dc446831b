"""What jobs say of themselves in the file that `ROOST_REPORT` names: told while they run, whole before their end, again to
every link; and whatever else a job puts in its place harms nobody."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.integration.node.harness import Message, Node, oldest_python, wait_until

WAIT = "until [ -e {flag} ]; do sleep 0.01; done"


@pytest.fixture
def flag(tmp_path: Path) -> Path:
    """What jobs wait for."""
    return tmp_path / "flag"


def told(node: Node, run: str) -> dict[str, Any]:
    """All that is said of a run before its end."""
    results: dict[str, Any] = {}
    while True:
        message = node.expect_where(lambda m: m["op"] in ("reported", "exited") and m["run"] == run)
        if message["op"] == "exited":
            return results
        results.update(message["results"])


def reported(node: Node, run: str) -> dict[str, Any]:
    """What comes next."""
    results: dict[str, Any] = node.expect("reported", run=run)["results"]
    return results


def err(node: Node, run: str) -> str:
    return node.log(run, "err").decode()


def test_an_empty_file_of_the_jobs_own_is_there_before_it_starts(node: Node) -> None:
    empty = node.run("1.1", shell='[ -f "$ROOST_REPORT" ] && [ ! -s "$ROOST_REPORT" ]')
    assert empty["status"] == 0
    found = (node.path("1.1") / "report").stat()
    assert stat.S_IMODE(found.st_mode) == 0o600 and found.st_uid == os.getuid()
    assert not [m for m in node.messages if m["op"] == "reported"]


def test_results_come_while_it_runs_and_only_what_is_new(node: Node, flag: Path) -> None:
    add = 'echo loss=0.5 epoch=1 >> "$ROOST_REPORT"; {wait}; echo loss=0.25 >> "$ROOST_REPORT"; sleep 600'
    node.start("1.1", shell=add.format(wait=WAIT.format(flag=flag)))
    assert reported(node, "1.1") == {"loss": 0.5, "epoch": 1}
    flag.touch()
    assert reported(node, "1.1") == {"loss": 0.25}


def test_what_is_said_last_is_told_before_the_end(node: Node) -> None:
    node.start("1.1", shell='echo loss=1 >> "$ROOST_REPORT"; echo "loss=2 note=it went well" >> "$ROOST_REPORT"')
    assert told(node, "1.1") == {"loss": 2, "note": "it went well"}
    node.start("2.1", shell='printf "loss=3" > "$ROOST_REPORT"; exit 4')
    assert told(node, "2.1") == {"loss": 3}  # also without an end of line


def test_a_file_that_is_written_anew_is_read_anew(node: Node, flag: Path) -> None:
    wait = WAIT.format(flag=flag)
    node.start("1.1", shell=f'echo loss=0.5 > "$ROOST_REPORT"; {wait}; echo loss=0.125 > "$ROOST_REPORT"; sleep 600')
    assert reported(node, "1.1") == {"loss": 0.5}
    flag.touch()
    assert reported(node, "1.1") == {"loss": 0.125}


def test_json_is_a_line_too(node: Node) -> None:
    lines = ['{"loss": 0.5, "note": "a=b c", "digits": "7"}', '{"bad": NaN}', "n=1e3 m=nan", "\u00e9=\u00fc"]
    node.start("1.1", "sh", "-c", 'printf "%s\\n" "$@" >> "$ROOST_REPORT"', "sh", *lines)
    wanted = {"loss": 0.5, "note": "a=b c", "digits": "7", "bad": "nan", "n": 1000.0, "m": "nan", "\u00e9": "\u00fc"}
    assert told(node, "1.1") == wanted


GARBAGE = [
    "no name here",
    "=3",
    "{not json}",
    "[1, 2]",
    '{"a": {"b": 1}, "t": true, "n": null}',
    '{"s": "\\ud800"}',
    "big=" + "9" * 30,
    '{"big": ' + "9" * 5000 + "}",
    "x" * 65 + "=1",
    "long=" + "y" * 201,
    '{"a": ' + "[" * 20_000,
    "esc=\x1b[2J",
]


def test_garbage_is_passed_over_and_said_once_where_the_user_looks(node: Node) -> None:
    data = "\n".join([*GARBAGE, "loss=1"]).encode() + b"\n\xff\xfe=\xff\nacc=2\n"
    (node.state.parent / "garbage").write_bytes(data)
    node.start("1.1", shell=f'echo mine >&2; cat {node.state.parent}/garbage >> "$ROOST_REPORT"')
    assert told(node, "1.1") == {"loss": 1, "acc": 2}
    assert err(node, "1.1") == "mine\nroost: ROOST_REPORT: expected NAME=VALUE: 'no name here'\n"
    node.settle()


def test_a_file_that_the_user_named_is_only_theirs(node: Node, tmp_path: Path) -> None:
    node.run("1.1", shell='echo mine >&2; echo garbage >> "$ROOST_REPORT"', stderr=str(tmp_path / "err"))
    assert (tmp_path / "err").read_text() == "mine\n"
    assert "run 1.1: ROOST_REPORT: expected NAME=VALUE: 'garbage'" in node.journal()


def test_so_many_names_and_no_more(node: Node) -> None:
    node.start("1.1", shell='for i in $(seq 100); do echo n$i=$i; done >> "$ROOST_REPORT"; echo n1=0 >> "$ROOST_REPORT"')
    assert told(node, "1.1") == {"n1": 0, **{f"n{i}": i for i in range(2, 65)}}
    assert "more than 64 names" in err(node, "1.1")


@pytest.mark.parametrize(
    "place",
    [
        'mkfifo "$ROOST_REPORT"',
        'ln -s /etc/passwd "$ROOST_REPORT"',
        'ln -s /dev/zero "$ROOST_REPORT"',
        'mkdir "$ROOST_REPORT"',
    ],
)
def test_what_is_no_plain_file_is_not_touched(node: Node, flag: Path, place: str) -> None:
    node.start(
        "1.1", shell=f'echo loss=1 >> "$ROOST_REPORT"; {WAIT.format(flag=flag)}; rm "$ROOST_REPORT"; {place}; sleep 600'
    )
    assert reported(node, "1.1") == {"loss": 1}
    flag.touch()
    wait_until(lambda: "it is no plain file any more" in err(node, "1.1"), "it was looked at")
    assert node.run("2.1", "true")["status"] == 0
    node.send("stop", run="1.1", grace_ms=0, why="kill")
    assert told(node, "1.1") == {}


def test_of_a_huge_file_the_end_is_read(node: Node) -> None:
    node.start("1.1", shell='truncate -s 10G "$ROOST_REPORT"; printf "\\nloss=1\\n" >> "$ROOST_REPORT"')
    assert told(node, "1.1") == {"loss": 1}
    node.start("2.1", shell='yes loss=0.5 | head -c 4500000 >> "$ROOST_REPORT"; echo loss=1 >> "$ROOST_REPORT"')
    assert told(node, "2.1") == {"loss": 1}
    node.start("3.1", shell='head -c 300000 /dev/zero >> "$ROOST_REPORT"; printf "loss=3\\nacc=4\\n" >> "$ROOST_REPORT"')
    assert told(node, "3.1") == {"acc": 4}  # the first line is not one


def test_a_new_link_hears_all_of_it_again(node: Node, flag: Path) -> None:
    node.start(
        "1.1", shell=f'echo loss=0.5 >> "$ROOST_REPORT"; {WAIT.format(flag=flag)}; echo acc=1 >> "$ROOST_REPORT"; sleep 600'
    )
    assert reported(node, "1.1") == {"loss": 0.5}
    flag.touch()
    assert reported(node, "1.1") == {"acc": 1}
    node.detach()
    node.attach()
    assert reported(node, "1.1") == {"loss": 0.5, "acc": 1}


@pytest.mark.parametrize("options", [(), ("--no-cgroup",)])
def test_after_kill_9_the_next_daemon_knows_all_of_it(
    make_node: Callable[..., Node], flag: Path, options: tuple[str, ...]
) -> None:
    node = make_node("--sim", "2x24G", *options)
    node.start("1.1", shell=f'echo loss=0.5 >> "$ROOST_REPORT"; {WAIT.format(flag=flag)}; echo acc=1 >> "$ROOST_REPORT"')
    assert reported(node, "1.1") == {"loss": 0.5}
    node.kill_daemon()
    node.attach()
    assert reported(node, "1.1") == {"loss": 0.5}
    flag.touch()
    assert told(node, "1.1") == {"acc": 1}


def test_of_one_that_ended_unseen_the_results_come_before_the_end(node: Node, flag: Path) -> None:
    """The `hello` names it as running: an end would leave nobody to tell the results of."""
    node.start("1.1", shell=f'{WAIT.format(flag=flag)}; echo loss=0.5 >> "$ROOST_REPORT"; exit 3')
    node.start("2.1", shell=f"{WAIT.format(flag=flag)}; exit 4")
    pid = node.started("1.1")["pid"]
    node.started("2.1")
    node.kill_daemon()
    flag.touch()
    traces = [node.state / "active" / run for run in ("1.1", "2.1")]
    wait_until(lambda: all(trace.read_text().count("\n") == 4 for trace in traces), "the wrappers note the status")
    for _ in range(2):
        known: dict[str, Message] = {run["run"]: run for run in node.attach()["runs"]}
        assert (known["1.1"]["op"], known["1.1"]["pid"]) == ("started", pid)
        assert (known["2.1"]["op"], known["2.1"]["status"]) == ("exited", 4)
        said = [node.expect_where(lambda m: m["op"] in ("reported", "exited")) for _ in range(2)]
        assert said[0] == {"op": "reported", "run": "1.1", "nonce": "", "results": {"loss": 0.5}}
        assert (said[1]["op"], said[1]["run"], said[1]["status"]) == ("exited", "1.1", 3)
        node.detach()
    node.attach()
    node.exited("1.1")
    node.send("forget", runs=["1.1", "2.1"])
    node.settle()
    node.detach()
    assert node.attach()["runs"] == []
    node.settle()
    assert not [m for m in node.messages if m["op"] == "reported"]


def test_a_run_that_an_older_program_started_has_no_file(make_node: Callable[..., Node], flag: Path) -> None:
    old = Path(__file__).parents[3] / "data" / "roost-node-0.1.0.pyz"
    node = make_node("--sim", "2x24G", program=[oldest_python() or "python3", "-I", str(old)])
    node.start("1.1", shell=f'echo "[$ROOST_REPORT]"; {WAIT.format(flag=flag)}; exit 6')
    node.started("1.1")
    node.detach()
    node.program = ["python3", "-m", "roost.node"]
    assert [run["run"] for run in node.attach()["runs"]] == ["1.1"]
    flag.touch()
    assert node.exited("1.1")["status"] == 6
    assert node.log("1.1") == b"[]\n"
