"""What may come over a link: each gets an answer or loses its link; the daemon and its runs never notice."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from tests.builders import in_english
from tests.integration.node.harness import SRC, Node, oldest_python

NONSENSE = [
    b"garbage\n",
    b"\xff\xfe\x00\n",
    b"[1,2,3]\n",
    b"null\n",
    b'{"op": 5}\n',
    b'{"op": "dance"}\n',
    b'{"op": "start"}\n',
    b'{"op": "start", "run": "../../etc", "spec": {}}\n',
    b'{"op": "stop", "run": 7}\n',
    b'{"op": "stop", "run": "1.1", "grace_ms": -5}\n',
    b'{"op": "stop", "run": "1.1", "grace_ms": "soon"}\n',
    b'{"op": "signal", "run": "1.1", "signal": "HELLO"}\n',
    b'{"op": "forget", "runs": "1.1"}\n',
    b'{"op": "read_log", "run": "1.1", "stream": "both"}\n',
    b'{"op": "follow", "run": "1.1"}\n',
    b'{"op": "configure", "sample_ms": []}\n',
    b"[" * 100_000 + b"\n",
]


@pytest.mark.parametrize("line", NONSENSE, ids=lambda line: line[:40].decode("latin-1").strip())
def test_a_line_of_nonsense_is_answered_with_an_error(node: Node, line: bytes) -> None:
    node.send_raw(line)
    assert node.expect("error")["message"]
    assert node.run("9.1", "true")["status"] == 0


def test_wrong_types_in_a_spec_are_refused(node: Node) -> None:
    wrong: list[tuple[str, object]] = [("cwd", 5), ("env", {"A": 1}), ("gpus", [1]), ("umask", "9"), ("time_limit_ms", -1)]
    wrong += [("warn_signal", "X"), ("open", "x"), ("log_max_bytes", 1.5)]
    for number, (key, value) in enumerate(wrong):
        node.send("start", run=f"{number}.1", spec={"argv": ["true"], key: value})
        assert node.expect("refused", run=f"{number}.1")["reason"]


def test_unknown_keys_are_ignored(node: Node) -> None:
    node.send_raw(b'{"op": "ping", "id": "x", "colour": "red"}\n')
    node.expect("pong", id="x")


def test_half_a_line_waits_for_its_other_half(node: Node) -> None:
    node.send_raw(b'{"op": "pi')
    node.send_raw(b'ng", "id": 3}\n{"op": "ping", "id": 4}\n')
    node.expect("pong", id=3)
    node.expect("pong", id=4)


def test_a_server_that_reads_nothing_gets_all_reports_later(node: Node) -> None:
    for number in range(300):
        node.start(f"{number}.1", "nosuch" + "x" * 1000)
    for number in range(300):
        assert node.exited(f"{number}.1")["why"] == "cannot_start"


def test_messages_are_plain_ascii_json(node: Node) -> None:
    node.start("1.1", "名字")
    end = node.exited("1.1")
    assert in_english(end["error"]) == "no such command: 名字 (not in PATH)"
    assert json.dumps(end)


def test_it_runs_on_the_oldest_python(make_node: Callable[..., Node]) -> None:
    if (python := oldest_python()) is None:
        pytest.skip("NOT TESTED, needs a Python 3.8: that the node program runs on the oldest one it promises")
    node = make_node("--sim", "1x24G", python=python)
    assert node.hello["python"].startswith("3.8.")
    uuid = node.hello["gpus"][0]["uuid"]
    sim_job = (python, "-m", "roost.node", "sim-job", "--seconds", "0.1", "--exit", "4")
    node.start("1.1", *sim_job, gpus=[uuid], env={"PYTHONPATH": str(SRC)})
    assert node.exited("1.1")["status"] == 4
    node.start("2.1", "sleep", "1000", time_limit_ms=300, warn_ms=100)
    node.started("2.1")
    node.kill_daemon()
    node.attach()
    node.messages += node.hello["runs"]
    assert node.exited("2.1")["why"] == "time"
    node.send("follow", id="f", run="2.1", stream="out", offset=0)
    node.expect("log_end", id="f")
