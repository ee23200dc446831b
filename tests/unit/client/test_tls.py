"""https: the certificate is checked, and what does not fit is said with what to do."""

from __future__ import annotations

import contextlib
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.addresses import has_ipv6
from tests.certificates import Pair, make

from roost.client import tls
from roost.client.errors import ServerUnreachable
from roost.client.http import Connection

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@contextlib.contextmanager
def serving(pair: Pair | None, host: str = "127.0.0.1", connections: int = 1, answer: bytes = OK) -> Iterator[str]:
    """A server for so many connections, and any number of requests on each; its host and port."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.create_server((host, 0), family=family)
    listener.settimeout(20)

    def serve() -> None:
        for _ in range(connections):
            with contextlib.suppress(OSError):
                answer_one(listener, pair, answer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    port = listener.getsockname()[1]
    try:
        yield f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    finally:
        thread.join(20)
        listener.close()


def answer_one(listener: socket.socket, pair: Pair | None, answer: bytes) -> None:
    """One connection; hang up at once when there is nothing to answer."""
    plain, _ = listener.accept()
    with plain:
        plain.settimeout(20)
        connection: socket.socket = plain
        if pair is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(pair.certificate, pair.key)
            connection = context.wrap_socket(plain, server_side=True)
        with connection:
            while connection.recv(65536) and answer:
                connection.sendall(answer)


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return make(tmp_path)


def refusal(address: str) -> ServerUnreachable:
    with pytest.raises(ServerUnreachable) as caught:
        Connection(address).request("GET", "/")
    assert not caught.value.sent
    assert "\n" not in caught.value.message
    return caught.value


@pytest.mark.parametrize(
    "host", ["127.0.0.1", pytest.param("::1", marks=pytest.mark.skipif(not has_ipv6(), reason="no IPv6"))]
)
def test_requests_over_tls(pair: Pair, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOST_CA_FILE", str(pair.certificate))
    with serving(pair, host) as place:
        connection = Connection(f"https://{place}")
        for _ in range(3):
            assert connection.request("GET", "/x").read() == b"ok"
        connection.close()


def test_a_certificate_of_nobody_known(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROOST_CA_FILE", raising=False)
    with serving(pair) as place:
        error = refusal(f"https://{place}")
    assert error.message == f"the certificate of https://{place} is not trusted: self-signed certificate"
    assert error.hint == "set ROOST_CA_FILE to the CA or certificate that you trust"


def test_a_certificate_of_somebody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = make(tmp_path, "other", ("DNS:roost.lab",))
    monkeypatch.setenv("ROOST_CA_FILE", str(other.certificate))
    with serving(other) as place:
        error = refusal(f"https://{place}")
    assert "mismatch" in error.message
    assert error.hint == "use the name in its certificate: ROOST_SERVER=https://NAME:PORT"
    assert tls._hint("certificate has expired") == "ask its administrator to renew it"


def test_one_that_speaks_no_tls(tmp_path: Path) -> None:
    with serving(None) as place:
        error = refusal(f"https://{place}")
    assert error.message == f"the server at https://{place} does not speak TLS"
    assert error.hint == f"without TLS: ROOST_SERVER=http://{place}"


def test_one_that_wants_tls_is_found_out_and_has_taken_nothing(pair: Pair) -> None:
    with serving(pair, connections=2) as place:
        error = refusal(f"http://{place}")
    assert error.message == f"the server at http://{place} only speaks TLS"
    assert error.hint == f"ROOST_SERVER=https://{place}"


def test_one_that_hangs_up_and_speaks_no_tls_is_just_lost() -> None:
    with (
        serving(None, connections=2, answer=b"") as place,
        pytest.raises(ServerUnreachable, match="lost the connection") as caught,
    ):
        Connection(f"http://{place}").request("POST", "/", b"{}")
    assert caught.value.sent


def test_nobody_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert refusal(f"https://127.0.0.1:{port}").message.startswith(f"no server answers at https://127.0.0.1:{port}: ")


def test_an_authority_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOST_CA_FILE", "/no/such.pem")
    assert refusal("https://127.0.0.1:1").message == "cannot use ROOST_CA_FILE /no/such.pem: No such file or directory"
    (tmp_path / "empty.pem").write_text("nothing\n")
    monkeypatch.setenv("ROOST_CA_FILE", str(tmp_path / "empty.pem"))
    assert refusal("https://127.0.0.1:1").message.endswith("empty.pem: it contains no PEM certificate")


def test_who_speaks_no_tls_does_not_load_it() -> None:
    code = "import sys, roost.client.client, roost.client.http; sys.exit('ssl' in sys.modules)"
    source = str(Path(tls.__file__).parents[2])
    assert subprocess.run([sys.executable, "-S", "-c", code], env={"PYTHONPATH": source}, timeout=60).returncode == 0
