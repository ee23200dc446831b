"""Bytes that no honest client sends, to a real server over TCP: refused or cut, and the server goes on."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest
from tests.box import Box, until

PASSWORD = "heron lamp quiet 42"
WAIT_S = 15.0
SLOW_BODY = b"POST /api/v1/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n"


class Raw(NamedTuple):
    """A server's port, and a token of a user who is no administrator."""

    box: Box
    port: int
    token: str

    def open(self) -> socket.socket:
        """A connection."""
        return socket.create_connection(("127.0.0.1", self.port), WAIT_S)

    def say(self, data: bytes) -> bytes:
        """Send that; all that came back until the connection was closed, or was silent after an answer."""
        with self.open() as connection:
            got = b""
            with contextlib.suppress(ConnectionError):
                connection.sendall(data)
            try:
                while piece := connection.recv(65536):
                    got += piece
                    connection.settimeout(1)
            except ConnectionError:
                pass
            except TimeoutError:
                assert got, "neither answered nor cut"
            return got

    def head(self, line: str, *more: str, host: str = "Host: roost.test") -> bytes:
        """The head of a request of somebody known."""
        return "\r\n".join([line, host, f"Authorization: Bearer {self.token}", *more, "", ""]).encode("latin-1")

    def status(self, data: bytes) -> int:
        """The status of the answer; 0: cut without one."""
        got = self.say(data)
        return int(got.split(b" ", 2)[1]) if got.startswith(b"HTTP/") else 0

    @property
    def is_well(self) -> bool:
        """Whether the server answers an honest client; soon, when another test has just opened all that one user may."""
        request = self.head("GET /api/v1/me HTTP/1.1", "Connection: close")
        return until("an honest client is answered", lambda: self.status(request) == 200)

    @property
    def opens_a_stream(self) -> bool:
        """Whether the user may open one more stream; it is closed again, which the server may notice later."""
        with self.open() as one:
            one.sendall(self.head("GET /api/v1/events HTTP/1.1"))
            return b" 200 " in one.recv(200)


@pytest.fixture(scope="module")
def raw() -> Iterator[Raw]:
    box = Box()
    try:
        box.up()
        link = box.http("POST", "/users", {"names": ["ana"], "unix": "none"}).json["users"][0]["link"]
        code = link.rpartition("/")[2]
        assert box.http("POST", f"/link/{code}", {"password": PASSWORD}, tcp=True).status == 200
        asked = {"user": "ana", "password": PASSWORD, "token": "test"}
        token = box.http("POST", "/login", asked, tcp=True).json["token"]
        yield Raw(box, int(box.url.rpartition(":")[2]), token)
    finally:
        box.close()


def test_an_honest_client_is_answered(raw: Raw) -> None:
    assert raw.is_well


CUT = (0, 400)
SMUGGLED: dict[str, Callable[[Raw], bytes]] = {
    "length and chunks": lambda raw: (
        raw.head("POST /api/v1/jobs HTTP/1.1", "Content-Length: 6", "Transfer-Encoding: chunked") + b"0\r\n\r\nGET /x"
    ),
    "two lengths": lambda raw: raw.head("POST /api/v1/jobs HTTP/1.1", "Content-Length: 2", "Content-Length: 7") + b"{}GET /",
    "a length that is none": lambda raw: raw.head("POST /api/v1/jobs HTTP/1.1", "Content-Length: +2") + b"{}",
    "a length below zero": lambda raw: raw.head("POST /api/v1/jobs HTTP/1.1", "Content-Length: -1"),
    "a length beyond all": lambda raw: raw.head("POST /api/v1/jobs HTTP/1.1", f"Content-Length: {1 << 70}"),
    "an encoding that is none": lambda raw: (
        raw.head("POST /api/v1/jobs HTTP/1.1", "Transfer-Encoding: xchunked") + b"0\r\n\r\n"
    ),
    "chunked twice": lambda raw: (
        raw.head("POST /api/v1/jobs HTTP/1.1", "Transfer-Encoding: chunked, identity") + b"0\r\n\r\n"
    ),
    "a space before the colon": lambda raw: raw.head("GET /api/v1/me HTTP/1.1", "Transfer-Encoding : chunked"),
    "a folded header": lambda raw: raw.head("GET /api/v1/me HTTP/1.1", "X-A: b\r\n folded"),
    "a header that begins with a space": lambda raw: raw.head("GET /api/v1/me HTTP/1.1", " X-A: b"),
    "a NUL in a header": lambda raw: raw.head("GET /api/v1/me HTTP/1.1", "X-A: a\0b"),
    "a NUL in a name": lambda raw: raw.head("GET /api/v1/me HTTP/1.1", "X\0A: b"),
    "a bare carriage return": lambda raw: raw.head("GET /api/v1/me HTTP/1.1", "X-A: b\rX-B: c"),
    "a chunk size that is none": lambda raw: (
        raw.head("POST /api/v1/jobs HTTP/1.1", "Transfer-Encoding: chunked", "Content-Type: application/json")
        + b"zz\r\n{}\r\n"
    ),
    "a method that is none": lambda raw: raw.head("G3T /api/v1/me HTTP/1.1"),
    "a version that is none": lambda raw: raw.head("GET /api/v1/me HTTP/9.9"),
    "two hosts": lambda raw: raw.head("GET /api/v1/me HTTP/1.1", "Host: evil.example"),
    "no host": lambda raw: raw.head("GET /api/v1/me HTTP/1.1", host="X-A: b"),
    "a host that is none": lambda raw: raw.head("GET /api/v1/me HTTP/1.1", host="Host: a b/../"),
    "two tokens": lambda raw: raw.head("GET /api/v1/me HTTP/1.1", "Authorization: Bearer other"),
    "a control character in the path": lambda raw: raw.head("GET /api/v1/\x01me HTTP/1.1"),
    "TLS to a plain port": lambda raw: b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 200,
    "HTTP/2 without asking": lambda raw: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "nonsense": lambda raw: bytes(range(256)) * 20,
    "a tunnel": lambda raw: raw.head("CONNECT evil.example:443 HTTP/1.1"),
}


@pytest.mark.parametrize("trick", SMUGGLED)
def test_what_could_be_read_in_two_ways_is_not_read_at_all(raw: Raw, trick: str) -> None:
    answer = raw.say(SMUGGLED[trick](raw))
    status = int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/") else 0
    assert status in CUT, answer[:300]
    assert answer.count(b"HTTP/1.1") <= 1, "what was hidden in it was answered too"
    assert raw.is_well and not raw.box.http("GET", "/jobs").json["jobs"]


PATHS = {
    "/api/v1/../../etc/passwd": 404,
    "/api/v1/..%2f..%2fetc/passwd": 404,
    "/api/v1/jobs/..%2f..%2fstatus": 404,
    "/api/v1/jobs/%2e%2e/status": 404,
    "/api/v1/jobs%252f1": 404,
    "/api/v1/jobs;admin=true": 404,
    "/api/v1/me;x": 404,
    "/api/v1/me/": 404,
    "//api/v1/me": 404,
    "/API/v1/me": 404,
    "/api/v1/me%00": 404,
    "/api/v1/me%20": 404,
    "/api/v1/./me": 404,
    "/api//v1/me": 404,
    "/style/..%2f..%2f__init__.py": 404,
    "/style/%2e%2e/layout.py": 404,
    "/api/v1/jobs/%00": 400,
    "/api/v1/jobs/1%0d%0aX-A:b": 400,
    "/api/v1/users/..%2f..": 404,
    "/api/v1/log/server": 403,
    "/api/v1/log%2fserver": 403,
    "/api/v1/log/%73erver": 403,
    "http://evil.example/api/v1/log/server": 403,
    "/api%2fv1%2flog%2fserver": 403,
}


@pytest.mark.parametrize("path", PATHS)
def test_a_path_leads_to_its_route_or_nowhere(raw: Raw, path: str) -> None:
    answer = raw.say(raw.head(f"GET {path} HTTP/1.1", "Connection: close"))
    assert int(answer.split(b" ", 2)[1]) == PATHS[path], answer[:300]
    assert b"root:" not in answer and b"evil.example" not in answer.partition(b"\r\n\r\n")[0]


@pytest.mark.parametrize("path", PATHS)
def test_without_a_login_no_such_path_is_a_way_in(raw: Raw, path: str) -> None:
    answer = raw.say(f"GET {path} HTTP/1.1\r\nHost: roost.test\r\nConnection: close\r\n\r\n".encode("latin-1"))
    assert int(answer.split(b" ", 2)[1]) in (400, 401, 404)


def test_http_1_0_is_answered_once_and_closed(raw: Raw) -> None:
    request = f"GET /api/v1/me HTTP/1.0\r\nAuthorization: Bearer {raw.token}\r\n\r\n".encode()
    # An earlier test may have left so many requests open that the next one is refused for a moment.
    answer = until("it is let in", lambda: None if b" 429 " in (found := raw.say(request * 2))[:20] else found)
    assert answer.startswith(b"HTTP/1.1 200") and answer.count(b"HTTP/1.1 ") == 1


def test_requests_in_a_row_are_answered_in_order_each_as_its_own_caller(raw: Raw) -> None:
    known = raw.head("GET /api/v1/me HTTP/1.1")
    stranger = b"GET /api/v1/me HTTP/1.1\r\nHost: roost.test\r\n\r\n"
    last = raw.head("GET /api/v1/notice HTTP/1.1", "Connection: close")
    answer = raw.say(known + stranger + last)
    assert [part.split(b" ", 2)[0] for part in answer.split(b"HTTP/1.1 ")[1:]] == [b"200", b"401", b"200"]


@pytest.mark.parametrize("lines", [["X: " + "a" * 300_000], [f"X-{n}: {'a' * 900}" for n in range(300)]])
def test_an_endless_head_is_cut(raw: Raw, lines: list[str]) -> None:
    assert raw.status(raw.head("GET /api/v1/me HTTP/1.1", *lines)) in (0, 431)
    assert raw.is_well


def test_bodies_that_are_too_large_are_refused(raw: Raw) -> None:
    kind = "Content-Type: application/json"
    assert raw.status(raw.head("POST /api/v1/jobs HTTP/1.1", kind, f"Content-Length: {300 << 20}")) == 413
    stranger = f"POST /api/v1/login HTTP/1.1\r\nHost: roost.test\r\n{kind}\r\n".encode()
    assert raw.status(stranger + b"Content-Length: 70000\r\n\r\n" + b" " * 70_000) == 413
    chunks = b"4000\r\n" + b" " * 0x4000 + b"\r\n"
    assert raw.status(stranger + b"Transfer-Encoding: chunked\r\n\r\n" + chunks * 5 + b"0\r\n\r\n") == 413
    form = b"POST /login HTTP/1.1\r\nHost: roost.test\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    assert raw.status(form + b"Content-Length: 70000\r\n\r\n" + b"a" * 70_000) == 413
    assert raw.is_well


def test_no_websocket_is_spoken(raw: Raw) -> None:
    words = ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGVzdA==")
    assert raw.status(raw.head("GET /api/v1/events2 HTTP/1.1", *words)) in (0, 400, 404)
    assert raw.is_well


def test_two_thousand_idle_connections_stop_nobody(raw: Raw) -> None:
    idle: list[socket.socket] = []
    try:
        for n in range(2000):
            with contextlib.suppress(OSError):  # cut by the server, which is its right
                one = socket.create_connection(("127.0.0.1", raw.port), WAIT_S)
                idle.append(one)
                if n % 3 == 0:
                    one.sendall(SLOW_BODY)
                elif n % 3 == 1:
                    one.sendall(b"GET /login HTT")
        began = time.monotonic()
        assert raw.is_well and raw.box.http("GET", "/status").status == 200
        assert time.monotonic() - began < WAIT_S
    finally:
        for one in idle:
            one.close()
    assert raw.is_well


def test_one_user_does_not_take_every_request_there_is(raw: Raw) -> None:
    held: list[socket.socket] = []
    refused = 0
    try:
        for _ in range(270):
            one = raw.open()
            held.append(one)
            one.sendall(raw.head("GET /api/v1/events HTTP/1.1"))
            refused += b" 429 " in one.recv(200)
        assert 15 <= refused <= 25
        assert raw.box.http("GET", "/status").status == 200
    finally:
        for one in held:
            one.close()
    # The other tests of this user begin when the server has noticed all of them to be gone.
    assert until("they are let go of", lambda: all(raw.opens_a_stream for _ in range(50)))


def test_the_log_of_the_server_keeps_quiet_and_tells_no_secret(raw: Raw) -> None:
    for _ in range(20):
        raw.say(b"nonsense\r\n\r\n")
    raw.status(raw.head("GET /api/v1/me HTTP/1.1", "Connection: close"))
    log = (raw.box.home / "server.log").read_text()
    assert raw.token not in log and PASSWORD not in log
    assert "Invalid HTTP request" not in log and "Traceback" not in log


def test_what_was_tried_is_in_the_audit_without_the_password(raw: Raw) -> None:
    asked = {"user": "ana", "password": "not the right one"}
    assert raw.box.http("POST", "/login", asked, tcp=True).status == 401
    lines = json.dumps(raw.box.http("GET", "/audit").json)
    assert "login refused" in lines and "not the right one" not in lines and raw.token not in lines
