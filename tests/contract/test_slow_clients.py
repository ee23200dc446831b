"""Clients that are slow, endless or many, over real TCP connections to a server in this process, with short patience."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator
from typing import ClassVar, NamedTuple

import pytest
import uvicorn
from tests.contract.browser import add_user
from tests.contract.conftest import Api

from roost.api.app import Application
from roost.api.edge import request_limits
from roost.api.edge.connection_limits import Connections
from roost.api.edge.peer_credentials import PeerProtocol
from roost.api.edge.request_body import BodyTimeouts
from roost.api.edge.request_limits import SEATS

SOON_S, LONG_S = 0.3, 15.0


class Hasty(PeerProtocol):
    """The same with little patience and few seats."""

    head_s: ClassVar[float] = SOON_S
    linger_s: ClassVar[float] = SOON_S
    admitted: ClassVar[Connections] = Connections(12)


class Tcp(NamedTuple):
    """Where it listens, and a token of somebody known."""

    port: int
    token: str

    async def open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A connection."""
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def say(self, data: bytes) -> tuple[bytes, float]:
        """Send that and nothing more: everything that came until the connection was closed, and how long it took."""
        reader, writer = await self.open()
        began = time.monotonic()
        writer.write(data)
        with contextlib.suppress(ConnectionError):
            answer = await asyncio.wait_for(reader.read(), LONG_S)
        writer.close()
        return answer, time.monotonic() - began

    def head(self, method: str, path: str, *lines: str, known: bool = True) -> bytes:
        """The head of a request."""
        who = [f"Authorization: Bearer {self.token}"] if known else []
        return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: roost.test", *who, *lines, "", ""]).encode()


@pytest.fixture
async def tcp(api: Api) -> AsyncIterator[Tcp]:
    await add_user(api, "ana")
    people = api.server.people
    _, session = await people.new_session("ana", "", "test")
    caller = people.by_session(session, "")
    assert caller is not None
    _, token = await people.new_token(caller, "test", None)
    app = Application(api.server, patience=BodyTimeouts(piece_s=SOON_S, body_s=3 * SOON_S, unknown_s=SOON_S))
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(app, http=Hasty, log_config=None, access_log=False, lifespan="off", timeout_keep_alive=2)
    server = uvicorn.Server(config)
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started:
        await asyncio.sleep(0.005)
    yield Tcp(listening.getsockname()[1], token)
    server.should_exit = True
    server.force_exit = True
    await serving


async def test_a_head_that_does_not_come_ends_the_connection(tcp: Tcp) -> None:
    for begun in (b"", b"GET /log", b"GET /login HTTP/1.1\r\nHost: ro", b"\r\n\r\n\r\n"):
        answer, took = await tcp.say(begun)
        assert answer == b"" and took < LONG_S


async def test_a_head_that_drips_ends_the_connection(tcp: Tcp) -> None:
    reader, writer = await tcp.open()
    began = time.monotonic()
    writer.write(b"GET /")
    with contextlib.suppress(ConnectionError):
        while not reader.at_eof() and time.monotonic() - began < LONG_S:
            writer.write(b"a")
            await asyncio.wait_for(writer.drain(), 5)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(reader.read(1), 0.05)
    assert time.monotonic() - began < LONG_S
    writer.close()


async def test_empty_lines_do_not_hold_the_door_after_an_answer(tcp: Tcp) -> None:
    answer, took = await tcp.say(tcp.head("GET", "/api/v1/me") + b"\r\n")
    assert answer.startswith(b"HTTP/1.1 200") and took < LONG_S
    reader, writer = await tcp.open()
    writer.write(tcp.head("GET", "/api/v1/me"))
    await reader.readuntil(b"}")
    writer.write(b"\r\n")
    await asyncio.wait_for(reader.read(), LONG_S)
    writer.close()


@pytest.mark.parametrize("known", [True, False])
async def test_a_body_that_does_not_come_is_not_waited_for(tcp: Tcp, known: bool) -> None:
    head = tcp.head("POST", "/api/v1/login", "Content-Type: application/json", "Content-Length: 100", known=known)
    answer, took = await tcp.say(head + b'{"user":')
    assert answer.startswith(b"HTTP/1.1 503") and b"too slowly" in answer and took < LONG_S


async def test_a_body_that_drips_is_not_waited_for(tcp: Tcp) -> None:
    reader, writer = await tcp.open()
    writer.write(tcp.head("PUT", "/api/v1/defaults", "Content-Type: application/json", "Content-Length: 100000"))
    began = time.monotonic()
    got = b""
    with contextlib.suppress(ConnectionError):
        while not reader.at_eof() and time.monotonic() - began < LONG_S:
            writer.write(b" ")
            await writer.drain()
            with contextlib.suppress(TimeoutError):
                got += await asyncio.wait_for(reader.read(1000), 0.05)
    assert got.startswith(b"HTTP/1.1 503") and time.monotonic() - began < LONG_S
    writer.close()


async def test_a_body_that_nobody_reads_does_not_hold_the_door(tcp: Tcp) -> None:
    head = tcp.head("GET", "/api/v1/me", "Content-Length: 1000000")
    answer, took = await tcp.say(head + b"x")
    assert answer.startswith(b"HTTP/1.1 200") and took < LONG_S
    chunked = tcp.head("POST", "/api/v1/nothing", "Transfer-Encoding: chunked", "Content-Type: application/json")
    answer, took = await tcp.say(chunked + b"5\r\nhe")
    assert answer.startswith(b"HTTP/1.1 404") and took < LONG_S


@pytest.mark.parametrize(("known", "size"), [(True, 257 << 20), (False, 65 << 10)])
async def test_a_body_that_is_declared_too_large_is_refused_before_it_comes(tcp: Tcp, known: bool, size: int) -> None:
    path = "/api/v1/jobs" if known else "/api/v1/login"
    head = tcp.head("POST", path, "Content-Type: application/json", f"Content-Length: {size}", known=known)
    answer, _ = await tcp.say(head)
    assert answer.startswith(b"HTTP/1.1 413")


async def test_a_body_of_a_stranger_that_grows_too_large_is_refused(tcp: Tcp) -> None:
    head = tcp.head("POST", "/api/v1/login", "Content-Type: application/json", "Transfer-Encoding: chunked", known=False)
    answer, _ = await tcp.say(head + b"8000\r\n" + b" " * 0x8000 + b"\r\n" + b"8000\r\n" + b" " * 0x8000 + b"\r\n1\r\n \r\n")
    assert answer.startswith(b"HTTP/1.1 413")


async def test_a_head_that_is_endless_is_cut(tcp: Tcp) -> None:
    for lines in ([f"X-{n}: {'a' * 1000}" for n in range(200)], ["X-Long: " + "a" * 200_000], []):
        path = "/api/v1/me" if lines else "/" + "a" * 200_000
        answer, _ = await tcp.say(tcp.head("GET", path, *lines)[:-4])
        assert answer == b"" or answer.startswith(b"HTTP/1.1 431")


async def test_idle_connections_make_room_for_who_works(tcp: Tcp) -> None:
    idle = [await tcp.open() for _ in range(40)]
    for _ in range(5):
        reader, writer = await tcp.open()
        writer.write(tcp.head("GET", "/api/v1/me", "Connection: close"))
        assert (await asyncio.wait_for(reader.read(), LONG_S)).startswith(b"HTTP/1.1 200")
        writer.close()
    for _, writer in idle:
        writer.close()


async def test_unfinished_bodies_of_strangers_make_room_and_known_clients_stay_connected(tcp: Tcp) -> None:
    waiting_reader, waiting = await tcp.open()
    waiting.write(tcp.head("GET", "/api/v1/events"))
    await asyncio.wait_for(waiting_reader.readuntil(b": roost\n\n"), LONG_S)
    head = tcp.head("POST", "/api/v1/login", "Content-Type: application/json", "Content-Length: 99", known=False)
    slow = []
    for _ in range(40):
        slow.append(await tcp.open())
        slow[-1][1].write(head)
    reader, writer = await tcp.open()
    writer.write(tcp.head("GET", "/api/v1/me", "Connection: close"))
    assert (await asyncio.wait_for(reader.read(), LONG_S)).startswith(b"HTTP/1.1 200")
    assert not waiting_reader.at_eof()
    for _, one in [*slow, (reader, writer), (waiting_reader, waiting)]:
        one.close()


@pytest.mark.parametrize("path", ["/jobs/{job}/log/follow", "/jobs/wait?ids={job}", "/events", "/live"])
async def test_requests_that_wait_let_others_work(api: Api, tcp: Tcp, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    """A thousand who followed a log began twenty a second, and their user's other requests after them."""
    monkeypatch.setattr(request_limits, "HOLD_S", 600.0)
    await api.server.people.change(api.server.people.itself.who, "ana", is_admin=True)
    job = await api.submit(hold=True)
    waiting = [await tcp.open() for _ in range(SEATS[True] + 3)]
    for _, writer in waiting:
        writer.write(tcp.head("GET", f"/api/v1{path.format(job=job)}"))
    answer, _ = await tcp.say(tcp.head("GET", "/api/v1/me", "Connection: close"))
    for _, writer in waiting:
        writer.close()
    assert answer.startswith(b"HTTP/1.1 200")
