"""A run on disk: the files that outlive the node program, and what they say.

Reads and writes files of one run; starts and signals nothing. The files are the truth about the run: a new
daemon knows a run only from here.
"""

from __future__ import annotations

import json
import os
from typing import Any, Dict, NamedTuple, Optional, Tuple

from roost.node.processes import Stat, parse_stat
from roost.node.protocol import Message
from roost.node.spec import OPEN_NEW, OPEN_OVERWRITE, SAME_AS_STDOUT, Spec
from roost.node.state import read_text, write_text

_encoder = json.JSONEncoder(separators=(",", ":"))
_LOG_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOCTTY


class Record(NamedTuple):
    """What is needed to end, limit and report a run, written before it begins."""

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


def write_record(path: str, record: Record, spec: Spec) -> None:
    """spec.json: the record and what was asked, without the environment."""
    asked = {"argv": spec.argv, "shell": spec.shell, "cwd": spec.cwd}
    text = _encoder.encode({"roost": record._asdict(), "asked": asked})
    fd = os.open(path + "/spec.json", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, text.encode("ascii"))
    finally:
        os.close(fd)


def read_record(path: str) -> Optional[Record]:
    """The record, or None where it is missing or was cut short by a crash of the machine."""
    text = read_text(path + "/spec.json")
    try:
        values = json.loads(text or "")["roost"]
        record = Record(**{name: values.get(name) for name in Record._fields})
        return record._replace(gpus=tuple(record.gpus))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def read_process(path: str, name: str) -> Optional[Stat]:
    """What the `wrapper` or the `pid` file says of its process."""
    text = read_text(f"{path}/{name}")
    return None if text is None else parse_stat(text)


def read_exit(path: str) -> Optional[int]:
    """The status that the wrapper noted."""
    text = (read_text(path + "/exit") or "").strip()
    return int(text) if text.isdigit() else None


def note(path: str, name: str, values: Dict[str, Any]) -> None:
    """Keep something about the run in a small file of its own (`stop`, `paused`, `error`, `ended`)."""
    write_text(f"{path}/{name}", json.dumps(values) + "\n")


def read_note(path: str, name: str) -> Message:
    """What was kept under that name; empty when nothing was."""
    try:
        values = json.loads(read_text(f"{path}/{name}") or "{}")
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}


def file_time_ms(path: str, name: str) -> Optional[int]:
    """When that file of the run was last written: the only clock that ran while no daemon was alive."""
    try:
        return os.stat(f"{path}/{name}").st_mtime_ns // 1_000_000
    except OSError:
        return None


def log_paths(path: str, spec: Spec) -> Tuple[str, str]:
    """Where standard output and standard error go."""
    out = spec.stdout or path + "/out.log"
    err = out if spec.stderr == SAME_AS_STDOUT else spec.stderr or path + "/err.log"
    return out, err


def open_log(file: str, path: str, how: str) -> int:
    """Open an output file for the job. Always appending: two descriptors on one file, or a log that is cut, stay whole.

    Within the run's own directory nothing can be in the way; elsewhere `how` decides about a file that exists.
    """
    if is_own_log(file, path):
        return os.open(file, _LOG_FLAGS, 0o600)
    flags = _LOG_FLAGS | os.O_NONBLOCK  # the user may have named a pipe that nobody reads
    if how == OPEN_NEW and file != "/dev/null":
        flags |= os.O_EXCL
    elif how == OPEN_OVERWRITE:
        flags |= os.O_TRUNC
    fd = os.open(file.encode("utf-8", "surrogateescape"), flags, 0o666)
    os.set_blocking(fd, True)
    return fd


def is_own_log(file: str, path: str) -> bool:
    """Whether the file stands in the run's own directory."""
    return file.startswith(path + "/")
