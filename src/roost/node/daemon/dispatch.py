"""From a message to a call, with every field checked. A bad message is answered with `error` and ends nothing."""

from __future__ import annotations

import base64
import traceback
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional

from roost.node import protocol
from roost.node.daemon.departure import Departure
from roost.node.daemon.gpu_samples import GpuSamples
from roost.node.logs import reader
from roost.node.logs.followers import Followers, Source
from roost.node.protocol import BadMessage, Message
from roost.node.runs.lifecycle import Lifecycle
from roost.node.runs.run import ENDED
from roost.node.runs.run_dir import Record
from roost.node.runs.run_log import find_log
from roost.node.runs.run_spec import DEFAULT_GRACE_MS, BadSpec, signal_number
from roost.node.runs.supervisor import Supervisor

_FIRST_READ_BYTES = 64 * 1024
_QUICKEST_SAMPLE_MS = 100


@dataclass(eq=False)
class Dispatch:
    supervisor: Supervisor
    life: Lifecycle
    followers: Followers
    samples: GpuSamples
    departure: Departure
    send: Callable[[Message], None]
    report: Callable[[str], None]

    def __post_init__(self) -> None:
        supervisor = self.supervisor
        self._operations: Dict[str, Callable[[Message], None]] = {
            protocol.START: lambda m: supervisor.start(run_name(m), m.get("spec"), nonce_of(m)),
            protocol.STOP: self._stop,
            protocol.SIGNAL: lambda m: supervisor.signal(run_name(m), signal_number(m.get("signal")), nonce_of(m)),
            protocol.PAUSE: lambda m: supervisor.pause(run_name(m), nonce_of(m)),
            protocol.RESUME: lambda m: supervisor.resume(run_name(m), nonce_of(m)),
            protocol.FORGET: lambda m: supervisor.forget(run_names(m)),
            protocol.REMOVE: lambda m: supervisor.remove(run_names(m)),
            protocol.READ_LOG: self._read_log,
            protocol.FOLLOW: self._follow,
            protocol.UNFOLLOW: lambda m: self.followers.remove(identifier(m)),
            protocol.CONFIGURE: lambda m: self.samples.set_pace(max(_QUICKEST_SAMPLE_MS, amount(m, "sample_ms", 500))),
            protocol.PING: lambda m: self.send({"op": protocol.PONG, "id": m.get("id")}),
            protocol.SHUTDOWN: lambda m: self.departure.shut_down(bool(m.get("when_idle"))),
        }

    def line(self, line: bytes) -> None:
        id = None
        self.departure.server_spoke()
        try:
            message = protocol.decode(line)
            id = message.get("id")
            operation = self._operations.get(message["op"])
            if operation is None:
                raise BadMessage(f"no such operation: {message['op'][:100]}")
            operation(message)
        except (BadMessage, BadSpec) as problem:
            self.send({"op": protocol.ERROR, "id": id, "message": str(problem)})
        except Exception as problem:  # a bug of ours must not cost the lines behind this one
            self.send({"op": protocol.ERROR, "id": id, "message": f"{type(problem).__name__}: {problem}"})
            self.report(traceback.format_exc())

    def _stop(self, message: Message) -> None:
        why = message.get("why") or protocol.KILL
        if not isinstance(why, str):
            raise BadMessage("why is not a text")
        grace_ms = None if message.get("grace_ms") is None else amount(message, "grace_ms", DEFAULT_GRACE_MS)
        self.supervisor.stop(run_name(message), why, grace_ms, nonce_of(message))

    def _read_log(self, message: Message) -> None:
        name, stream = run_name(message), _stream(message)
        log = find_log(self.life.path(name), self._record(message), stream)
        limit = amount(message, "limit", _FIRST_READ_BYTES)
        if message.get("lines") is not None:
            chunk = reader.read_last_lines(log, amount(message, "lines", 0), amount(message, "limit", 1 << 62))
        else:
            chunk = reader.read_range(log, whole(message, "offset", 0), limit)
        data = base64.b64encode(chunk.data).decode("ascii")
        self.send({"op": protocol.LOG, "id": message.get("id"), **chunk._asdict(), "data": data, "dropped": log.dropped})

    def _follow(self, message: Message) -> None:
        name, stream = run_name(message), _stream(message)

        def has_ended() -> bool:
            run = self.life.runs.get(name)
            return run is None or run.phase == ENDED

        source = Source(self.life.path(name), self._record(message), stream, has_ended)
        self.followers.add(identifier(message), source, max(0, whole(message, "offset", 0)))

    def _record(self, message: Message) -> Record:
        name, nonce = run_name(message), nonce_of(message)
        run = self.life.runs.get(name)
        record = run.record if run is not None and run.record is not None else self.life.read_record(name)
        if record is None or nonce not in (None, record.nonce):
            raise BadMessage(f"no such run here: {name}")
        return record


def run_name(message: Message) -> str:
    name = message.get("run")
    if not isinstance(name, str) or not protocol.is_run_name(name):
        raise BadMessage(f"not a run: {str(name)[:100]!r}")
    return name


def run_names(message: Message) -> List[str]:
    names = message.get("runs")
    if not isinstance(names, list):
        raise BadMessage("runs is not a list")
    return [run_name({"run": name}) for name in names]


def nonce_of(message: Message) -> Optional[str]:
    """With what the run was started; None: the message is about any run of that name."""
    nonce = message.get("nonce")
    if nonce is not None and not isinstance(nonce, str):
        raise BadMessage("nonce is not a text")
    return nonce


def identifier(message: Message) -> Any:
    id = message.get("id")
    if not isinstance(id, (str, int)):
        raise BadMessage("id is neither a text nor a number")
    return id


def whole(message: Message, key: str, otherwise: int) -> int:
    """A whole number, also a negative one."""
    value = message.get(key)
    if value is None:
        return otherwise
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 62:
        return value
    raise BadMessage(f"{key} is not a whole number")


def amount(message: Message, key: str, otherwise: int) -> int:
    """A whole number that is not negative."""
    value = whole(message, key, otherwise)
    if value < 0:
        raise BadMessage(f"{key} is negative")
    return value


def _stream(message: Message) -> str:
    stream = message.get("stream") or "out"
    if stream not in ("out", "err"):
        raise BadMessage("stream is neither out nor err")
    return str(stream)
