"""Whatever is thrown at the server: a clear answer, and nobody else is affected."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from typing import Any

import pytest
from tests.box import Box

JOB: dict[str, Any] = {"command": ["true"], "gpus": 0}
WAYS = pytest.mark.parametrize("tcp", [False, True], ids=["unix", "tcp"])


def well(box: Box) -> None:
    """The server still takes and runs jobs."""
    box.ends(box.submit("-g", 0, "true"), "succeeded")


@WAYS
@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"",
        b"\xff\xfe",
        b"null",
        b"[]",
        b'"text"',
        b'{"jobs": {}}',
        b'{"jobs": []}',
        b'{"jobs": [1]}',
        b'{"jobs": [{"command": 7}]}',
        b'{"jobs": [{"command": []}]}',
        b'{"jobs": [{"command": ""}]}',
        b'{"jobs": [{"command": ["true"], "gpus": "1"}]}',
        b'{"jobs": [{"command": ["true"], "gpus": -1}]}',
        b'{"jobs": [{"command": ["true"], "gpus": 1.5}]}',
        b'{"jobs": [{"command": ["true"], "gpus": 1e400}]}',
        b'{"jobs": [{"command": ["true"], "priority": 99999999999999999999}]}',
        b'{"jobs": [{"command": ["true"], "unknown": 1}]}',
        b'{"jobs": [{"command": ["true"], "cwd": "relative"}]}',
        b'{"jobs": [{"command": ["true"], "env": {"A=B": "c"}}]}',
        b'{"jobs": [{"command": ["true"], "env": 3}]}',
        b'{"jobs": [{"command": ["true"], "begin_at": "soon"}]}',
        b'{"jobs": [{"command": ["tr\\u0000ue"]}]}',
        b'{"jobs": [{"command": ["true"], "name": "a\\nb"}]}',
        b'{"jobs": [{"command": ["true"], "time_limit_s": 0}]}',
        b'{"jobs": [{"command": ["true"], "warn_signal": "NONE"}]}',
        b'{"jobs": [{"command": ["\\ud800"]}]}',
        b'{"jobs": ' + b"[" * 100_000,
    ],
)
def test_nonsense_is_answered_with_one_clear_line(box: Box, body: bytes, tcp: bool) -> None:
    answer = box.http("POST", "/jobs", body, tcp=tcp)
    assert (answer.status, answer.code) == (400, "bad_request"), answer
    message = answer.json["error"]["message"]
    assert message
    assert "\n" not in message
    assert box.http("GET", "/jobs?all=true").json["total"] == 0


def test_one_bad_job_among_many_is_named_and_none_is_queued(box: Box) -> None:
    answer = box.http("POST", "/jobs", {"jobs": [JOB, JOB, {**JOB, "gpus": 99}]})
    assert (answer.status, answer.code, answer.json["error"]["index"]) == (422, "impossible", 2)
    assert box.http("GET", "/jobs?all=true").json["total"] == 0


@WAYS
def test_a_command_of_ten_megabytes_is_refused(box: Box, tcp: bool) -> None:
    answer = box.http("POST", "/jobs", {"jobs": [{"command": ["echo", "x" * (10 << 20)], "gpus": 0}]}, tcp=tcp)
    assert (answer.status, answer.code) == (413, "too_large")
    assert "10,485,760" in answer.json["error"]["message"]
    answer = box.http("POST", "/jobs", {"jobs": [{"command": ["echo", *["x" * 1000] * 10_000], "gpus": 0}]}, tcp=tcp)
    assert (answer.status, answer.code) == (413, "too_large")
    well(box)


def test_a_long_command_that_the_kernel_takes_runs(box: Box) -> None:
    job = box.submit("-g", 0, "sh", "-c", "echo $#", "sh", *["x" * 100] * 10_000)
    box.ends(job, "succeeded")
    assert box.log(job) == "10000\n"


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/nothing", None, 404),
        ("GET", "/jobs/abc", None, 400),
        ("GET", "/jobs/99999999999999999999999", None, 404),
        ("GET", "/jobs/-1", None, 404),
        ("GET", "/jobs/99999999999999999999999/why", None, 404),
        ("GET", "/jobs/99999999999999999999999/log", None, 404),
        ("GET", "/jobs/99999999999999999999999/env", None, 404),
        ("POST", "/jobs", {"jobs": [{**JOB, "after": [10**25]}]}, (400, 422)),
        ("POST", "/jobs", {"jobs": [{**JOB, "after": [2**63]}]}, (400, 422)),
        ("POST", "/jobs", {"jobs": [{**JOB, "after": [-1]}]}, (400, 422)),
        ("POST", "/jobs", {"jobs": [{**JOB, "begin_at": "9999-12-31T23:59:59Z"}], "dry_run": True}, (200, 400)),
        ("POST", "/jobs", {"jobs": [{**JOB, "begin_at": "0001-01-01T00:00:00+14:00"}], "dry_run": True}, (200, 400)),
        ("GET", "/jobs/4711", None, 404),
        ("GET", "/jobs?limit=0", None, 400),
        ("GET", "/jobs?limit=x", None, 400),
        ("GET", "/jobs?ids=5-1", None, 400),
        ("GET", "/jobs?state=flying", None, 400),
        ("GET", "/jobs?cursor=rubbish", None, 400),
        ("GET", "/jobs?label=%00", None, (200, 400)),
        ("GET", "/jobs/wait?ids=4711", None, 404),
        ("GET", "/jobs/1/log?offset=x", None, (400, 404)),
        ("DELETE", "/jobs", None, 405),
        ("POST", "/jobs/actions", {"action": "explode", "select": {"all": True}}, 400),
        ("POST", "/jobs/actions", {"action": "kill", "select": {}}, 400),
        ("POST", "/jobs/actions", {"action": "kill", "select": {"ids": "4711"}}, 404),
        ("POST", "/jobs/actions", {"action": "kill", "select": {"ids": "99999999999999999999"}}, (400, 404)),
        ("POST", "/jobs/actions", {"action": "kill", "select": {"all": True}, "grace_s": -1}, 400),
        ("POST", "/jobs/actions", {"action": "move", "select": {"ids": "@"}, "position": 10**30}, (400, 404)),
        ("POST", "/jobs/actions", {"action": "kill", "select": {"all": True}, "signal": "; rm"}, 400),
        ("PUT", "/settings", {"no.such": 1}, 400),
        ("PUT", "/settings", {"cpu.slots": "many"}, 400),
        ("PUT", "/settings", {"cpu.slots": 10**30}, 400),
        ("POST", "/gpus/actions", {"action": "set", "gpus": ["0"], "slots": 0}, 400),
        ("POST", "/gpus/actions", {"action": "set", "gpus": ["77"], "slots": 1}, 404),
        ("POST", "/drain", {"targets": ["nobody"]}, 404),
        ("POST", "/scheduler", {"paused": "perhaps"}, 400),
    ],
)
def test_wrong_requests_have_one_shape_of_error(box: Box, method: str, path: str, body: Any, status: Any) -> None:
    answer = box.http(method, path, body)
    assert answer.status in (status if isinstance(status, tuple) else (status,)), answer
    if answer.status >= 400:
        error = answer.json["error"]
        assert set(error) >= {"code", "message", "hint"}
        assert error["message"]
        assert "\n" not in error["message"]


def test_what_is_not_http_at_all_is_survived(box: Box) -> None:
    host, _, port = box.url.removeprefix("http://").rpartition(":")
    for data in (
        b"\x00" * 1000,
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /api/v1/jobs HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n{",
    ):
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            connection.sendall(data)
    well(box)


def test_a_nul_byte_and_bytes_that_are_no_text_on_the_command_line(box: Box) -> None:
    said = box.refused(2, "submit", "--from", "-", text='{"command": ["a\\u0000b"]}\n')
    assert "NUL" in said
    said = box.refused(2, "submit", os.fsdecode(b"echo \xff"), "x")
    assert "UTF-8" in said
    script = box.file("nul.sh")
    script.write_bytes(b"#!/bin/sh\necho a\0b\n")
    ran = box.run("submit", "./nul.sh", "argument")
    assert ran.code in (0, 2), ran


def test_names_in_chinese(box: Box) -> None:
    folder = box.work / "home" / "数据"
    folder.mkdir(exist_ok=True)
    words = ("--name", "训练一号", "-l", "标签", "--desc", "说明", "-C", str(folder), "-o", "输出-%x.txt")
    job = box.submit(*words, "echo 你好 $ROOST_JOB_NAME")
    found = box.ends(job, "succeeded")
    assert (found["name"], found["labels"]) == ("训练一号", ["标签"])
    assert (folder / "输出-训练一号.txt").read_text() == "你好 训练一号\n"
    assert box.log(job) == "你好 训练一号\n"
    assert "训练一号" in box.do("ls")
    assert [j["id"] for j in box.json("ls", "--label", "标签")["jobs"]] == [job]
    shutil.rmtree(folder)


# Who may speak


@pytest.mark.parametrize("header", [{"Origin": "https://evil.example"}, {"Origin": "null"}])
def test_a_page_of_somebody_elses_in_a_browser_is_refused(box: Box, header: dict[str, str]) -> None:
    answer = box.http("POST", "/jobs", {"jobs": [JOB]}, tcp=True, **header)
    assert (answer.status, answer.code) == (403, "not_permitted")
    assert box.http("GET", "/jobs?all=true").json["total"] == 0


@pytest.mark.parametrize("header", [{}, {"Host": "evil.example"}, {"Origin": "https://evil.example"}])
def test_over_tcp_nobody_is_known_without_a_secret(box: Box, header: dict[str, str]) -> None:
    for path in ("/jobs", "/status", "/gpus", "/users"):
        answer = box.http("GET", path, tcp=True, Authorization="", **header)
        assert (answer.status, answer.code) == (401, "not_known")


def test_a_form_of_a_browser_is_refused(box: Box) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Origin": "http://evil.example", "Content-Type": "text/plain"}
    answer = box.http("POST", "/jobs", {"jobs": [JOB]}, tcp=True, **headers)
    assert answer.status == 403


def test_the_same_origin_is_let_in(box: Box) -> None:
    for method, path, body in (("GET", "/status", None), ("POST", "/scheduler", {"paused": False})):
        assert box.http(method, path, body, tcp=True, Origin=box.url).status == 200


# What it needs is loaded before it becomes somebody else, who may not be able to read any of it.
ASK = """
import encodings.idna, os, sys, urllib.error, urllib.request
opener = urllib.request.build_opener()
uid = int(sys.argv[2])
if uid != os.getuid():
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
try:
    print(opener.open(sys.argv[1], timeout=30).status)
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
"""


def test_another_user_is_refused(box: Box) -> None:
    """Over TCP the kernel's word counts for nobody, not even for who runs the server. Only root can try it as another."""
    url = f"{box.url}/api/v1/status"

    def ask(uid: int) -> str:
        command = [sys.executable, "-I", "-c", ASK, url, str(uid)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd="/")
        return done.stdout + done.stderr

    for uid in {os.getuid(), 65534} if os.getuid() == 0 else {os.getuid()}:
        assert ask(uid).startswith("401 ") and "not_known" in ask(uid)
    assert box.home.stat().st_mode & 0o766 == 0o700  # under root others pass through to what is theirs
