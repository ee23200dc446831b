"""Logs: by offset, by lines, as they grow, and bounded."""

from __future__ import annotations

import base64
from pathlib import Path

from tests.integration.node.harness import Node, wait_until


def test_ranges_and_last_lines(node: Node) -> None:
    node.run("1.1", "seq", "1", "1000")
    whole = b"".join(b"%d\n" % n for n in range(1, 1001))
    answer = node.log_answer("1.1", offset=5, limit=7)
    assert base64.b64decode(answer["data"]) == whole[5:12]
    assert (answer["offset"], answer["size"], answer["eof"]) == (5, len(whole), False)
    assert node.log("1.1", offset=-5) == b"1000\n"
    assert node.log("1.1", lines=2) == b"999\n1000\n"
    assert node.log("1.1", lines=5000) == whole
    assert node.log_answer("1.1", offset=10**9)["eof"] is True
    node.send("forget", runs=["1.1"])
    assert node.log("1.1") == whole
    node.send("read_log", id=5, run="77.1", stream="out", offset=0)
    assert node.expect("error", id=5)["message"] == "no such run here: 77.1"


def test_follow_sends_what_is_written_as_it_is_written_and_then_the_end(node: Node, tmp_path: Path) -> None:
    line = f"for n in 1 2 3; do echo line $n; until [ -e {tmp_path}/$n ]; do sleep 0.005; done; done; printf last"
    node.start("1.1", shell=line)
    node.started("1.1")
    node.send("follow", id="f", run="1.1", stream="out", offset=0)
    seen = b""
    for number in (1, 2, 3):
        while not seen.endswith(b"line %d\n" % number):
            seen += _data(node)
        (tmp_path / str(number)).touch()
    node.exited("1.1")
    node.expect("log_end", id="f")
    seen += b"".join(base64.b64decode(m["data"]) for m in node.messages if m["op"] == "log_data")
    assert seen == b"line 1\nline 2\nline 3\nlast"


def _data(node: Node) -> bytes:
    return base64.b64decode(node.expect("log_data", id="f")["data"])


def test_follow_of_an_ended_run_and_of_nothing(node: Node) -> None:
    node.run("1.1", "echo", "hi")
    node.send("follow", id="f", run="1.1", stream="out", offset=1)
    assert _data(node) == b"i\n"
    node.expect("log_end", id="f")
    node.send("follow", id="g", run="1.1", stream="err", offset=0)
    node.expect("log_end", id="g")
    node.send("unfollow", id="nobody")
    node.settle()


def test_a_follower_that_does_not_read_stalls_nobody(node: Node) -> None:
    node.start("1.1", "sh", "-c", "head -c 30000000 /dev/zero; echo end")
    node.send("follow", id="f", run="1.1", stream="out", offset=0)
    node.start("2.1", "true")
    trace = node.state / "active" / "2.1"
    wait_until(lambda: trace.exists() and trace.read_text().count("\n") == 4, "the second job ends, unread")
    total, behind = 0, 0
    while True:
        message = node.expect_where(lambda m: m["op"] in ("log_data", "log_end"))
        if message["op"] == "log_end":
            break
        assert message["offset"] == behind
        total += len(base64.b64decode(message["data"]))
        behind = total
    assert total == 30_000_004
    assert node.exited("1.1")["status"] == node.exited("2.1")["status"] == 0


def test_a_runaway_log_loses_its_middle_and_keeps_its_offsets(node: Node, tmp_path: Path) -> None:
    limit = 1 << 20
    line = f"seq -w 1 1000000; until [ -e {tmp_path}/go ]; do sleep 0.01; done; echo end"
    node.start("1.1", shell=line, log_max_bytes=limit)
    dropped = wait_until(lambda: node.log_answer("1.1", limit=0)["dropped"], "the middle goes")
    wait_until(lambda: node.log_answer("1.1", limit=0)["size"] == 8_000_000, "all is written")
    wait_until(lambda: _on_disk(node.path("1.1") / "out.log") <= limit, "the file is small again")
    (tmp_path / "go").touch()
    node.exited("1.1")
    answer = node.log_answer("1.1")
    first, behind = answer["dropped"]
    assert (first, answer["size"]) == (limit // 8, 8_000_004)
    assert behind >= dropped[1]
    assert base64.b64decode(answer["data"]) == b"".join(b"%07d\n" % n for n in range(1, first // 8 + 1))
    answer = node.log_answer("1.1", offset=first)
    assert answer["offset"] == behind
    assert base64.b64decode(answer["data"]).startswith(b"%07d\n" % (behind // 8 + 1))
    assert node.log("1.1", lines=2) == b"1000000\nend\n"


def test_what_was_written_all_at_once_is_bounded_before_its_end_is_told(node: Node) -> None:
    limit = 1 << 20
    for run, line in (("1.1", "seq -w 1 1000000"), ("2.1", "seq -w 1 1000000 >&2"), ("3.1", "seq -w 1 1000000; exit 3")):
        node.run(run, shell=line, log_max_bytes=limit)
        stream = "err" if run == "2.1" else "out"
        assert _on_disk(node.path(run) / f"{stream}.log") <= limit
        answer = node.log_answer(run, stream)
        assert (answer["dropped"][0], answer["size"]) == (limit // 8, 8_000_000)
        assert node.log(run, stream, lines=1) == b"1000000\n"


def test_a_log_whose_run_ended_without_a_node_program_is_bounded_by_the_next(node: Node, tmp_path: Path) -> None:
    limit, go = 1 << 20, tmp_path / "go"
    node.start("1.1", shell=f"until [ -e {go} ]; do sleep 0.01; done; seq -w 1 1000000", log_max_bytes=limit)
    node.started("1.1")
    node.kill_daemon()
    go.touch()
    trace = node.state / "active" / "1.1"
    wait_until(lambda: trace.read_text().count("\n") == 4, "it ends with nobody there")
    assert [run["op"] for run in node.attach()["runs"]] == ["exited"]
    assert _on_disk(node.path("1.1") / "out.log") <= limit


def _on_disk(path: Path) -> int:
    return path.stat().st_blocks * 512
