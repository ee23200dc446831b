"""Operations of a link and how messages become lines (`docs/reference/protocol.md`). Pure and quick to import."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, List

PROTOCOL = 1
MAX_LINE_BYTES = 64 * 1024 * 1024
MAX_READ_BYTES = 1024 * 1024

# server to node
START = "start"
STOP = "stop"
SIGNAL = "signal"
PAUSE = "pause"
RESUME = "resume"
FORGET = "forget"
REMOVE = "remove"
READ_LOG = "read_log"
FOLLOW = "follow"
UNFOLLOW = "unfollow"
CONFIGURE = "configure"
PING = "ping"
SHUTDOWN = "shutdown"

# node to server
HELLO = "hello"
FENCED = "fenced"
STARTED = "started"
REFUSED = "refused"
EXITED = "exited"
PAUSED = "paused"
RESUMED = "resumed"
GONE = "gone"
REMOVED = "removed"
INVENTORY = "inventory"
SAMPLE = "sample"
USING = "using"
REPORTED = "reported"
LOG = "log"
LOG_DATA = "log_data"
LOG_END = "log_end"
PONG = "pong"
ERROR = "error"

# why a run ended, where it was not by itself
KILL = "kill"
TIME = "time"
CANNOT_START = "cannot_start"
OOM = "oom"
LOST = "lost"

Message = Dict[str, Any]

_RUN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}\Z")
_encoder = json.JSONEncoder(separators=(",", ":"))


class BadMessage(ValueError):
    """A line that is no message, or a message whose fields are not what they must be."""


class LineTooLong(ValueError):
    """More than `MAX_LINE_BYTES` without an end of line: the link cannot go on."""


def encode(message: Message) -> bytes:
    """The message as one line. ASCII only, so no line can be cut inside a character."""
    return _encoder.encode(message).encode("ascii") + b"\n"


def decode(line: bytes) -> Message:
    """The message of one line; raises `BadMessage` when it is not a JSON object with an `op`."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as problem:
        raise BadMessage(f"not a JSON line: {problem}") from None
    if not isinstance(message, dict) or not isinstance(message.get("op"), str):
        raise BadMessage("a message is a JSON object with a text `op`")
    return message


def is_run_name(name: object) -> bool:
    """Whether the name is safe as a file name and looks like `<job>.<attempt>`."""
    return isinstance(name, str) and _RUN_NAME.match(name) is not None


class LineBuffer:
    """Cuts a stream of chunks into lines; keeps the unfinished end."""

    def __init__(self, limit: int = MAX_LINE_BYTES) -> None:
        self._limit = limit
        self._parts: List[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> List[bytes]:
        """The whole lines that this chunk completed, without their ends."""
        if b"\n" not in chunk:
            self._keep(chunk)
            return []
        self._parts.append(chunk)
        lines = b"".join(self._parts).split(b"\n")
        self._parts, self._size = [], 0
        self._keep(lines.pop())
        return lines

    def _keep(self, rest: bytes) -> None:
        self._size += len(rest)
        if self._size > self._limit:
            raise LineTooLong(f"a line of more than {self._limit} bytes")
        if rest:
            self._parts.append(rest)
