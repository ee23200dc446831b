"""The live feed: who is told what and when, over a real engine; and slow clients, over real connections."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import msgspec
import pytest
import uvicorn
from tests.contract.browser import add_user
from tests.contract.conftest import GPUS, Api
from tests.feed import Feed
from tests.servers import make_hub

from roost.api.edge import request_limits
from roost.api.edge.peer_credentials import SCOPE_KEY, PeerProtocol
from roost.core.spec import JobSpec
from roost.links import messages as m
from roost.server.identity.people import Caller
from roost.server.rounds.commands import Submit
from roost.server.store_reader import StoreReader
from roost.server.views import dashboard_feed, start_estimates
from roost.server.views.dashboard_feed import MAX_KEPT, DashboardFeed, Listener

DEADLINE_S = 20.0
MORE = m.GpuInfo("gpu2", 2, "Sim", 24_000)
TILE = {
    "uuid", "index", "node", "alias", "model", "mig", "mem_mib", "mem_used_mib", "mem_reserved_mib", "mem_free_mib", "util",
    "temp_c", "power_w", "slots", "drained", "disabled", "state", "reason", "jobs", "procs", "mem_roost_mib",
    "mem_foreign_mib",
}  # fmt: skip
STATE = {
    "at", "server", "scheduling", "policy", "health", "notice", "private", "counts", "cpu", "nodes", "gpus", "queue",
    "queued_total", "running", "ended", "jobs",
}  # fmt: skip
BRIEF = {
    "id", "name", "user", "state", "outcome", "exit_code", "error", "command_line", "gpus", "mem_mib", "node", "gpu_indices",
    "priority", "labels", "sweep", "queue_position", "reason", "eta", "attempts", "submitted_at", "started_at", "ended_at",
    "preemptible", "time_limit_s",
}  # fmt: skip


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same, with no time between two looks."""
    monkeypatch.setattr(dashboard_feed, "TICK_S", 0.01)
    monkeypatch.setattr(dashboard_feed, "CHECK_S", 0.05)


class Page(Feed):
    """An open page: the application, called as a web server calls it, for as long as it is open."""

    def __init__(self, api: Api, token: str | None = None, cookie: str | None = None) -> None:
        super().__init__()
        headers = {"host": "roost"} | ({"authorization": f"Bearer {token}"} if token else {})
        headers |= {"cookie": f"roost_session={cookie}"} if cookie else {}
        self._scope: dict[str, Any] = {
            "type": "http", "http_version": "1.1", "method": "GET", "path": "/api/v1/live", "raw_path": b"", "root_path": "",
            "scheme": "http", "query_string": b"", "headers": [(k.encode(), v.encode()) for k, v in headers.items()],
            "client": ("192.0.2.1", 1234) if token or cookie else None, "server": ("roost", 80),
            SCOPE_KEY: None if token or cookie else os.getuid(),
        }  # fmt: skip
        self.status = 0
        self.headers: dict[str, str] = {}
        self._gone = asyncio.Event()
        self._news = asyncio.Event()
        self._task = asyncio.create_task(api.app(self._scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        for event in message.get("body", b"").split(b"\n\n") if self.status == 200 else ():
            self.take(event)
        self._news.set()

    async def until(self, is_so: Callable[[], Any]) -> Any:
        """Wait until what was told makes it so."""
        async with asyncio.timeout(DEADLINE_S):
            while not (found := is_so()):
                self._news.clear()
                await self._news.wait()
        return found

    async def ended(self) -> None:
        """The server has ended it."""
        await asyncio.wait_for(asyncio.shield(self._task), DEADLINE_S)

    async def close(self) -> None:
        """The browser goes."""
        self._gone.set()
        await asyncio.wait_for(self._task, DEADLINE_S)


Open = Callable[..., Awaitable[Page]]


@pytest.fixture
async def page(api: Api) -> AsyncIterator[Open]:
    """Opens pages."""
    made: list[Page] = []

    async def open(token: str | None = None, cookie: str | None = None) -> Page:
        made.append(Page(api, token, cookie))
        await made[-1].until(lambda: made[-1].kinds)
        return made[-1]

    yield open
    for one in made:
        await one.close()


async def token_of(api: Api, name: str, lives_s: int | None = None) -> str:
    """A token of somebody who is known."""
    return (await api.server.people.new_token(Caller(name, False, "socket"), "page", lives_s))[1]


async def wait(what: Callable[[], object]) -> None:
    """Until it is so."""
    async with asyncio.timeout(DEADLINE_S):
        while not what():
            await asyncio.sleep(0.005)


# What is told


async def test_the_first_thing_is_the_whole_picture(api: Api, page: Open) -> None:
    running = await api.submit(gpus=1, name="first", labels=["x"])
    await api.tell(m.RunStarted(f"{running}.1", 77, 4000))
    ours, foreign = (
        m.ProcessInfo(77, f"{running}.1", "ada", "true", 50),
        m.ProcessInfo(9, None, "eve", "python mine.py", 100),
    )
    samples = [m.GpuSample("gpu0", 50, 90, procs=[ours], temp_c=60), m.GpuSample("gpu1", 100, 5, procs=[foreign])]
    await api.tell(m.Sample(0, m.HostSample(60_000, 64_000), samples))
    waiting = await api.submit(gpus=2)
    seen = await page()
    (kind, state) = seen.events[0]
    assert kind == "state" and set(state) == STATE and set(state["server"]) == {"version", "since", "boot"}
    assert (state["running"], state["queue"], state["queued_total"], state["ended"]) == ([running], [waiting], 1, [])
    assert all(set(row) == BRIEF for row in state["jobs"]) and all(set(gpu) == TILE for gpu in state["gpus"])
    assert (seen.rows[running]["state"], seen.rows[running]["gpu_indices"]) == ("running", [0])
    assert (seen.rows[waiting]["reason"]["code"], seen.rows[waiting]["queue_position"]) == ("gpus_busy", 0)
    first, second = state["gpus"]
    assert [(job["id"], job["name"]) for job in first["jobs"]] == [(running, "first")] and first["procs"] == []
    assert (first["mem_roost_mib"], first["mem_foreign_mib"], first["temp_c"]) == (50, 0, 60)
    assert (second["mem_roost_mib"], second["mem_foreign_mib"], second["state"]) == (0, 100, "foreign")
    assert second["procs"] == [{"pid": 9, "user": "eve", "command": "python mine.py", "mem_mib": 100}]
    kind_of = {key: seen.headers[key] for key in ("content-type", "cache-control", "x-accel-buffering")}
    assert list(kind_of.values()) == ["text/event-stream; charset=utf-8", "no-store", "no"]


async def test_what_is_told_is_what_the_document_says(api: Api, page: Open) -> None:
    seen = await page()
    job = await api.submit(gpus=1)
    await api.tell(m.RunStarted(f"{job}.1", 77, 4000), m.Hello(1, "x", "n1", 1, "boot", 2, 64_000, [*GPUS, MORE], []))
    await api.call("PUT", "/notice", {"text": "soon"})
    await api.call("PUT", "/policy", {"policy": "fifo"})
    await api.submit(gpus=3)
    await api.post("/jobs/actions", {"action": "rm", "select": {"ids": str(await api.submit(hold=True))}})
    await seen.until(lambda: seen.said("notice") and seen.said("settings") and seen.said("gpu_set") and seen.said("removed"))
    api.server.shutdown.begin()
    await seen.ended()
    assert {kind for kind, _ in seen.events} == {"state", "change", "bye"}


async def test_a_change_has_only_what_changed(api: Api, page: Open) -> None:
    job = await api.submit(hold=True)
    seen = await page()
    await api.post("/jobs/actions", {"action": "release", "select": {"ids": str(job)}})
    await seen.until(lambda: seen.rows[job]["state"] == "starting")
    await api.tell(m.RunStarted(f"{job}.1", 77, 4000))
    await seen.until(lambda: seen.rows[job]["state"] == "running")
    kind, change = seen.events[-1]
    assert change["jobs"] == [{"id": job, "state": "running", "started_at": "1970-01-01T00:00:04.000Z"}]
    assert set(change["gpus"]) == {"gpu0"} and set(change["gpus"]["gpu0"]) == {"jobs"}
    assert set(change) == {"at", "jobs", "gpus", "counts"} and kind == "change"


async def test_a_sample_tells_only_the_gpus_and_fields_that_moved(api: Api, page: Open) -> None:
    seen = await page()
    samples = [m.GpuSample("gpu0", 0, 33, power_w=99.5), m.GpuSample("gpu1", 0, 0)]
    await api.tell(m.Sample(0, m.HostSample(60_000, 64_000), samples))
    await seen.until(lambda: seen.gpus["gpu0"]["util"] == 33)
    assert seen.said("gpus") == [{"gpu0": {"util": 33, "power_w": 99.5}}]


async def test_gpus_that_come_are_told_as_a_set(api: Api, page: Open) -> None:
    seen = await page()
    await api.tell(m.Hello(1, "x", "n1", 1, "boot", 2, 64_000, [*GPUS, MORE], []))
    await seen.until(lambda: len(seen.gpus) == 3)
    assert len(seen.said("gpu_set")) == 1


async def test_a_job_outside_the_picture_is_told_whole_and_a_removed_one_by_number(api: Api, page: Open) -> None:
    ids = (await api.post("/jobs", {"jobs": [{"command": ["true"], "hold": True}] * 150}))["ids"]
    seen = await page()
    await api.post("/jobs/actions", {"action": "kill", "select": {"ids": str(ids[-1])}})
    await seen.until(lambda: seen.whole["ended"] == [ids[-1]])
    (row,) = [row for rows in seen.said("jobs") for row in rows if row["id"] == ids[-1]]
    assert set(row) == BRIEF and row["outcome"] == "killed"
    await api.post("/jobs/actions", {"action": "rm", "select": {"ids": f"{ids[-1]},{ids[-2]}"}})
    await seen.until(lambda: seen.said("removed"))
    assert ids[-1] in seen.said("removed")[0] and ids[-1] not in seen.rows


async def test_what_comes_at_once_is_told_at_once(api: Api) -> None:
    hub = make_hub(api.server)
    listener = await hub.join(api.server.people.itself)
    feed = Feed()
    feed.take((await taken(listener)).removesuffix(b"\n\n"))
    for _ in range(20):
        await api.submit(hold=True)
    await asyncio.gather(*(api.submit(hold=True) for _ in range(30)))
    while len(feed.rows) < 50:
        feed.take((await taken(listener)).removesuffix(b"\n\n"))
    assert len(feed.events) < 40
    hub.part(listener)


async def taken(listener: Listener) -> bytes:
    event = await asyncio.wait_for(listener.next(), DEADLINE_S)
    assert event is not None
    return event


async def test_all_who_see_the_same_get_the_same_bytes(api: Api) -> None:
    hub = make_hub(api.server)
    listeners = [await hub.join(api.server.people.itself) for _ in range(5)]
    states = [await taken(one) for one in listeners]
    await api.submit(hold=True)
    changes = [await taken(one) for one in listeners]
    assert all(state is states[0] for state in states) and all(change is changes[0] for change in changes)
    for one in listeners:
        hub.part(one)


async def test_nothing_is_looked_at_while_nobody_listens(api: Api, page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    before = set(api.server.engine.watchers)
    seen = await page()
    assert api.server.engine.watchers > before and api.server.people.on_change
    await seen.close()
    assert api.server.engine.watchers == before and not api.server.people.on_change
    looks: list[DashboardFeed] = []
    monkeypatch.setattr(DashboardFeed, "_look", looks.append)
    await api.submit(hold=True)
    await asyncio.sleep(0.1)  # ten times as long as it would take
    assert not looks


async def test_it_goes_on_after_a_look_that_failed(api: Api, page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, read, failed = await page(), StoreReader.read, asyncio.Event()

    async def broken(self: StoreReader, *asked: Any) -> Any:
        if not failed.is_set():
            failed.set()
            raise OSError("the disk is gone for a moment")
        return await read(self, *asked)

    monkeypatch.setattr(StoreReader, "read", broken)
    asked = Submit("", [JobSpec("true", hold=True)])
    job = (await api.server.engine.ask(asked, api.server.people.itself.who)).ids[0]
    await seen.until(lambda: seen.rows.get(job))
    assert failed.is_set() and seen.said("many")


async def test_a_wait_for_a_time_is_not_told_every_second(api: Api, page: Open) -> None:
    job = await api.submit(begin_at="2999-01-01T00:00:00Z")
    seen = await page()
    reason = seen.rows[job]["reason"]
    for _ in range(3):
        await api.submit(hold=True)
    await seen.until(lambda: len(seen.rows) == 4)
    assert reason["code"] == "not_before" and seen.rows[job]["reason"] == reason
    assert not [row for rows in seen.said("jobs") for row in rows if row["id"] == job]


async def test_waiting_jobs_are_foretold(api: Api, page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_estimates, "FIRST_PAUSE_MS", 0)
    seen = await page()
    await api.submit(gpus=2)
    job = await api.submit(gpus=1)
    await seen.until(lambda: seen.rows.get(job, {}).get("eta"))
    (listed,) = (await api.get("/jobs?brief=true&state=queued"))["jobs"]
    assert listed["eta"] == seen.rows[job]["eta"]


# Who is told


async def test_without_a_login_nothing_is_told(api: Api) -> None:
    api.uid = None
    assert (await api.call("GET", "/live")).status == 401


async def test_the_page_of_somebody_who_is_locked_ends(api: Api, page: Open) -> None:
    await add_user(api, "ana")
    hers, mine = await page(token=await token_of(api, "ana")), await page()
    await api.server.people.change(api.server.people.itself.who, "ana", is_locked=True)
    await hers.ended()
    assert hers.events[-1] == ("bye", {"reason": "locked"})
    await mine.until(lambda: mine.said("users"))


async def test_the_page_ends_with_the_session(api: Api, page: Open) -> None:
    await add_user(api, "ana")
    people = api.server.people
    _, secret = await people.new_session("ana", "", "test")
    caller = people.by_session(secret, "")
    assert caller is not None
    hers = await page(cookie=secret)
    await people.end_session(caller)
    await hers.ended()
    assert hers.events[-1] == ("bye", {"reason": "ended"})


async def test_the_page_ends_when_the_token_or_the_session_expires(
    api: Api, page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add_user(api, "ana")
    people, token = api.server.people, await token_of(api, "ana", 60)
    _, secret = await people.new_session("ana", "", "test")
    pages = [await page(token=token), await page(cookie=secret)]
    clock = people._now_ms
    monkeypatch.setattr(people, "_now_ms", lambda: clock() + 1000 * 86_400_000)
    for one in pages:
        await one.ended()
        assert one.events[-1] == ("bye", {"reason": "expired"})


async def test_every_page_ends_with_the_server(api: Api, page: Open) -> None:
    pages = [await page() for _ in range(3)]
    api.server.shutdown.begin()
    for one in pages:
        await one.ended()
        assert one.events[-1] == ("bye", {"reason": "shutdown"})
    assert (await api.call("GET", "/live")).status == 503


def has_seen(one: Page, job: int) -> bool:
    return one.rows.get(job, {}).get("state") == "ended" and bool(one.gpus["gpu1"]["procs"])


async def test_private_mode_hides_the_work_of_others_and_shows_ones_own(api: Api, page: Open) -> None:
    for name in ("ana", "bob", "cyd"):
        await add_user(api, name)
    await api.call("PUT", "/settings", {"users.private": True})
    pages = {name: await page(token=await token_of(api, name)) for name in ("ana", "bob", "cyd")}
    mine = await page()
    job = await api.submit(user="ana", name="canary7", labels=["canary7"], command=["echo", "canary7"])
    await api.tell(m.RunStarted(f"{job}.1", 77, 4000))
    process = m.ProcessInfo(9, None, "ana", "canary7", 100)
    await api.tell(m.Sample(0, m.HostSample(60_000, 64_000), [m.GpuSample("gpu1", 100, 5, procs=[process])]))
    await api.tell(m.RunExited(f"{job}.1", 5000, None, "canary7 broke", pid=77, started_ms=4000))
    for one in (*pages.values(), mine):
        await one.until(partial(has_seen, one, job))
    assert "canary7" not in msgspec.json.encode([pages["bob"].events, pages["cyd"].events]).decode()
    assert pages["bob"].rows[job]["name"] == "(private)" and pages["bob"].rows[job]["user"] == "ana"
    for one in (pages["ana"], mine):
        assert one.rows[job]["name"] == "canary7" and one.gpus["gpu1"]["procs"][0]["command"] == "canary7"
    again = await page(token=await token_of(api, "bob"))
    assert again.state == pages["bob"].state


async def test_in_private_mode_those_whose_work_does_not_show_share_one_encoding(api: Api) -> None:
    await api.call("PUT", "/settings", {"users.private": True})
    hub = make_hub(api.server)
    listeners = {name: await hub.join(Caller(name, False, "token x")) for name in ("ana", "bob", "cyd")}
    for listener in listeners.values():
        await taken(listener)
    await api.submit(user="ana", hold=True)
    changes = {name: await taken(listener) for name, listener in listeners.items()}
    assert changes["bob"] is changes["cyd"] and changes["ana"] != changes["bob"]
    for listener in listeners.values():
        hub.part(listener)


async def test_a_former_administrator_sees_less_at_once(api: Api, page: Open) -> None:
    await api.server.people.add(api.server.people.itself.who, ["boss"], "none", is_admin=True)
    await api.call("PUT", "/settings", {"users.private": True})
    job = await api.submit(hold=True, name="canary7")
    shown = await page(token=await token_of(api, "boss"))
    assert shown.rows[job]["name"] == "canary7"
    await api.server.people.change(api.server.people.itself.who, "boss", is_admin=False)
    await shown.until(lambda: shown.rows[job]["name"] == "(private)")
    assert shown.kinds[-1] == "state"


async def test_a_page_in_brief_hides_the_same(api: Api) -> None:
    await add_user(api, "ana")
    await api.submit(hold=True, user="bob", name="canary7", labels=["canary7"], command=["echo", "canary7"])
    await api.call("PUT", "/settings", {"users.private": True})
    token = await token_of(api, "ana")
    api.uid, api.headers = None, {"authorization": f"Bearer {token}"}
    answer = await api.call("GET", "/jobs?brief=true")
    assert "canary7" not in answer.body.decode() and set(answer.json["jobs"][0]) == BRIEF


# Slow clients


async def test_a_slow_client_gets_the_whole_state_instead(api: Api) -> None:
    hub = make_hub(api.server)
    slow, quick = [await hub.join(api.server.people.itself) for _ in range(2)]
    await taken(slow), await taken(quick)
    feed = Feed()
    for number in range(MAX_KEPT + 3):
        await api.submit(hold=True, name=f"number {number}")
        await taken(quick)
    event = await taken(slow)
    assert event.startswith(b"retry: 1000\nevent: state")
    feed.take(event.removesuffix(b"\n\n"))
    assert len(feed.rows) == MAX_KEPT + 3 and slow.is_up_to_date
    await api.submit(hold=True)
    feed.take((await taken(slow)).removesuffix(b"\n\n"))
    assert len(feed.rows) == MAX_KEPT + 4
    hub.part(slow)
    hub.part(quick)


def head(token: str) -> bytes:
    """The head of a request."""
    return f"GET /api/v1/live HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode()


@asynccontextmanager
async def served(api: Api) -> AsyncIterator[int]:
    """The same application behind a real web server; its port."""
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)  # the kernel would take megabytes for who does not read
    config = uvicorn.Config(api.app, http=PeerProtocol, log_config=None, access_log=False, lifespan="off")
    config.timeout_graceful_shutdown = 1
    server = uvicorn.Server(config)
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]
    serving = asyncio.create_task(server.serve(sockets=[listening]))
    await wait(lambda: server.started)
    try:
        yield listening.getsockname()[1]
    finally:
        api.server.shutdown.begin()
        server.should_exit = True
        await serving


async def test_a_client_that_does_not_read_holds_nobody_up_and_catches_up(api: Api) -> None:
    await add_user(api, "ana")
    token = await token_of(api, "ana")
    async with served(api) as port:
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(connection, ("127.0.0.1", port))
        await loop.sock_sendall(
            connection, f"GET /api/v1/live HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
        )
        hub = api.server.live
        await wait(lambda: hub.listeners)
        (stuck,) = hub.listeners
        for number in range(400):
            jobs = [{"command": ["true"], "hold": True, "name": f"{number} " + "x" * 150}] * 100
            await api.post("/jobs", {"jobs": jobs})
            await api.post("/jobs/actions", {"action": "kill", "select": {"all": True}})
            if stuck.is_behind:
                break
        assert stuck.is_behind
        states = b""
        last = (await api.post("/jobs", {"jobs": [{"command": ["true"], "hold": True, "name": "the last"}]}))["ids"][0]
        async with asyncio.timeout(DEADLINE_S):
            while b'"the last"' not in states:
                states = states[-200_000:] + await loop.sock_recv(connection, 1 << 20)
        connection.close()
        assert last and b"event: state" in states
        await wait(lambda: not hub.listeners)


async def test_many_streams_are_let_in_at_once(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """The seat behind the gate is given up as soon as a stream has begun: nobody waits for the one before."""
    monkeypatch.setattr(request_limits, "HOLD_S", 600)
    await add_user(api, "ana")
    token = await token_of(api, "ana")
    async with served(api) as port, asyncio.timeout(DEADLINE_S):
        connections = await asyncio.gather(*(asyncio.open_connection("127.0.0.1", port) for _ in range(60)))
        for _, writer in connections:
            writer.write(head(token))
        await asyncio.gather(*(reader.readuntil(b"event: state") for reader, _ in connections))
        for _, writer in connections:
            writer.close()
