"""The live feed of the dashboard: one hub looks, at most twice a second, and tells all who listen the same bytes.

A listener first gets the whole picture, then what changes. One who is too slow gets the whole picture again
instead of a growing heap of changes. Under the veil of private mode only those get bytes of their own whose own work
shows in a change. Nothing is done while nobody listens. Knows nothing of HTTP.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
import zlib
from collections import deque
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import msgspec

import roost
from roost.answers.encoding import encode
from roost.answers.jobs import BriefJob
from roost.answers.live import LiveBye, LiveChange, LiveServer, Tile, Whole
from roost.core import events as ev
from roost.core.errors import TryLater
from roost.core.plan.placement import Space
from roost.messages import Language
from roost.server.clock import now_ms, rfc3339
from roost.server.identity.people import Caller, People
from roost.server.identity.redaction import Redaction
from roost.server.rounds.engine import Engine
from roost.server.shutdown import Shutdown
from roost.server.store_reader import StoreReader
from roost.server.views import dashboard_state, job_rows, job_views
from roost.server.views.dashboard_state import DashboardState, Others
from roost.server.views.server_status import ServerStatus
from roost.server.views.start_estimates import StartEstimates
from roost.store import overview

TICK_S = 0.5
CHECK_S = 0.5
"""How often it is looked whether those who listen still may."""
STILL_HERE_S = 15.0
LENGTHS = overview.Lengths(queue=100, active=500, ended=30)
MAX_OTHERS = 200
"""Of so many jobs that are not in the picture it is told what became of them."""
MAX_TOUCHED = 1000
MAX_KEPT = 4
"""Events that wait for a slow listener; after that they get the whole picture."""
PATIENCE = 50
"""Turns of the loop that a look waits for the scheduler, at most."""
LEVEL = 5
"""How hard events are packed."""
STRANGER = "\0"
"""Stands for everybody whose work does not show in a change: no user has that name."""

_log = logging.getLogger("roost.live")


class Listener:
    """A dashboard that listens, and the events that it has not taken yet."""

    def __init__(self, hub: DashboardFeed, caller: Caller, language: Language) -> None:
        self.caller, self.language = caller, language
        self.sees: str | None = None
        """Whose private mode applies; None: everything is shown."""
        self.told_s = time.monotonic()
        self._hub = hub
        self._waiting: deque[Event] = deque()
        self.is_behind = True
        """Whether it gets the whole picture next."""
        self._has_ended = False
        self._wake: asyncio.Future[None] | None = None

    @property
    def is_up_to_date(self) -> bool:
        """Whether it has taken all events."""
        return not self._waiting and not self.is_behind

    def tell(self, event: Event) -> None:
        """Add an event. A listener that is behind will see it in the whole picture."""
        if self._has_ended or self.is_behind:
            return
        self.told_s = time.monotonic()
        if len(self._waiting) >= MAX_KEPT:
            self.begin_anew()
            return
        self._waiting.append(event)
        self._ring()

    def begin_anew(self) -> None:
        """It gets the whole picture next."""
        self._waiting.clear()
        self.is_behind = True
        self._ring()

    def end(self, reason: str | None) -> None:
        """Nothing more comes but a good-bye, if there is a reason to give."""
        if self._has_ended:
            return
        self._has_ended, self.is_behind = True, False
        self._waiting.clear()
        if reason is not None:
            self._waiting.append(sse("bye", encode(LiveBye(reason), self.language)))
        self._ring()

    async def next(self) -> Event | None:
        """What to send next; None at the end. Waits for it."""
        while self.is_up_to_date:
            if self._has_ended:
                return None
            self._wake = asyncio.get_running_loop().create_future()
            await self._wake
        if self.is_behind:
            self.is_behind = False
            return self._hub.state_for(self)
        return self._waiting.popleft()

    def _ring(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)


class DashboardFeed:
    """Looks for all who listen."""

    def __init__(
        self,
        engine: Engine,
        reader: StoreReader,
        people: People,
        status: ServerStatus,
        etas: StartEstimates,
        shutdown: Shutdown,
        lengths: overview.Lengths = LENGTHS,
    ) -> None:
        self._engine, self._reader, self._people = engine, reader, people
        self._status, self._etas, self._shutdown, self._lengths = status, etas, shutdown, lengths
        self.listeners: set[Listener] = set()
        self._picture: DashboardState | None = None
        self._states: dict[tuple[str | None, Language], Event] = {}
        self._rows: dict[int, BriefJob] = {}
        self._known: dict[int, str] = {}
        self._touched: set[int] = set()
        self._removed: set[int] = set()
        self._is_many = False
        self._changed = asyncio.Event()
        self._looking = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    async def join(self, caller: Caller, language: Language = "en") -> Listener:
        """Begin to listen."""
        if self._shutdown.has_begun:
            raise TryLater("the server leaves", "try again in a moment")
        listener = Listener(self, caller, language)
        listener.sees = self._seen_by(caller)
        self.listeners.add(listener)
        try:
            if self._task is None:
                self._begin()
            if self._picture is None:
                async with self._looking:  # a listener that came at the same time has looked for us
                    if self._picture is None:
                        self._picture = (await self._look())[0]
        except BaseException:
            self.part(listener)
            raise
        return listener

    def part(self, listener: Listener) -> None:
        """It listens no more."""
        self.listeners.discard(listener)
        if not self.listeners:
            self._rest()

    # -- while anybody listens --------------------------------------------------------------------------------------

    def _leave(self) -> None:
        """The server leaves: all streams end."""
        for listener in list(self.listeners):
            listener.end("shutdown")

    def _begin(self) -> None:
        self._shutdown.on_begin.add(self._leave)
        self._engine.watchers.add(self._watch)
        self._people.on_change.add(self._changed.set)
        self._etas.on_change.add(self._changed.set)
        self._task = asyncio.create_task(self._run())

    def _rest(self) -> None:
        """Nobody listens: look no more, and remember nothing."""
        self._shutdown.on_begin.discard(self._leave)
        self._engine.watchers.discard(self._watch)
        self._people.on_change.discard(self._changed.set)
        self._etas.on_change.discard(self._changed.set)
        if self._task is not None:
            self._task.cancel()
        self._task = self._picture = None
        self._rows, self._known, self._states = {}, {}, {}
        self._touched, self._removed, self._is_many = set(), set(), False

    def _watch(self, event: ev.Event) -> None:
        """Gather what happens."""
        if isinstance(event, ev.JobEvent):
            if event.id in self._rows or len(self._touched) <= MAX_TOUCHED:
                self._touched.add(event.id)
            else:
                self._is_many = True
            self._known.pop(event.id, None)
            if isinstance(event, ev.Removed) and len(self._removed) < MAX_OTHERS:
                self._removed.add(event.id)
        self._changed.set()

    async def _run(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CHECK_S):
                    await self._changed.wait()
            self._greet()
            self._etas.look()
            if not self._changed.is_set():
                continue
            self._changed.clear()
            began = time.monotonic()
            try:
                await self.tick()
            except Exception:
                _log.exception("the live feed missed something")
                self._doubt()
            await asyncio.sleep(max(0.0, TICK_S - (time.monotonic() - began)))

    def _doubt(self) -> None:
        """Read everything anew next time, and have the lists asked again."""
        self._known.clear()
        self._is_many = True
        self._changed.set()

    def _greet(self) -> None:
        """Good-bye to listeners whose session has ended, and a sign of life to those that got no event for long."""
        now_s = time.monotonic()
        for listener in list(self.listeners):
            if (reason := self._people.why_gone(listener.caller)) is not None:
                listener.end(reason)
            elif now_s - listener.told_s >= STILL_HERE_S:
                listener.tell(STILL_HERE)

    async def tick(self) -> None:
        """Look, and tell what has changed."""
        for _ in range(PATIENCE):
            if not self._engine.rounds.is_busy:
                break
            await asyncio.sleep(0)
        async with self._looking:
            old = self._picture
            new, others = await self._look()
            self._picture, self._states = new, {}
        if old is not None:
            self._tell(dashboard_state.change_of(old, new, others), self._owners(old, new, others))

    def _owners(self, old: DashboardState, new: DashboardState, others: Others) -> dict[int, str]:
        return {job: row.user for rows in (old.jobs, others.jobs, new.jobs) for job, row in rows.items()}

    # -- telling ----------------------------------------------------------------------------------------------------

    def _tell(self, change: LiveChange | None, owners: Mapping[int, str]) -> None:
        """Encoded once for all who see the same in the same language. Whose sight has changed begins anew."""
        shown = dashboard_state.people_in(change, owners) if change is not None else set()
        encoded: dict[tuple[str | None, Language], Event] = {}
        for listener in list(self.listeners):
            if (sees := self._seen_by(listener.caller)) != listener.sees:
                listener.sees = sees
                listener.begin_anew()
            elif change is not None:
                key = sees if sees is None or sees in shown else STRANGER
                if (way := (key, listener.language)) not in encoded:
                    seen = change if key is None else dashboard_state.veiled_change(_veil(key), change, owners)
                    encoded[way] = sse("change", encode(seen, listener.language))
                listener.tell(encoded[way])

    def state_for(self, listener: Listener) -> Event:
        """The whole picture as this listener may see it."""
        listener.sees = self._seen_by(listener.caller)
        way = listener.sees, listener.language
        if (event := self._states.get(way)) is None:
            assert self._picture is not None
            state = dashboard_state.state_of(self._picture)
            seen = state if listener.sees is None else dashboard_state.veiled_state(_veil(listener.sees), state)
            event = self._states[way] = Event(b"retry: 1000\n" + sse("state", encode(seen, listener.language)))
        return event

    def _seen_by(self, caller: Caller) -> str | None:
        is_private = bool(self._engine.cluster.settings["users.private"])
        return caller.name if is_private and not self._people.now_rules(caller) else None

    # -- looking ----------------------------------------------------------------------------------------------------

    async def _look(self) -> tuple[DashboardState, Others]:
        touched, self._touched = self._touched, set()
        removed, self._removed = self._removed, set()
        is_many, self._is_many = self._is_many, False
        elsewhere = sorted(touched - removed - self._rows.keys())
        if len(elsewhere) > MAX_OTHERS:
            elsewhere, is_many = [], True
        known = self._known
        found = await self._reader.read(
            overview.look, self._lengths, dict(known), [*elsewhere, *(touched & self._rows.keys())]
        )
        self._rows.update((job, job_rows.fixed(kept)) for job, kept in found.rows.items())
        return self._picture_of(found, touched, Others(removed=removed, is_many=is_many))

    def _picture_of(self, found: overview.Look, touched: set[int], others: Others) -> tuple[DashboardState, Others]:
        now = now_ms()
        columns = {"queue": found.queue, "running": found.active, "ended": found.ended}
        moment = job_rows.Moment(self._engine.cluster, now, self._etas.look())
        places = {job: place for place, job in enumerate(found.queue)}
        rows = self._rows
        before = self._picture.jobs if self._picture is not None else {}
        shown = [job for ids in columns.values() for job in ids if job in rows]
        jobs = {job: dashboard_state.calmed(before.get(job), moment.row(rows[job], places.get(job))) for job in shown}
        rest = {job: moment.row(rows[job], None) for job in touched if job in found.rows and job not in jobs}
        self._rows = {job: rows[job] for job in jobs}
        touched_since = self._touched
        self._known = {job: row.state for job, row in self._rows.items() if job not in touched_since}
        names = {job: row.name for job, row in jobs.items()}
        shown_in = {key: [job for job in ids if job in jobs] for key, ids in columns.items()}
        made = DashboardState(
            self._whole(now, shown_in), self._tiles(names), jobs, dict(self._engine.cluster.settings), self._rulings()
        )
        return made, msgspec.structs.replace(others, jobs=rest)

    def _whole(self, now: int, columns: dict[str, list[int]]) -> Whole:
        cluster = self._engine.cluster
        return Whole(
            at=rfc3339(now),
            server=LiveServer(roost.__version__, rfc3339(self._status.since_ms), self._status.boot),
            scheduling="paused" if cluster.is_paused else "on",
            policy=str(cluster.settings["policy"]),
            health=self._status.health(),
            notice=self._people.shown_notice(),
            private=bool(cluster.settings["users.private"]),
            counts=job_views.counts_view(cluster, now),
            cpu=job_views.cpu_view(cluster),
            nodes=self._status.nodes(),
            queued_total=len(cluster.jobs),
            **columns,
        )

    def _tiles(self, names: Mapping[int, str]) -> dict[str, Tile]:
        cluster = self._engine.cluster
        space = Space.of(cluster)
        return {gpu.uuid: dashboard_state.tile(cluster, space, node.name, gpu, names) for node, gpu in cluster.gpus()}

    def _rulings(self) -> Any:
        return dict(self._people.accounts), dict(self._engine.cluster.users)


def _veil(name: str) -> Redaction:
    return Redaction(Caller(name, False, "live"), is_private=True)


class Event(bytes):
    """What is sent to listeners: the same to many of them, so it is packed once."""

    @cached_property
    def packed(self) -> bytes:
        """As a piece of a stream of gzip. It refers to nothing before it: pieces can follow each other in any order."""
        packer = zlib.compressobj(LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
        return packer.compress(self) + packer.flush(zlib.Z_FULL_FLUSH)


STILL_HERE = Event(b": still here\n\n")


def sse(kind: str, data: bytes) -> Event:
    """A server-sent event."""
    return Event(b"event: %s\ndata: %s\n\n" % (kind.encode(), data))
