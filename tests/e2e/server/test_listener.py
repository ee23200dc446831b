"""Where a server listens: several addresses, TLS, a renewed certificate, and what it says when it cannot."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import ssl
from collections.abc import Callable, Iterator
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any

import pytest
from tests.addresses import has_ipv6
from tests.box import Box, until
from tests.certificates import Pair, make

MakeBox = Callable[..., Box]


class Secured:
    """A server with a certificate, on both loopback addresses."""

    def __init__(self, box: Box, pair: Pair) -> None:
        self.box, self.pair = box, pair
        self.port = int(box.url.rpartition(":")[2])
        self.token = box.http("POST", "/tokens", {"label": "test"}).json["token"]

    def ask(self, host: str, trusted: Path, method: str, path: str, body: Any = None) -> Any:
        """What it answers to somebody who trusts that certificate and has a token."""
        context = ssl.create_default_context(cafile=str(trusted))
        headers = {"Authorization": f"Bearer {self.token}"}
        with contextlib.closing(HTTPSConnection(host, self.port, timeout=20, context=context)) as connection:
            connection.request(method, f"/api/v1{path}", None if body is None else json.dumps(body), headers)
            return json.loads(connection.getresponse().read())

    def status(self, host: str, trusted: Path) -> Any:
        """What it says of itself."""
        return self.ask(host, trusted, "GET", "/status")

    def env(self, host: str) -> dict[str, str]:
        """For a command line that goes over TLS."""
        return {"ROOST_SERVER": f"https://{host}:{self.port}", "ROOST_CA_FILE": str(self.pair.certificate)}


@pytest.fixture
def secured(new_box: MakeBox) -> Iterator[Secured]:
    if not has_ipv6():
        pytest.skip("NOT TESTED: TLS over IPv6; this machine has none")
    box = new_box()
    pair = make(box.work / "tls")
    box.up(
        "--sim",
        "2x8G",
        "--host",
        "127.0.0.1",
        "--host",
        "::1",
        "--tls-cert",
        str(pair.certificate),
        "--tls-key",
        str(pair.key),
    )
    yield Secured(box, pair)


def test_tls_by_ipv4_and_ipv6_and_the_socket_beside_it(secured: Secured) -> None:
    box = secured.box
    assert box.url == f"https://127.0.0.1:{secured.port}"
    for host in ("127.0.0.1", "::1", "localhost"):
        assert secured.status(host, secured.pair.certificate)["server_pid"] == box.server.pid
    job = {"command": ["echo", "over TLS"], "gpus": 0, "cwd": str(box.work)}
    (made,) = secured.ask("::1", secured.pair.certificate, "POST", "/jobs", {"jobs": [job]})["ids"]
    assert box.ends(made)["outcome"] == "succeeded"
    assert box.log(made) == "over TLS\n"
    for host in ("127.0.0.1", "[::1]", "localhost"):
        assert "log in first" in box.run("status", env=secured.env(host)).err  # it was reached, and nobody is known by TCP


def test_what_does_not_fit_is_explained(secured: Secured) -> None:
    box, port = secured.box, secured.port
    for words in (("status",), ("submit", "-g", "0", "true")):
        plain = box.refused(69, *words, env={"ROOST_SERVER": f"http://127.0.0.1:{port}"})
        assert plain == (
            f"roost: the server at http://127.0.0.1:{port} only speaks TLS\nhint: ROOST_SERVER=https://127.0.0.1:{port}\n"
        )
    unknown = box.refused(69, "status", env={"ROOST_SERVER": f"https://127.0.0.1:{port}"})
    assert "is not trusted: self-signed certificate\nhint: set ROOST_CA_FILE" in unknown
    with (
        contextlib.closing(HTTPConnection("127.0.0.1", port, timeout=20)) as connection,
        pytest.raises((HTTPException, OSError)),
    ):
        connection.request("GET", "/api/v1/status")
        connection.getresponse()
    assert "Traceback" not in (box.home / "server.log").read_text()


def test_a_renewed_certificate_needs_no_restart(secured: Secured) -> None:
    box, pair = secured.box, secured.pair
    server, old = box.server, box.work / "old.pem"
    shutil.copy(pair.certificate, old)
    make(box.work / "tls")
    assert secured.status("127.0.0.1", old)
    os.kill(server.pid, signal.SIGHUP)

    def is_new() -> bool:
        with contextlib.suppress(ssl.SSLCertVerificationError):
            return bool(secured.status("127.0.0.1", pair.certificate))
        return False

    until("the new certificate is shown", is_new)
    pair.key.write_text("nonsense")
    os.kill(server.pid, signal.SIGHUP)
    until("it says no", lambda: "could not reload the certificate" in (box.home / "server.log").read_text())
    assert is_new()
    assert box.server == server


def test_up_again_listens_as_before_and_off_ends_tls(secured: Secured) -> None:
    box = secured.box
    box.do("down")
    box.do("up", "--detach")
    assert box.url.startswith("https://127.0.0.1:")
    saved = json.loads((box.home / "up.json").read_text())
    assert saved["host"] == ["127.0.0.1", "::1"]
    assert saved["tls_key"] == str(secured.pair.key)
    box.do("down")
    box.do("up", "--detach", "--tls-cert", "off")
    assert box.url.startswith("http://127.0.0.1:")


def test_an_idle_connection_does_not_hold_it_up(secured: Secured) -> None:
    context = ssl.create_default_context(cafile=str(secured.pair.certificate))
    with (
        socket.create_connection(("127.0.0.1", secured.port)) as plain,
        context.wrap_socket(plain, server_hostname="localhost"),
        socket.create_connection(("::1", secured.port)),
    ):
        secured.box.do("down", timeout=30)  # one that is silent after the handshake, one that never began it
    assert secured.box.servers() == []


def test_what_cannot_be_had_is_one_line_and_is_not_kept(new_box: MakeBox, tmp_path: Path) -> None:
    box = new_box()
    said = box.refused(69, "up", "--detach", "--sim", "1x8G", "--host", "192.0.2.7")
    assert "192.0.2.7 is no address of this machine" in said
    assert box.run("up", "--host", "192.0.2.7", "--sim", "1x8G").err.splitlines()[1].startswith("hint: `ip address`")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ran = box.run("up", "--port", port, "--sim", "1x8G")
    assert (ran.code, ran.err.splitlines()[0]) == (1, f"roost: cannot listen on 127.0.0.1:{port}: the port is taken")
    ran = box.run("up", "--tls-cert", "none.pem", "--sim", "1x8G")
    assert (ran.code, len(ran.err.splitlines())) == (2, 2)
    assert ran.err.startswith(f"roost: cannot read {box.work}/none.pem: No such file")
    box.up()
    assert box.url.startswith("http://127.0.0.1:")


def test_others_in_the_clear_are_warned_of(new_box: MakeBox) -> None:
    box = new_box()
    ran = box.run("up", "--detach", "--sim", "1x8G", "--host", "0.0.0.0", *(("--host", "::") if has_ipv6() else ()))
    assert ran.code == 0
    assert ran.err.startswith("roost: warning: passwords and tokens travel in the clear: give --tls-cert")
    assert socket.gethostname() in box.url
    box.do("down")
    ran = box.run("up", "--detach", "--host", "127.0.0.1")
    assert "warning" not in ran.err
