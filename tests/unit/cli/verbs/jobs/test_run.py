from __future__ import annotations

import os
import signal
import threading
from base64 import b64encode
from typing import Any

import pytest
from tests.unit.cli.conftest import Roost
from tests.unit.client.fake_server import FakeServer, Stream, error

from roost.cli import main
from roost.cli.runtime import reconnect

FOLLOW = "GET /jobs/12/log/follow"


def out(data: bytes, stream: str = "out", **more: Any) -> dict[str, Any]:
    return {"stream": stream, "data": b64encode(data).decode(), **more}


def end(outcome: str = "succeeded", exit_code: int | None = 0) -> dict[str, Any]:
    return {"end": {"state": "ended", "outcome": outcome, "exit_code": exit_code}}


@pytest.fixture(autouse=True)
def taken(server: FakeServer) -> None:
    server.routes["POST /jobs"] = lambda _q, _b: (201, {"ids": [12]})
    server.routes["GET /jobs/12"] = {"id": 12, "error": "no such command: pyhton"}


def follows(server: FakeServer, *items: Any) -> None:
    server.routes[FOLLOW] = lambda _q, _b: (200, Stream(*items))


def test_output_goes_where_it_came_from_byte_for_byte(server: FakeServer, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    follows(server, out(b"a\xff\0\r\n"), out(b"oops", "err"), out(b"no newline"), end())
    assert main(["run", "x", "y"]) == 0
    assert capfdbinary.readouterr() == (b"a\xff\0\r\nno newline", b"oops")


@pytest.mark.parametrize(
    ("outcome", "exit_code", "code"),
    [
        ("succeeded", 0, 0),
        ("failed", 3, 3),
        ("failed", 139, 139),
        ("timed_out", 143, 124),
        ("cannot_start", None, 125),
        ("killed", 137, 137),
        ("killed", None, 143),
        ("out_of_memory", 1, 1),
        ("lost", None, 1),
    ],
)
def test_the_exit_code_is_the_jobs(roost: Roost, server: FakeServer, outcome: str, exit_code: int | None, code: int) -> None:
    follows(server, end(outcome, exit_code))
    assert roost("run", "x", "y").code == code


def test_what_the_exit_code_does_not_say_is_said(roost: Roost, server: FakeServer) -> None:
    follows(server, end("cannot_start", None))
    assert roost("run", "pyhton", "t.py") == (125, "", "roost: job 12 cannot start: no such command: pyhton\n")


def test_a_wait_that_lasts_says_why_once(roost: Roost, server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    said = threading.Event()
    monkeypatch.setattr("roost.cli.runtime.follower.Waiting.say", said_and(said))
    busy = {"state": "queued", "reasons": [{"code": "gpus_busy", "text": "needs 2 GPUs"}]}
    follows(server, busy, busy, lambda: said.wait(10), end())
    assert roost("run", "x", "y").err == "roost: job 12 is queued: needs 2 GPUs\n"


def test_of_several_reasons_the_first_is_said_and_where_the_rest_are(
    roost: Roost, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = threading.Event()
    monkeypatch.setattr("roost.cli.runtime.follower.Waiting.say", said_and(said))
    held = {"state": "held", "reasons": [{"text": "waiting for `roost release`"}, {"text": "needs 2 GPUs"}]}
    follows(server, held, lambda: said.wait(10), end())
    assert roost("run", "x", "y").err == "roost: job 12 is held: waiting for `roost release`; more: roost why 12\n"


def said_and(event: threading.Event) -> Any:
    from roost.cli.runtime.follower import Waiting

    before = Waiting.say

    def say(self: Waiting) -> None:
        before(self)
        event.set()

    return say


def test_a_short_wait_says_nothing(roost: Roost, server: FakeServer) -> None:
    follows(server, {"state": "queued", "reasons": [{"text": "needs 2 GPUs"}]}, {"state": "starting"}, out(b"x"), end())
    assert roost("run", "x", "y") == (0, "x", "")


def test_after_a_restart_of_the_server_it_goes_on_where_it_was(roost: Roost, server: FakeServer) -> None:
    answers = [Stream(out(b"one "), out(b"err", "err"), None), Stream(out(b"two"), end("failed", 4))]
    server.routes[FOLLOW] = lambda _q, _b: (200, answers.pop(0))
    assert roost("run", "x", "y") == (4, "one two", "err")
    assert server.queries(FOLLOW)[1] == {"offset_out": "4", "offset_err": "3"}


def test_offsets_and_attempts_of_the_server_are_believed(roost: Roost, server: FakeServer) -> None:
    answers = [Stream(out(b"abc", offset=103, attempt=2), None), Stream(end())]
    server.routes[FOLLOW] = lambda _q, _b: (200, answers.pop(0))
    roost("run", "x", "y")
    assert server.queries(FOLLOW)[1] == {"offset_out": "103", "from_attempt": "2"}


def test_the_output_of_a_further_attempt_is_read_from_its_beginning(roost: Roost, server: FakeServer) -> None:
    first = (out(b"abc", offset=3, attempt=1), out(b"oops", "err", offset=4, attempt=1), out(b"d", offset=1, attempt=2))
    answers = [Stream(*first, None), Stream(end())]
    server.routes[FOLLOW] = lambda _q, _b: (200, answers.pop(0))
    roost("run", "x", "y")
    assert server.queries(FOLLOW)[1] == {"offset_out": "1", "from_attempt": "2"}


def test_a_stream_that_was_silent_is_still_taken_from_its_end(roost: Roost, server: FakeServer) -> None:
    answers = [Stream(out(b"abc", offset=103), None), Stream(end())]
    server.routes[FOLLOW] = lambda _q, _b: (200, answers.pop(0))
    roost("log", "-f", "-n", "1", "12")
    assert server.queries(FOLLOW) == [{"lines": "1"}, {"offset_out": "103", "lines": "1"}]


def test_the_end_of_an_attempt_is_not_the_end_of_the_job(roost: Roost, server: FakeServer) -> None:
    unended = {"end": {"state": "stopping", "outcome": None, "exit_code": None}}
    answers = [Stream(out(b"x"), unended), Stream(out(b"y"), unended)]
    looks = [{"id": 12, "state": "stopping", "outcome": None, "exit_code": None}, {"id": 12, **end("failed", 6)["end"]}]
    server.routes[FOLLOW] = lambda _q, _b: (200, answers.pop(0))
    server.routes["GET /jobs/wait"] = lambda _q, _b: (200, {"jobs": [looks.pop(0)]})
    assert roost("run", "x", "y")[:2] == (6, "xy")


def test_a_server_that_stays_away_is_given_up(roost: Roost, server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconnect.persist, "__defaults__", (0.0,))
    server.routes[FOLLOW] = lambda _q, _b: (200, Stream(None))

    def gone(_q: Any, _b: Any) -> Any:
        threading.Thread(target=server.stop).start()
        return 200, Stream(None)

    server.routes[FOLLOW] = gone
    ran = roost("run", "x", "y")
    assert ran.code == 69
    assert "jobs continue without the server" in ran.err


def test_ctrl_c_asks_then_kills_then_leaves(roost: Roost, server: FakeServer) -> None:
    asked = [threading.Event(), threading.Event()]
    turn = iter(asked)

    def act(_q: Any, _b: Any) -> tuple[int, Any]:
        next(turn).set()
        return 200, {"done": [12], "skipped": []}

    server.routes["POST /jobs/actions"] = act

    def interrupt() -> None:
        os.kill(os.getpid(), signal.SIGINT)

    def hang() -> None:
        release.wait(10)

    release = threading.Event()
    follows(
        server,
        out(b"x"),
        interrupt,
        lambda: asked[0].wait(10),
        interrupt,
        lambda: asked[1].wait(10),
        interrupt,
        hang,
        end(),
    )
    ran = roost("run", "x", "y")
    release.set()
    assert ran.code == 130
    assert [line for line in ran.err.splitlines() if line] == [
        "roost: job 12: sent SIGTERM; press Ctrl-C again to send SIGKILL",
        "roost: job 12: sent SIGKILL",
        "roost: job 12 continues; follow it: roost log -f 12",
    ]
    assert server.bodies("POST /jobs/actions") == [
        {"action": "kill", "select": {"ids": "12"}},
        {"action": "kill", "select": {"ids": "12"}, "grace_s": 0},
    ]


def test_after_one_ctrl_c_it_follows_to_the_end(roost: Roost, server: FakeServer) -> None:
    asked = threading.Event()

    def act(_q: Any, _b: Any) -> tuple[int, Any]:
        asked.set()
        return 200, {"done": [12], "skipped": []}

    server.routes["POST /jobs/actions"] = act
    follows(server, lambda: os.kill(os.getpid(), signal.SIGINT), lambda: asked.wait(10), out(b"bye"), end("killed", 143))
    ran = roost("run", "x", "y")
    assert (ran.code, ran.out) == (143, "bye")
    assert ran.err.endswith("roost: job 12 killed: no such command: pyhton\n")


def test_the_signal_handlers_are_put_back(roost: Roost, server: FakeServer) -> None:
    before = signal.getsignal(signal.SIGINT)
    follows(server, end())
    roost("run", "x", "y")
    assert signal.getsignal(signal.SIGINT) is before


def test_log_follows_one_stream(roost: Roost, server: FakeServer) -> None:
    follows(server, out(b"out"), out(b"err", "err"), end("failed", 3))
    assert roost("log", "-f", "12", "--err", "-n", "5") == (0, "err", "")
    assert server.queries(FOLLOW) == [{"lines": "5"}]


def test_log_prints_both_streams(roost: Roost, server: FakeServer) -> None:
    texts = {"out": b"one\n", "err": b"two\n"}
    server.routes["GET /jobs/12/log"] = lambda query, _b: (
        200,
        texts[query["stream"]],
        {"Roost-Offset": "0", "Roost-Size": "4", "Roost-Dropped": "5-9" if query["stream"] == "err" else ""},
    )
    ran = roost("log", "12", "--attempt", "2")
    assert (ran.code, ran.out) == (0, "one\n")
    assert ran.err == "roost: bytes 5-9 were dropped because the log was too large\ntwo\n"
    assert server.queries("GET /jobs/12/log")[0] == {"stream": "out", "attempt": "2", "offset": "0"}


def test_log_of_the_last_job_and_of_the_server(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /jobs"] = {"jobs": [{"id": 12}]}
    server.routes["GET /jobs/12/log"] = lambda _q, _b: (200, b"hi\n", {"Roost-Offset": "0", "Roost-Size": "3"})
    server.routes["GET /log/server"] = lambda _q, _b: (200, b"started\n")
    assert roost("log", "--out").out == "hi\n"
    assert roost("log", "server", "-n", "3").out == "started\n"
    assert server.queries("GET /log/server") == [{"lines": "3"}]


def test_log_of_a_job_that_could_not_start(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /jobs/12/log"] = lambda _q, _b: (404, error("not_found", "no such run here: 12.1"))
    server.routes["GET /jobs/12"] = {"id": 12, "state": "ended", "outcome": "cannot_start", "started_at": None}
    assert roost("log", "12") == (0, "", "")
    server.routes["GET /jobs/12"] = {"id": 12, "state": "ended", "outcome": "lost", "started_at": "2026-11-15T11:00:00Z"}
    assert roost("log", "12") == (2, "", "roost: no such run here: 12.1\n")


def test_log_of_nobody(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /jobs/99/log"] = lambda _q, _b: (404, error("not_found", "no job 99"))
    assert roost("log", "99") == (2, "", "roost: no job 99\n")
