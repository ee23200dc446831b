"""Whose word on the caller counts."""

from __future__ import annotations

import pytest

from roost.core.networks import address, networks
from roost.server.process.proxies import Client, client_of

TRUSTED = networks("10.0.0.0/8, 127.0.0.1, fd00::/8")


def headers(**fields: str) -> list[tuple[bytes, bytes]]:
    """`x_forwarded_for="…"` and the like."""
    return [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in fields.items()]


def seen(peer: str | None, forwarded: str) -> str | None:
    return client_of(peer, headers(x_forwarded_for=forwarded), TRUSTED).address


def test_a_stranger_is_not_believed_a_word() -> None:
    said = headers(host="roost.lab", x_forwarded_for="127.0.0.1", x_forwarded_proto="https", x_forwarded_host="bank.example")
    assert client_of("203.0.113.9", said, TRUSTED) == Client("203.0.113.9", None, "roost.lab")
    assert client_of("10.0.0.1", said, ()) == Client("10.0.0.1", None, "roost.lab")


def test_a_proxy_is_believed() -> None:
    said = headers(
        host="127.0.0.1:7667", x_forwarded_for="203.0.113.9", x_forwarded_proto="https", x_forwarded_host="roost.lab"
    )
    assert client_of("10.0.0.1", said, TRUSTED) == Client("203.0.113.9", "https", "roost.lab")


def test_without_its_headers_a_proxy_is_a_caller_of_its_own() -> None:
    assert client_of("127.0.0.1", headers(host="localhost"), TRUSTED) == Client("127.0.0.1", None, "localhost")


@pytest.mark.parametrize(
    ("forwarded", "meant"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("127.0.0.1, 203.0.113.9", "203.0.113.9"),  # the left one was written by the caller
        ("1.1.1.1, 203.0.113.9, 10.2.3.4", "203.0.113.9"),  # two proxies of ours in a row
        ("10.9.9.9, 10.2.3.4", "10.9.9.9"),  # a caller inside the trusted network
        ("2001:db8::7", "2001:db8::7"),
        ("[2001:db8::7]:4711", "2001:db8::7"),
        ("203.0.113.9:4711", "203.0.113.9"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("1.1.1.1, fd00::5", "1.1.1.1"),
        ('"[2001:db8::7]"', "2001:db8::7"),
    ],
)
def test_the_first_from_the_right_that_is_no_proxy_of_ours(forwarded: str, meant: str) -> None:
    assert seen("10.0.0.1", forwarded) == meant


@pytest.mark.parametrize(
    "garbage", ["", "unknown", "_hidden", "1.2.3", "203.0.113.9 evil", "<script>", "999.1.1.1", ",,", "é"]
)
def test_garbage_is_nobody_and_the_proxy_answers_for_it(garbage: str) -> None:
    assert seen("10.0.0.1", garbage) == "10.0.0.1"
    assert seen("10.0.0.1", f"{garbage}, 10.2.3.4") == "10.2.3.4"
    assert seen("10.0.0.1", f"1.1.1.1, {garbage}, 203.0.113.9") == "203.0.113.9"


def test_headers_that_are_repeated_are_one_list() -> None:
    said = [*headers(x_forwarded_for="6.6.6.6"), *headers(x_forwarded_for="203.0.113.9")]
    assert client_of("10.0.0.1", said, TRUSTED).address == "203.0.113.9"


@pytest.mark.parametrize("scheme", ["javascript", "", "httpss", "wss"])
def test_a_scheme_that_is_none_is_the_connection_s_own(scheme: str) -> None:
    assert client_of("10.0.0.1", headers(x_forwarded_proto=scheme), TRUSTED).scheme is None


def test_the_nearest_proxy_has_the_last_word() -> None:
    said = headers(host="a", x_forwarded_proto="https, http", x_forwarded_host="evil.example, roost.lab:8443")
    assert client_of("10.0.0.1", said, TRUSTED)[1:] == ("http", "roost.lab:8443")


@pytest.mark.parametrize("host", ["a b", "a/../b", "a\r\nX: y", "user@host", "", "[::1", "a:b", "x" * 300])
def test_a_host_that_is_none_is_not_taken(host: str) -> None:
    assert client_of("10.0.0.1", headers(host="roost.lab", x_forwarded_host=host), TRUSTED).host == "roost.lab"


def test_peers_without_an_address_and_of_ipv6() -> None:
    said = headers(x_forwarded_for="1.1.1.1")
    assert client_of(None, said, TRUSTED).address is None
    assert client_of("::ffff:10.0.0.1", said, TRUSTED).address == "1.1.1.1"
    assert client_of("fd00::1%eth0", said, TRUSTED).address == "1.1.1.1"
    assert client_of("2001:db8::1", said, TRUSTED).address == "2001:db8::1"


def test_networks_are_read_and_nonsense_is_named() -> None:
    assert list(map(str, networks(" 10.1.2.3/8,::1 ,"))) == ["10.0.0.0/8", "::1/128"]
    with pytest.raises(ValueError, match=r"lab\.example is not an address"):
        networks("10.0.0.0/8, lab.example")
    assert address("no address") is None
