"""Faults at every call: a small library (`shim.c`) that is preloaded into every process of a test and breaks one call.

faults = Faults(root, tmp_path)             # calls for files below `root` count
run(env=faults.env)
calls = faults.calls()                      # what was done, in order
faults.plan(Fault("write", "roost.db-wal", 3, errno.ENOSPC))
run(env=faults.env)                         # now the third write to that file fails
"""

from __future__ import annotations

import errno
import os
import shutil
import struct
import subprocess
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).with_name("shim.c")
_HEAD = struct.Struct("=IIII II 16s512s IIII")
_SIZE = _HEAD.size + 4 * 65536
FAIL, SHORT, BYTE, KILL = range(4)
"""The call does nothing; does half; does one byte, and the next one that needs room fails; or SIGKILL comes before it."""
LINE = "*" * 100


class Call(NamedTuple):
    """What a process did to a file."""

    call: str
    path: str
    occurrence: int
    what: str
    """`ok`; `room`, when it needs some; or that it was `broken`, `failed` or found the disk `full`."""


class Fault(NamedTuple):
    """Which call is broken, and how."""

    call: str
    path: str
    occurrence: int
    error: int
    how: int = FAIL
    lasts: bool = False
    """The disk stays full until `Faults.heal`."""
    nth: int = 0
    """Of all calls, instead of which one."""

    def __str__(self) -> str:
        error = errno.errorcode.get(self.error, "")
        how = (error, "half of it", f"one byte, then {error}", "SIGKILL")[self.how]
        where = f"call {self.nth}" if self.nth else f"{self.call} {self.path} #{self.occurrence}"
        return f"{where}: {how}{' from then on' if self.lasts else ''}"


def nth(number: int, error: int, how: int = FAIL, lasts: bool = False) -> Fault:
    """The n-th of all calls."""
    return Fault("", "", 0, error, how, lasts, number)


@cache
def library() -> Path | None:
    """The compiled shim; None, and said loudly, where there is no compiler for it."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    made = Path(tempfile.mkdtemp(prefix="roost-shim-")) / "shim.so"
    if compiler is not None:
        done = subprocess.run(
            [compiler, "-shared", "-fPIC", "-O1", "-o", made, SOURCE, "-ldl"], capture_output=True, text=True
        )
        if done.returncode == 0:
            return made
    why = "there is no C compiler (apt install gcc libc6-dev)" if compiler is None else done.stderr
    warnings.warn(f"\n{LINE}\nNOT TESTED: faults at every call: {why}\n{LINE}", stacklevel=2)
    return None


class Faults:
    """What happens to the calls of processes that have `env`."""

    def __init__(self, root: Path, place: Path) -> None:
        self._control = place / "faults"
        self._calls = place / "faults.calls"
        self.heal()
        self.env = {"LD_PRELOAD": str(library()), "FAULTS_CONTROL": str(self._control), "FAULTS_ROOT": str(root)}

    def plan(self, fault: Fault | None) -> None:
        """From now on count anew, and break that call."""
        self._calls.write_bytes(b"")
        head = bytes(_HEAD.size)
        if fault is not None:
            names = fault.call.encode(), fault.path.encode()
            head = _HEAD.pack(1, fault.how, fault.error, fault.lasts, fault.nth, fault.occurrence, *names, 0, 0, 0, 0)
        with open(self._control, "r+b" if self._control.exists() else "w+b") as file:
            file.write(head + bytes(_SIZE - _HEAD.size))

    def heal(self) -> None:
        """From now on nothing fails."""
        if not self._control.exists():
            self.plan(None)
        with open(self._control, "r+b") as file:
            file.write(bytes(4))

    @property
    def has_fired(self) -> bool:
        """Whether the call was broken."""
        with open(self._control, "rb") as file:
            return bool(_HEAD.unpack(file.read(_HEAD.size))[8])

    def calls(self) -> list[Call]:
        """What was done since the plan was made."""
        lines = [line.split("\t") for line in self._calls.read_text(errors="replace").splitlines()]
        return [Call(call, path, int(occurrence), what) for _, call, path, occurrence, what in lines]


def preload(environment: dict[str, str]) -> dict[str, str]:
    """The environment of this process with that."""
    return {**os.environ, **environment}
