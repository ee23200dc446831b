"""The whole API over a real engine, controller and store, called in this process; the node is a few messages."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from pwdlib import PasswordHash
from pwdlib.hashers.argon2 import Argon2Hasher
from tests.declared import check_answer
from tests.servers import make_server
from tests.stores import fresh_store

from roost.api.app import Application
from roost.api.edge.peer_credentials import SCOPE_KEY
from roost.links import messages as m
from roost.server.identity import passwords
from roost.server.parts import Parts
from roost.web import dashboard

GPUS = [m.GpuInfo(f"gpu{i}", i, "Sim", 24_000) for i in range(2)]


class Answer(NamedTuple):
    """What came back."""

    status: int
    body: bytes

    @property
    def json(self) -> Any:
        """Its value."""
        return msgspec.json.decode(self.body)


class Api:
    """Calls the application as a web server would."""

    def __init__(self, server: Parts) -> None:
        self.server, self.notifier = server, server.notifier
        self.app = Application(server)
        self.uid: int | None = os.getuid()
        self.headers: dict[str, str] = {}

    async def call(self, method: str, path: str, body: Any = None, prefix: str = "/api/v1") -> Answer:
        """One request."""
        data = body if isinstance(body, bytes) else b"" if body is None else msgspec.json.encode(body)
        where, _, query = path.partition("?")
        scope: dict[str, Any] = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "path": prefix + where,
            "raw_path": b"",
            "root_path": "",
            "scheme": "http",
            "query_string": query.encode(),
            "headers": [(k.lower().encode(), v.encode()) for k, v in ({"host": "roost"} | self.headers).items()],
            "client": None if self.uid is not None else ("192.0.2.1", 1234),
            "server": ("roost", 80),
            SCOPE_KEY: self.uid,
        }
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": data, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        answer = Answer(sent[0]["status"], b"".join(part.get("body", b"") for part in sent[1:]))
        if b"gzip" not in dict(sent[0]["headers"]).get(b"content-encoding", b""):
            check_answer(method, scope["path"], *answer)
        return answer

    async def get(self, path: str) -> Any:
        """The value at that path."""
        answer = await self.call("GET", path)
        assert answer.status == 200, answer
        return answer.json

    async def post(self, path: str, body: Any) -> Any:
        """The value that came of it."""
        answer = await self.call("POST", path, body)
        assert answer.status in (200, 201), answer
        return answer.json

    async def submit(self, **asked: Any) -> int:
        """One job more."""
        return int((await self.post("/jobs", {"jobs": [{"command": ["true"], **asked}]}))["ids"][0])

    async def tell(self, *messages: m.Report) -> None:
        """The node says these; returns when they have had their consequences."""
        for message in messages:
            self.server.engine.inbox.report("n1", message)
        await self.get("/status")
        await self.post("/scheduler", {"paused": False})  # a committed round behind them


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Api]:
    (tmp_path / "node").mkdir()
    with fresh_store() as store:
        made = Api(make_server(tmp_path, store))
        engine = made.server.engine
        rounds = asyncio.create_task(engine.run())
        engine.controller.cluster.node("n1")  # the server's own machine
        sample = m.Sample(0, m.HostSample(60_000, 64_000), [m.GpuSample(g.uuid, 0, 0) for g in GPUS])
        await made.tell(m.Hello(1, "x", "n1", 1, "boot", 2, 64_000, GPUS, []), sample)
        yield made
        await engine.stop()
        await rounds


@pytest.fixture(autouse=True)
def pages(monkeypatch: pytest.MonkeyPatch) -> dict[str, dashboard.File]:
    """A small dashboard in place of the built one, which need not be there."""
    page = b"<!doctype html><title>Roost</title>" + b"<p>small</p>" * 100
    texts = {"index.html": page, "assets/main-1a2b.js": b"1" * 1000, "early.js": b"0", "roost.svg": b"<svg/>"}
    made = {name: dashboard._file(name, text) for name, text in texts.items()}
    monkeypatch.setattr(dashboard, "files", lambda: made)
    return made


@pytest.fixture(autouse=True)
def cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The same hashes with little work in them: tests set and check hundreds."""
    hasher = PasswordHash((Argon2Hasher(time_cost=1, memory_cost=64, parallelism=1),))
    passwords._hash_of_none.cache_clear()
    monkeypatch.setattr(passwords, "_hasher", lambda: hasher)
    yield
    passwords._hash_of_none.cache_clear()
