"""`check`: what this machine offers to a Roost server and what it lacks, as one JSON object on standard output.

Tells facts; `server/nodes/node_check.py` says what they mean. Starts no daemon and leaves nothing behind.
Whatever may hang is asked in processes apart (`questions.py`), so an answer comes within ten seconds.
"""

from __future__ import annotations

import glob
import json
import os
import platform
import pwd
import sys
import tempfile
from functools import partial
from typing import Any, Dict, List, NamedTuple, Optional

from roost.node.commands.attach_as import drop_rights, find_account, find_python
from roost.node.commands.former_nodes import leftovers
from roost.node.commands.login_sessions import look_at_logout, max_sessions
from roost.node.commands.questions import Question, ask
from roost.node.gpus.driver import DriverError
from roost.node.gpus.real_driver import NVIDIA_SMI, NVML, open_driver
from roost.node.state_dir import StateError
from roost.node.system.cgroup import open_cgroups
from roost.node.system.clock import boot_id, wall_ms
from roost.node.system.home_dir import look_at_home

VERSION = 1
LIMIT_S = 8.0
_ACCOUNT = "account "
_NVIDIA = "0x10de"
_DISPLAYS = ("0x0300", "0x0302")
Facts = Dict[str, Any]


class Asked(NamedTuple):
    """What the server would do here."""

    state: str
    accounts: List[str]
    sim: Optional[str]
    program: str


def check(asked: Asked) -> None:
    """Print the facts."""
    print(json.dumps(gather(asked)), flush=True)


def gather(asked: Asked) -> Facts:
    """The facts. The clock is read first and last: the server compares both with its own."""
    began_ms = wall_ms()
    answers = ask(_questions(asked), LIMIT_S)
    accounts = {name: answers.pop(_ACCOUNT + name) for name in asked.accounts}
    return {
        "version": VERSION,
        "program": asked.program,
        "python": platform.python_version(),
        "python_path": sys.executable,
        "uid": os.geteuid(),
        "host": platform.node(),
        "boot": boot_id(),
        "cpus": os.cpu_count() or 1,
        "load": os.getloadavg()[0],
        **answers,
        "accounts": accounts,
        "began_ms": began_ms,
        "at_ms": wall_ms(),
    }


def _questions(asked: Asked) -> Dict[str, Question]:
    questions: Dict[str, Question] = {
        "login": _login,
        "gpus": partial(_gpus, asked.sim),
        "disk": partial(_disk, asked.state),
        "cgroups": _cgroups,
        "logout": lambda: look_at_logout(_login()),
        "max_sessions": max_sessions,
        "leftovers": partial(leftovers, asked.state),
    }
    for name in asked.accounts:
        questions[_ACCOUNT + name] = partial(_account, name)
    return questions


def _login() -> Optional[str]:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return None


def _gpus(sim: Optional[str]) -> Facts:
    """`{source, gpus, driver, cards, error}`: through what, which, and the driver's own words where there is no way."""
    if sim is not None:
        from roost.node.gpus.simulated import parse_sim_spec

        gpus = [{"model": "simulated", "mem_mib": mem_mib, "mig": False} for mem_mib in parse_sim_spec(sim)]
        return {"source": "sim", "gpus": gpus, "driver": None, "cards": 0, "error": None}
    found: Facts = {"source": None, "gpus": [], "driver": _driver_version(), "cards": _count_cards(), "error": None}
    for source in (NVML, NVIDIA_SMI):
        try:
            listed = open_driver(source).list()
        except DriverError as problem:
            found["error"] = found["error"] or str(problem)
            continue
        gpus = [{"model": gpu.model, "mem_mib": gpu.mem_mib, "mig": gpu.mig} for gpu in listed]
        return {**found, "source": source, "gpus": gpus}
    return found


def _driver_version() -> Optional[str]:
    """That of the kernel's module; None when it is not loaded."""
    return _read("/sys/module/nvidia/version") or None


def _count_cards() -> int:
    """NVIDIA's cards in the machine, with or without a driver."""
    devices = glob.glob("/sys/bus/pci/devices/*")
    return sum(_read(path + "/vendor") == _NVIDIA and _read(path + "/class")[:6] in _DISPLAYS for path in devices)


def _disk(state: str) -> Facts:
    """`{path, free_mib, free_inodes, error}` of where the state directory is or would be; `error`: why it cannot be
    written there."""
    place = state
    while not os.path.isdir(place) and place != "/":
        place = os.path.dirname(place)
    room = os.statvfs(place)
    free = room.f_bavail * room.f_frsize >> 20
    return {
        "path": state,
        "free_mib": free,
        "free_inodes": room.f_favail if room.f_files else None,
        "error": _cannot_write(place),
    }


def _cannot_write(place: str) -> Optional[str]:
    """By trying: rights alone do not tell of file systems that are read-only, full or over a quota."""
    try:
        with tempfile.TemporaryFile(dir=place) as file:
            file.write(b"\0" * 4096)
            file.flush()
    except OSError as problem:
        return f"{problem.strerror or problem}: {place}".lower()
    return None


def _cgroups() -> bool:
    """Whether each run can have a cgroup; what was tried is taken away again."""
    found = open_cgroups(f"check-{os.getpid()}")
    if found is not None:
        found.leave()
    return found is not None


def _account(name: str) -> Facts:
    """`{exists, uid, gid, home, python, error}`. As root, what it may do is asked with its own rights."""
    try:
        account = find_account(name)
    except StateError as problem:
        return {"exists": False, "error": str(problem)}
    if os.geteuid() == 0:
        drop_rights(account)
    return {
        "exists": True,
        "uid": account.pw_uid,
        "gid": account.pw_gid,
        "home": look_at_home(account.pw_dir),
        "python": find_python(),
        "error": None,
    }


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read().strip()
    except OSError:
        return ""
