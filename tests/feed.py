"""A page's half of the live feed: reads server-sent events and keeps the picture that they tell."""

from __future__ import annotations

import contextlib
import json
import socket
import time
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from tests.box import DEADLINE_S, Box
from tests.declared import check_component

Json = dict[str, Any]
COLUMNS = ("queue", "running", "ended")
FLAGS = ("many", "settings", "users", "removed")


class Feed:
    """What a page knows."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Json]] = []
        self.whole: Json = {}
        self.gpus: dict[str, Json] = {}
        self.rows: dict[int, Json] = {}

    def take(self, event: bytes) -> None:
        """One event, without the empty line behind it; comments are passed over."""
        fields = dict(line.split(b": ", 1) for line in event.split(b"\n") if line and not line.startswith(b":"))
        if b"event" not in fields:
            return
        kind, data = fields[b"event"].decode(), json.loads(fields[b"data"])
        check_component(f"Live{kind.capitalize()}", data)
        self.events.append((kind, data))
        if kind == "state":
            self._begin(data)
        elif kind == "change":
            self._apply(data)

    def _begin(self, state: Json) -> None:
        self.gpus = {gpu["uuid"]: gpu for gpu in state["gpus"]}
        self.rows = {row["id"]: row for row in state["jobs"]}
        self.whole = {key: value for key, value in state.items() if key not in ("gpus", "jobs")}

    def _apply(self, change: Json) -> None:
        if "gpu_set" in change:
            self.gpus = {gpu["uuid"]: gpu for gpu in change["gpu_set"]}
        for uuid, part in change.get("gpus", {}).items():
            self.gpus[uuid] = self.gpus[uuid] | part
        for row in change.get("jobs", ()):
            self.rows[row["id"]] = self.rows.get(row["id"], {}) | row
        self.whole |= {key: value for key, value in change.items() if key not in ("gpu_set", "gpus", "jobs", *FLAGS)}
        shown = {job for column in COLUMNS for job in self.whole[column]}
        self.rows = {job: row for job, row in self.rows.items() if job in shown}

    @property
    def state(self) -> Json:
        """The picture, as a fresh `state` would tell it; without the moment."""
        rows = [self.rows[job] for column in COLUMNS for job in self.whole[column]]
        told = {key: value for key, value in self.whole.items() if key != "at"}
        return {**told, "gpus": list(self.gpus.values()), "jobs": rows}

    @property
    def kinds(self) -> list[str]:
        """The kinds of all events so far."""
        return [kind for kind, _ in self.events]

    def said(self, key: str) -> list[Any]:
        """What changes said under that key."""
        return [data[key] for kind, data in self.events if kind == "change" and key in data]


class Stream(Feed):
    """The same over a real connection to a box: by its socket, or by TCP with a token."""

    def __init__(self, box: Box, token: str | None = None, is_packed: bool = False) -> None:
        super().__init__()
        self.unpacker = zlib.decompressobj(wbits=31) if is_packed else None
        if token is None:
            self._socket = socket.socket(socket.AF_UNIX)
            self._socket.connect(str(box.home / "roost.sock"))
        else:
            host, _, port = box.url.removeprefix("http://").rpartition(":")
            self._socket = socket.create_connection((host, int(port)))
        known = f"Authorization: Bearer {token}\r\n" if token is not None else ""
        known += "Accept-Encoding: gzip\r\n" if is_packed else ""
        self._socket.sendall(f"GET /api/v1/live HTTP/1.1\r\nHost: roost\r\nConnection: close\r\n{known}\r\n".encode())
        self._data = self._body = b""
        self.status = 0
        self.has_ended = False

    def until(self, what: str, is_so: Callable[[], Any], within_s: float = DEADLINE_S) -> Any:
        """Read on until that is so."""
        deadline = time.monotonic() + within_s
        while not (found := is_so()):
            left = deadline - time.monotonic()
            assert left > 0 and not self.has_ended, f"not within {within_s:g} s: {what}; last: {self.events[-3:]}"
            self._read(min(left, 1.0))
        return found

    def until_end(self) -> None:
        """Read until the server hangs up."""
        deadline = time.monotonic() + DEADLINE_S
        while not self.has_ended:
            assert time.monotonic() < deadline, f"it does not end; last: {self.events[-3:]}"
            self._read(1.0)

    def _read(self, within_s: float) -> None:
        self._socket.settimeout(within_s)
        try:
            data = self._socket.recv(1 << 20)
        except TimeoutError:
            return
        except OSError:
            data = b""
        self.has_ended = self.has_ended or not data
        self._data += data
        if not self.status and b"\r\n\r\n" in self._data:
            head, _, self._data = self._data.partition(b"\r\n\r\n")
            self.status = int(head.split()[1])
        while self.status and self._chunk():
            pass
        while b"\n\n" in self._body:
            event, _, self._body = self._body.partition(b"\n\n")
            self.take(event)

    def _chunk(self) -> bool:
        """Take a whole chunk off what came; the last one is empty."""
        size, line, rest = self._data.partition(b"\r\n")
        if not line or len(rest) < (length := int(size, 16)) + 2:
            return False
        piece, self._data = rest[:length], rest[length + 2 :]
        self._body += self.unpacker.decompress(piece) if self.unpacker is not None else piece
        self.has_ended = self.has_ended or not length
        return length > 0

    def close(self) -> None:
        """Hang up."""
        self._socket.close()


@contextlib.contextmanager
def listening(box: Box, token: str | None = None, is_packed: bool = False) -> Iterator[Stream]:
    """An open page, which has its first picture."""
    stream = Stream(box, token, is_packed)
    try:
        stream.until("the whole picture came", lambda: "state" in stream.kinds)
        yield stream
    finally:
        stream.close()
