"""Followed logs: `log_data` as they grow, `log_end` behind the last byte.

Woken by inotify, with a slow tick below it. Sends nothing while the link is congested: the bytes are in the file.
"""

from __future__ import annotations

import base64
import os
import struct
from dataclasses import dataclass, field
from typing import Callable, Dict, List, NamedTuple, Optional

from roost.node.logs.reader import read_range
from roost.node.protocol import LOG_DATA, LOG_END, Message
from roost.node.runs.run import Run
from roost.node.runs.run_dir import Record
from roost.node.runs.run_log import find_log
from roost.node.system import libc
from roost.node.system.event_loop import READABLE, Loop

_EVENT = struct.Struct("iIII")
_CHUNK_BYTES = 64 * 1024
_CHUNKS_AT_ONCE = 8
_TICK_S = 0.5


class Source(NamedTuple):
    """What is followed. `has_ended` is asked before each read, so that nothing written before the end is missed."""

    run_path: str
    record: Record
    stream: str
    has_ended: Callable[[], bool]


@dataclass(eq=False)
class _Follower:
    id: object
    source: Source
    offset: int
    watch: Optional[int] = None


@dataclass(eq=False)
class Followers:
    loop: Loop
    send: Callable[[Message], None]
    is_congested: Callable[[], bool]
    _all: Dict[object, _Follower] = field(default_factory=dict)
    _by_watch: Dict[int, List[_Follower]] = field(default_factory=dict)
    _inotify: Optional[int] = None
    _ticks: bool = False

    def add(self, id: object, source: Source, offset: int) -> None:
        """Begin; the same id again replaces the earlier one."""
        self.remove(id)
        follower = _Follower(id, source, offset)
        self._all[id] = follower
        follower.watch = self._watch(follower)
        self._push(follower)
        self._tick()

    def remove(self, id: object) -> None:
        follower = self._all.pop(id, None)
        if follower is None or follower.watch is None or self._inotify is None:
            return
        others = [other for other in self._by_watch.get(follower.watch, []) if other is not follower]
        self._by_watch[follower.watch] = others
        if not others:
            del self._by_watch[follower.watch]
            libc.inotify_unwatch(self._inotify, follower.watch)

    def clear(self) -> None:
        for id in list(self._all):
            self.remove(id)

    def push_all(self) -> None:
        """Look at every log: the link has room again."""
        for follower in list(self._all.values()):
            self._push(follower)

    def run_ended(self, run: Run) -> None:
        for follower in list(self._all.values()):
            if follower.source.run_path == run.path:
                self._push(follower)

    def _push(self, follower: _Follower) -> None:
        source = follower.source
        for _ in range(_CHUNKS_AT_ONCE):
            if self._all.get(follower.id) is not follower or self.is_congested():
                return
            has_ended = source.has_ended()
            chunk = read_range(find_log(*source[:3]), follower.offset, _CHUNK_BYTES)
            follower.offset = chunk.offset + len(chunk.data)
            if chunk.data:
                data = base64.b64encode(chunk.data).decode("ascii")
                self.send({"op": LOG_DATA, "id": follower.id, "offset": chunk.offset, "data": data})
            if chunk.eof:
                if has_ended:
                    self.remove(follower.id)
                    self.send({"op": LOG_END, "id": follower.id})
                return
        self.loop.after(0, lambda: self._push(follower))

    def _watch(self, follower: _Follower) -> Optional[int]:
        source = follower.source
        path = find_log(*source[:3]).path
        try:
            if self._inotify is None:
                self._inotify = libc.inotify_open()
                self.loop.watch(self._inotify, READABLE, self._grown)
            watch = libc.inotify_watch_growth(self._inotify, path)
        except OSError:
            return None  # no inotify left, or no such file yet: the tick looks
        self._by_watch.setdefault(watch, []).append(follower)
        return watch

    def _grown(self, _: int) -> None:
        if self._inotify is None:
            return
        events = os.read(self._inotify, 64 * 1024)
        position, watches = 0, set()
        while position + _EVENT.size <= len(events):
            watch, _mask, _cookie, length = _EVENT.unpack_from(events, position)
            position += _EVENT.size + length
            watches.add(watch)
        for watch in sorted(watches):
            for follower in list(self._by_watch.get(watch, [])):
                self._push(follower)

    def _tick(self) -> None:
        if self._ticks or not self._all:
            return
        self._ticks = True

        def look() -> None:
            self._ticks = False
            self.push_all()
            self._tick()

        self.loop.after(_TICK_S, look)
