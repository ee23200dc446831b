"""A run on disk: the files that outlive the node program. A new daemon knows a run only from here."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from typing import Any, Dict, NamedTuple, Optional, Tuple

from roost.node.protocol import Message
from roost.node.runs.run_spec import OPEN_NEW, OPEN_OVERWRITE, SAME_AS_STDOUT, Spec
from roost.node.state_dir import StateDir, read_or_empty, read_text, write_text

_encoder = json.JSONEncoder(separators=(",", ":"))
_LOG_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOCTTY
_LONGEST_COMMAND_KEPT = 2000


class Record(NamedTuple):
    """What is needed to end, limit and report a run. The wrapper writes it down before the job begins."""

    boot: str
    start_boot_ms: int
    started_ms: int
    cgroup: Optional[str]
    gpus: Tuple[str, ...]
    out: str
    err: str
    time_limit_ms: Optional[int]
    warn_ms: int
    warn_signal: int
    grace_ms: int
    log_max_bytes: Optional[int]
    nonce: str = ""


class Trace(NamedTuple):
    """How far a run has come, by its own account; None for what it has not come to."""

    wrapper_pid: Optional[int]
    record: Optional[Record]
    main_pid: Optional[int]
    status: Optional[int]
    problem: Optional[Message]
    at_ms: int


def record_text(record: Record, spec: Spec) -> str:
    """The record as one line, with the command for people who read the file. Never the environment."""
    command = spec.argv if spec.argv is not None else spec.shell or "script"
    values = record._asdict()
    values["command"] = str(command)[:_LONGEST_COMMAND_KEPT]
    return _encoder.encode(values)


def read_trace(state: StateDir, name: str) -> Optional[Trace]:
    """The trace of a run, acknowledged or not; None for one that never began."""
    for path in (state.marker(name), state.run(name) + "/trace"):
        text = read_text(path)
        if text is not None:
            return parse_trace(text, os.stat(path).st_mtime_ns // 1_000_000)
    return None


def has_trace(state: StateDir, name: str) -> bool:
    """Whether the run ever began, or was found impossible."""
    return os.path.exists(state.marker(name)) or os.path.exists(state.run(name) + "/trace")


def parse_trace(text: str, at_ms: int) -> Trace:
    """Pure. Lines that are missing, or were cut by a full disk or a crash of the machine, are unknown; of the statuses that
    were tried the last one counts."""
    lines = [*text.split("\n")[:-1], "", "", ""]
    if text.startswith("{"):
        return Trace(None, None, None, None, _object(lines[0]), at_ms)
    wrapper, record, main, *statuses = lines
    status = next(filter(None, reversed(statuses)), "")
    return Trace(_number(wrapper), parse_record(record), _number(main), _number(status), None, at_ms)


def parse_record(text: str) -> Optional[Record]:
    """The record, or None where it was cut short."""
    values = _object(text)
    if not isinstance(values.get("boot"), str):
        return None
    record = Record(**{name: values.get(name) for name in Record._fields})  # type: ignore[arg-type]
    return record._replace(gpus=tuple(record.gpus or ()), nonce=record.nonce or "")


def write_problem(state: StateDir, name: str, values: Dict[str, Any]) -> None:
    """The trace of a run that could not even begin."""
    write_text(state.marker(name), _encoder.encode(values) + "\n")


def note_status(state: StateDir, name: str, status: int) -> None:
    """The exit status of a run whose wrapper died before it could note it."""
    with open(state.marker(name), "a", encoding="ascii") as trace:
        trace.write(f"{status}\n" if read_or_empty(state.marker(name)).endswith("\n") else f"\n{status}\n")


def erase(state: StateDir, name: str) -> None:
    """Leave nothing of a run that never began."""
    with contextlib.suppress(OSError):
        os.unlink(state.marker(name))
    shutil.rmtree(state.run(name), ignore_errors=True)


def acknowledge(state: StateDir, name: str) -> None:
    """The server knows the end: the trace leaves `active` for the run's own directory."""
    try:
        os.rename(state.marker(name), state.run(name) + "/trace")
    except FileNotFoundError:
        if os.path.exists(state.marker(name)):  # the directory is gone
            os.unlink(state.marker(name))


def note(path: str, name: str, values: Dict[str, Any]) -> None:
    """Keep something about the run in a small file of its own (`stop`, `paused`, `warned`, `dropped-out`)."""
    write_text(f"{path}/{name}", _encoder.encode(values) + "\n")


def read_note(path: str, name: str) -> Message:
    """What was kept under that name; empty when nothing was."""
    return _object(read_text(f"{path}/{name}") or "")


def log_paths(path: str, spec: Spec) -> Tuple[str, str]:
    out = spec.stdout or path + "/out.log"
    err = out if spec.stderr == SAME_AS_STDOUT else spec.stderr or path + "/err.log"
    return out, err


def is_own_log(file: str, path: str) -> bool:
    """Whether the file stands in the run's own directory."""
    return file.startswith(path + "/")


def claim_output(file: str, how: str) -> None:
    """Make the file that the user named ready for a job that will append to it; `how` decides about one that exists."""
    flags = _LOG_FLAGS | os.O_NONBLOCK  # it may be a pipe that nobody reads
    if how == OPEN_NEW and file != os.devnull:
        flags |= os.O_EXCL
    elif how == OPEN_OVERWRITE:
        flags |= os.O_TRUNC
    os.close(os.open(file, flags, 0o666))


def _object(text: str) -> Message:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


def _number(text: str) -> Optional[int]:
    return int(text) if text.isascii() and text.isdigit() else None
