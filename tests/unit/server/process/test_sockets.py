"""Addresses and ports: several at once, and a clear word when one cannot be had."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.addresses import has_ipv6

from roost.server.process import sockets
from roost.server.process.sockets import CannotListen, is_everywhere, is_loopback, tcp_sockets, unix_socket


@contextlib.contextmanager
def listening(hosts: list[str], port: int | None = 0) -> Iterator[list[socket.socket]]:
    made = tcp_sockets(hosts, port)
    try:
        yield made
    finally:
        for each in made:
            each.close()


def names(made: list[socket.socket]) -> list[str]:
    return [each.getsockname()[0] for each in made]


needs_ipv6 = pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")


@needs_ipv6
def test_several_addresses_share_a_port() -> None:
    with listening(["127.0.0.1", "::1", "127.0.0.2"]) as made:
        assert names(made) == ["127.0.0.1", "::1", "127.0.0.2"]
        assert len({each.getsockname()[1] for each in made}) == 1


@needs_ipv6
def test_everywhere_by_ipv6_leaves_ipv4_to_be_asked_for() -> None:
    with listening(["::"]) as made:
        port = made[0].getsockname()[1]
        socket.create_connection(("::1", port)).close()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))
    with listening(["::", "0.0.0.0"]) as made:
        port = made[0].getsockname()[1]
        socket.create_connection(("::1", port)).close()
        socket.create_connection(("127.0.0.1", port)).close()


@needs_ipv6
def test_brackets_are_taken_off() -> None:
    with listening(["[::1]"]) as made:
        assert names(made) == ["::1"]


def test_a_name_and_the_same_address_twice() -> None:
    with listening(["localhost", "127.0.0.1", "127.0.0.1"]) as made:
        assert sorted(names(made)) in (["127.0.0.1"], ["127.0.0.1", "::1"])


def test_a_name_may_have_an_address_that_is_not_here(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(socket.AF_INET, ("192.0.2.7", 0)), (socket.AF_INET, ("127.0.0.1", 0))]
    monkeypatch.setattr(sockets, "_resolved", lambda _host, _port: found)
    with listening(["lab.example"]) as made:
        assert names(made) == ["127.0.0.1"]
    monkeypatch.setattr(sockets, "_resolved", lambda _host, _port: [found[0], (socket.AF_INET, ("192.0.2.8", 0))])
    with pytest.raises(CannotListen, match="is no address of this machine"):
        tcp_sockets(["lab.example"], 0)


def test_an_address_of_somebody_else() -> None:
    with pytest.raises(
        CannotListen, match=r"^cannot listen on 192\.0\.2\.7:\d+: 192\.0\.2\.7 is no address of this"
    ) as caught:
        tcp_sockets(["127.0.0.1", "192.0.2.7"], 0)
    assert "ip address" in caught.value.hint


def test_a_name_of_nobody() -> None:
    with pytest.raises(CannotListen, match=r"^cannot listen on no such host: "):
        tcp_sockets(["no such host"], 0)


def test_a_port_that_is_taken() -> None:
    with listening(["127.0.0.1"]) as made:
        port = made[0].getsockname()[1]
        with pytest.raises(CannotListen, match=rf"^cannot listen on 127\.0\.0\.1:{port}: the port is taken") as caught:
            tcp_sockets(["127.0.0.2", "127.0.0.1"], port)
        assert f"sport = :{port}" in caught.value.hint
        with listening(["127.0.0.2"], port):
            pass  # what was opened before the failure has been closed again


def test_without_a_port_another_one_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(["127.0.0.1"]) as made:
        monkeypatch.setattr(sockets, "DEFAULT_PORT", made[0].getsockname()[1])
        with listening(["127.0.0.2", "127.0.0.1"], None) as found:
            assert len({each.getsockname()[1] for each in found}) == 1


def test_a_port_that_is_root_s() -> None:
    least = int(Path("/proc/sys/net/ipv4/ip_unprivileged_port_start").read_text())
    explained = sockets._explained(PermissionError(errno.EACCES, "Permission denied"), ("::1", 443, 0, 0))
    assert str(explained) == "cannot listen on [::1]:443: ports this low are root's"
    assert least <= sockets.DEFAULT_PORT


def test_which_addresses_are_whose() -> None:
    assert [is_loopback(a) for a in ("127.3.2.1", "::1", "0.0.0.0", "::", "192.0.2.7", "fe80::1%eth0")] == [True] * 2 + [
        False
    ] * 4
    assert [is_everywhere(a) for a in ("0.0.0.0", "::", "127.0.0.1")] == [True, True, False]


@pytest.mark.parametrize(("for_all", "modes"), [(True, (0o755, 0o666)), (False, (0o700, 0o600))])
def test_a_socket_for_all_can_be_reached_by_all_whatever_the_servers_umask(
    tmp_path: Path, for_all: bool, modes: tuple[int, int]
) -> None:
    old = os.umask(0o077)
    try:
        path = tmp_path / "run" / "roost.sock"
        unix_socket(path, for_all=for_all).close()
    finally:
        os.umask(old)
    assert (path.parent.stat().st_mode & 0o777, path.stat().st_mode & 0o777) == modes
