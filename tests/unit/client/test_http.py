from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.client.fake_server import FakeServer, Stream

from roost.client.errors import ServerUnreachable
from roost.client.http import Connection, target_of


def speaking(path: Path, *answers: bytes) -> tuple[str, Callable[[], None]]:
    """A raw server: one connection for each answer, closed after it. Gives its address and a way to wait for its end."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def serve() -> None:
        for answer in answers:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)
        listener.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    return str(path), lambda: thread.join(10)


def test_a_body_by_length_and_the_connection_is_kept(server: FakeServer) -> None:
    server.routes["GET /status"] = {"ok": True}
    connection = Connection(str(server.server_address))
    for _ in range(3):
        response = connection.request("GET", "/api/v1/status")
        assert (response.status, response.read()) == (200, b'{"ok": true}')
    connection.close()


def test_chunks_come_line_by_line(server: FakeServer) -> None:
    server.routes["GET /s"] = lambda _q, _b: (200, Stream(b'{"a"', b": 1}\n{", b'"b": 2}\nlast'))
    connection = Connection(str(server.server_address))
    response = connection.request("GET", "/api/v1/s")
    assert [response.line() for _ in range(4)] == [b'{"a": 1}', b'{"b": 2}', b"last", None]
    assert connection.request("GET", "/api/v1/s").read() == b'{"a": 1}\n{"b": 2}\nlast'
    connection.close()


def test_a_wait_that_runs_out_loses_nothing(server: FakeServer) -> None:
    go_on = threading.Event()
    server.routes["GET /s"] = lambda _q, _b: (200, Stream(b"half", go_on.wait, b" and half\n"))
    connection = Connection(str(server.server_address))
    response = connection.request("GET", "/api/v1/s")
    connection.wait_s(0.01)
    with pytest.raises(TimeoutError):
        response.line()
    go_on.set()
    connection.wait_s(10)
    assert response.line() == b"half and half"
    connection.close()


def test_without_a_length_the_body_ends_with_the_connection(tmp_path: Path) -> None:
    address, done = speaking(tmp_path / "s", b"HTTP/1.1 200 OK\r\n\r\nall of it")
    assert Connection(address).request("GET", "/").read() == b"all of it"
    done()


def test_a_body_cut_short_is_a_lost_server(tmp_path: Path) -> None:
    address, done = speaking(tmp_path / "s", b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort")
    with pytest.raises(ServerUnreachable, match="closed the connection"):
        Connection(address).request("GET", "/").read()
    done()


def test_what_is_not_http_is_said_so(tmp_path: Path) -> None:
    address, done = speaking(tmp_path / "s", b"SSH-2.0-OpenSSH\r\n\r\n")
    with pytest.raises(ServerUnreachable, match="does not speak HTTP"):
        Connection(address).request("GET", "/")
    done()


def test_nobody_there(tmp_path: Path) -> None:
    with pytest.raises(ServerUnreachable, match=r"no server answers at .*No such file") as caught:
        Connection(str(tmp_path / "none.sock")).request("POST", "/", b"{}")
    assert not caught.value.sent


def test_a_request_that_may_have_been_taken_is_not_sent_again(tmp_path: Path) -> None:
    address, done = speaking(tmp_path / "s", b"")
    with pytest.raises(ServerUnreachable) as caught:
        Connection(address).request("POST", "/", b"{}")
    assert caught.value.sent
    done()


def test_a_kept_connection_that_was_closed_is_opened_again(tmp_path: Path) -> None:
    ok = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    address, done = speaking(tmp_path / "s", ok, ok)
    connection = Connection(address)
    assert connection.request("GET", "/").read() == b"ok"
    assert connection.request("GET", "/").read() == b"ok"
    connection.close()
    done()


def test_a_slow_answer_has_an_end(server: FakeServer) -> None:
    hold = threading.Event()
    server.routes["GET /slow"] = lambda _q, _b: (hold.wait(30), (200, {}))[1]
    with pytest.raises(ServerUnreachable, match=r"no answer within 0\.05 s"):
        Connection(str(server.server_address), timeout_s=0.05).request("GET", "/api/v1/slow")
    hold.set()


def test_a_socket_with_a_long_path_is_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    monkeypatch.chdir(deep)
    server = FakeServer("roost.sock", {"GET /status": {"ok": True}})
    path = str(deep / "roost.sock")
    assert len(path) > 108
    before = len(os.listdir("/proc/self/fd"))
    connection = Connection(path)
    assert connection.request("GET", "/api/v1/status").read() == b'{"ok": true}'
    connection.close()
    assert len(os.listdir("/proc/self/fd")) <= before + 1  # the server's side may still be open
    server.stop()


def test_tcp_works_too() -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            seen.append(connection.recv(65536))
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    seen: list[bytes] = []
    thread = threading.Thread(target=serve)
    thread.start()
    port = listener.getsockname()[1]
    connection = Connection(f"http://127.0.0.1:{port}")
    assert connection.request("GET", "/x").read() == b"ok"
    thread.join()
    connection.close()
    listener.close()
    assert seen[0].startswith(f"GET /x HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n".encode())


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("ftp://x:1", "ftp:// is not understood"),
        ("http://x", "needs a port"),
        ("https://x:port", "needs a port"),
        ("http://:80", "needs a port"),
        ("https://x:99999", "needs a port"),
        ("http://::1:7667", "stands in brackets"),
    ],
)
def test_an_address_that_makes_no_sense(address: str, said: str) -> None:
    with pytest.raises(ServerUnreachable, match=said):
        Connection(address).request("GET", "/")


def test_addresses_that_do() -> None:
    assert target_of("http://127.0.0.1:80") == ("http", "127.0.0.1", 80)
    assert target_of("http://[::1]:7667/") == ("http", "::1", 7667)
    assert target_of("https://roost.lab") == ("https", "roost.lab", 443)
    assert target_of("https://[2001:db8::1]") == ("https", "2001:db8::1", 443)
