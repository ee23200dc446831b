"""Workloads to replay: read from a file or from a server's history, cut to a window, squeezed and shaken.

Text and rows in, values out. Knows nothing of policies and decides nothing.
"""

import csv
import gzip
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from random import Random
from typing import IO, Any

import msgspec

from roost.messages import MessageError

REQUIRED = ("submit_time", "duration", "gpus")
NOBODY = "-"
"""The user of a job whose row names none."""
_MAX_S = 1e11
_GZIP = b"\x1f\x8b"


class Unusable(MessageError, ValueError):
    """The workload cannot be replayed like that; the message says what is wrong and where."""


class BadRow(MessageError, ValueError):
    """What is wrong in a row of a trace."""


class Arrival(msgspec.Struct, frozen=True, gc=False):
    """A job of a workload: when it came, how long it ran, what it asked for."""

    submit_ms: int
    run_ms: int
    gpus: int
    user: str
    work: str = ""
    limit_s: int = 0


class TraceWindow(msgspec.Struct, frozen=True):
    """Which rows of a trace, and which column names the user; None: `user` where it has names, else `vc`."""

    user_column: str | None = None
    from_s: float | None = None
    to_s: float | None = None
    only: tuple[tuple[str, str], ...] = ()


class Workload(msgspec.Struct, frozen=True):
    """Jobs in the order in which they came; `start_ms` is where the window begins."""

    arrivals: tuple[Arrival, ...]
    start_ms: int
    without_gpus: int = 0
    """Jobs that asked for no GPU and are left out."""


Moment = tuple[int, Arrival]
"""When a job comes in one replay, and the job."""
_Row = tuple[Arrival, str]
"""A job of a trace, with the user that its column names, and its `vc`."""


def shaken(workload: Workload, squeeze: float, jitter_s: float, seed: int) -> list[Moment]:
    """The arrivals `squeeze` times denser, each then moved by up to `jitter_s` either way, none before the window."""
    start, chance = workload.start_ms, Random(seed)
    moments = []
    for arrival in workload.arrivals:
        at = start + (arrival.submit_ms - start) / squeeze
        if jitter_s:
            at += chance.uniform(-jitter_s, jitter_s) * 1000
        moments.append((max(start, round(at)), arrival))
    moments.sort(key=lambda moment: moment[0])
    return moments


# -- from a file --------------------------------------------------------------------------------------------------------


def read_trace(path: str, wanted: TraceWindow) -> Workload:
    """The rows of a CSV file, gzipped or not, that are wanted. Raises `Unusable` at the first row that is not valid."""
    try:
        with open(path, "rb") as raw:
            return parse_trace((line.decode("utf-8-sig") for line in _unpacked(raw)), wanted, path)
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise Unusable("trace.unreadable", path=path, why=reason) from None
    except UnicodeDecodeError:
        raise Unusable("trace.not_text", path=path) from None


def _unpacked(raw: IO[bytes]) -> Iterable[bytes]:
    is_packed = raw.read(2) == _GZIP
    raw.seek(0)
    return gzip.GzipFile(fileobj=raw) if is_packed else raw


def parse_trace(lines: Iterable[str], wanted: TraceWindow, path: str = "the trace") -> Workload:
    """The same from lines of text; `path` is what messages call it."""
    rows = csv.reader(lines)
    try:
        places = _places(next(rows, []), wanted, path)
        found = list(_matching(rows, places, wanted, path))
    except csv.Error as error:
        raise Unusable("trace.line", path=path, line=rows.line_num, why=str(error)) from None
    has_users = wanted.user_column is not None or any(arrival.user for arrival, _ in found)
    arrivals = [
        arrival if arrival.user else msgspec.structs.replace(arrival, user=(not has_users and vc) or NOBODY)
        for arrival, vc in found
    ]
    return _workload(arrivals, wanted.from_s, path)


def _places(header: Sequence[str], wanted: TraceWindow, path: str) -> dict[str, int]:
    """Where each column stands."""
    places = {name.strip(): at for at, name in enumerate(header)}
    asked = [name for name, _ in wanted.only] + ([wanted.user_column] if wanted.user_column else [])
    for name in (*REQUIRED, *asked):
        if name not in places:
            if not any(places):
                raise Unusable("trace.no_columns", path=path, column=name)
            raise Unusable("trace.no_column", path=path, column=name, known=list(places))
    return places


def _matching(rows: Iterator[list[str]], places: Mapping[str, int], wanted: TraceWindow, path: str) -> Iterator[_Row]:
    """The rows in the window that have the wanted values; every row is checked, wanted or not."""
    columns = len(places)
    only = [(places[name], value) for name, value in wanted.only]
    low = -math.inf if wanted.from_s is None else wanted.from_s * 1000
    high = math.inf if wanted.to_s is None else wanted.to_s * 1000
    number = 1
    for number, fields in enumerate(rows, 2):
        if not fields:
            continue
        try:
            if len(fields) != columns:
                raise BadRow("trace.fields", fields=len(fields), columns=columns)
            row = _row(fields, places, wanted.user_column or "user")
        except BadRow as error:
            raise Unusable("trace.line", path=path, line=number, why=error.said) from None
        if low <= row[0].submit_ms < high and all(fields[at] == value for at, value in only):
            yield row


def _row(fields: Sequence[str], places: Mapping[str, int], user_column: str) -> _Row:
    def text(name: str) -> str:
        return fields[places[name]] if name in places else ""

    limit = text("req_time")
    arrival = Arrival(
        _milliseconds(text("submit_time"), "submit_time"),
        _milliseconds(text("duration"), "duration"),
        _gpus(text("gpus")),
        text(user_column),
        text("name"),
        -(-_milliseconds(limit, "req_time") // 1000) if limit else 0,
    )
    return arrival, text("vc")


def _milliseconds(text: str, column: str) -> int:
    try:
        value = float(text)
    except ValueError:
        raise BadRow("trace.not_seconds", column=column, value=repr(text)) from None
    if not 0 <= value <= _MAX_S:
        raise BadRow("trace.out_of_range", column=column, most=f"{_MAX_S:g}", value=text)
    return round(value * 1000)


def _gpus(text: str) -> int:
    try:
        value = float(text)
        if not 0 <= value <= 1e6 or not value.is_integer():
            raise ValueError
    except ValueError:
        raise BadRow("trace.not_whole", value=repr(text)) from None
    return int(value)


# -- from a server's history --------------------------------------------------------------------------------------------


def from_history(rows: Iterable[Mapping[str, Any]]) -> Workload:
    """The runs of `GET /history`, in any order. A further attempt of a job comes when the one before it has ended."""
    ended: dict[int, int] = {}
    arrivals = []
    for row in sorted(rows, key=lambda row: (row["started_at"], row["job"])):
        started_ms, ended_ms = _moment_ms(row["started_at"]), _moment_ms(row["ended_at"])
        submit_ms = min(max(_moment_ms(row["submitted_at"]), ended.get(row["job"], 0)), started_ms)
        ended[row["job"]] = ended_ms
        arrivals.append(Arrival(submit_ms, max(0, ended_ms - started_ms), row["gpus"], row["user"], row["work"]))
    return _workload(arrivals, None, "the history")


def _moment_ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def _workload(arrivals: list[Arrival], from_s: float | None, name: str) -> Workload:
    """In order, without the jobs that want no GPU."""
    kept = sorted((a for a in arrivals if a.gpus), key=lambda a: a.submit_ms)
    if not kept:
        raise Unusable("trace.no_gpu_jobs" if arrivals else "trace.no_jobs", path=name)
    start_ms = kept[0].submit_ms if from_s is None else round(from_s * 1000)
    return Workload(tuple(kept), start_ms, len(arrivals) - len(kept))
