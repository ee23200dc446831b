"""What the server asks to run, checked field by field. Pure; whether this machine can do it is for `command.py`."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from functools import partial
from typing import Any, Callable, Dict, Iterable, List, Optional

from roost.node.protocol import Message

OPEN_NEW = "new"
OPEN_APPEND = "append"
OPEN_OVERWRITE = "overwrite"
SAME_AS_STDOUT = "stdout"
DEFAULT_GRACE_MS = 30_000


class BadSpec(ValueError):
    """A start that can never be carried out as it is written."""


@dataclass(frozen=True)
class Spec:
    """One run as it was asked for. Exactly one of `argv`, `shell`, `script` is set."""

    argv: Optional[List[str]]
    shell: Optional[str]
    script: Optional[str]
    args: List[str]
    cwd: str
    env: Dict[str, str]
    vars: Dict[str, str]
    gpus: List[str]
    fill: bool
    stdout: Optional[str]
    stderr: Optional[str]
    open: str
    umask: Optional[int]
    time_limit_ms: Optional[int]
    warn_ms: int
    warn_signal: int
    grace_ms: int
    log_max_bytes: Optional[int]
    enforce_devices: bool
    """Whether the kernel lets it open the GPUs that it is given, and no other, where it can."""
    max_processes: Optional[int]
    no_new_privs: bool


def parse_spec(raw: Any) -> Spec:
    if not isinstance(raw, dict):
        raise BadSpec("spec is not an object")
    spec = Spec(
        argv=_texts(raw, "argv"),
        shell=_text(raw, "shell"),
        script=_text(raw, "script"),
        args=_texts(raw, "args") or [],
        cwd=_text(raw, "cwd") or "/",
        env=_text_map(raw, "env") or {},
        vars=_text_map(raw, "vars") or {},
        gpus=_texts(raw, "gpus") or [],
        fill=bool(raw.get("fill")),
        stdout=_text(raw, "stdout"),
        stderr=_text(raw, "stderr"),
        open=_text(raw, "open") or OPEN_NEW,
        umask=_umask(raw.get("umask")),
        time_limit_ms=_amount(raw, "time_limit_ms"),
        warn_ms=_amount(raw, "warn_ms") or 0,
        warn_signal=signal_number(raw.get("warn_signal") or "USR2"),
        grace_ms=_amount(raw, "grace_ms", DEFAULT_GRACE_MS),
        log_max_bytes=_amount(raw, "log_max_bytes"),
        enforce_devices=bool(raw.get("enforce_devices")),
        max_processes=_amount(raw, "max_processes"),
        no_new_privs=bool(raw.get("no_new_privs")),
    )
    _check_command(spec)
    if spec.open not in (OPEN_NEW, OPEN_APPEND, OPEN_OVERWRITE):
        raise BadSpec(f"open is none of new, append, overwrite: {spec.open}")
    return spec


def signal_number(name: Any) -> int:
    """`USR1`, `SIGUSR1` or a number, as a number."""
    if isinstance(name, int) and not isinstance(name, bool) and 1 <= name <= 64:
        return name
    text = str(name).upper()
    text = text if text.startswith("SIG") else "SIG" + text
    try:
        return int(signal.Signals[text])
    except KeyError:
        raise BadSpec(f"no such signal: {name}") from None


def _check_command(spec: Spec) -> None:
    given = [x for x in (spec.argv, spec.shell, spec.script) if x is not None]
    if len(given) != 1:
        raise BadSpec("exactly one of argv, shell, script is needed")
    if spec.argv is not None and (not spec.argv or not spec.argv[0]):
        raise BadSpec("the command is empty")


def _field(is_right: Callable[[Any], bool], words: str, raw: Message, key: str, otherwise: Optional[int] = None) -> Any:
    value = raw.get(key)
    if value is None:
        return otherwise
    if not is_right(value):
        raise BadSpec(f"{key} is not {words}")
    return value


def _are_texts(values: Iterable[Any]) -> bool:
    return set(map(type, values)) <= {str}


_text = partial(_field, lambda value: isinstance(value, str), "a text")
_texts = partial(_field, lambda value: isinstance(value, list) and _are_texts(value), "a list of texts")
_text_map = partial(_field, lambda value: isinstance(value, dict) and _are_texts(value.values()), "a map of texts")
_amount = partial(_field, lambda value: type(value) is int and 0 <= value < 1 << 62, "a whole number")


def _umask(value: Any) -> Optional[int]:
    """A number, or octal digits as people write it."""
    if isinstance(value, str):
        try:
            value = int(value, 8)
        except ValueError:
            value = -1
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 0o777):
        return value
    raise BadSpec("umask is not a file mode")
