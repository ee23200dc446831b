"""`check`: what this machine offers to a server, as one JSON object within ten seconds. Leaves nothing behind.

`server/nodes/node_check.py` says what the facts mean.
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
from typing import Any, Dict, List, Optional, Set, Tuple

from roost.node.commands.attach_as import drop_rights, find_account, find_python
from roost.node.commands.login_sessions import look_at_logout, max_sessions
from roost.node.commands.questions import Question, ask
from roost.node.gpus.sampler import find_real_gpus
from roost.node.state_dir import StateDir, StateError, connect, read_or_empty
from roost.node.system.cgroup import NO_CGROUP, Cgroups, open_cgroups
from roost.node.system.home_dir import look_at_home
from roost.node.system.host import boot_id, wall_ms
from roost.node.system.procfs import owner_of, read_tag

VERSION = 1
LIMIT_S = 8.0
_ACCOUNT = "account "
_NVIDIA = "0x10de"
_DISPLAYS = ("0x0300", "0x0302")
Facts = Dict[str, Any]
Leftovers = Dict[str, Dict[str, List[str]]]


def check(state: str, accounts: List[str], sim: Optional[str], program: str) -> None:
    """Print the facts. The clock is read first and last: the server compares both with its own."""
    began_ms = wall_ms()
    answers = ask(_questions(state, accounts, sim), LIMIT_S)
    found = {name: answers.pop(_ACCOUNT + name) for name in accounts}
    facts = {
        "version": VERSION,
        "program": program,
        "python": platform.python_version(),
        "python_path": sys.executable,
        "uid": os.geteuid(),
        "host": platform.node(),
        "boot": boot_id(),
        "cpus": os.cpu_count() or 1,
        "load": os.getloadavg()[0],
        **answers,
        "accounts": found,
        "began_ms": began_ms,
        "at_ms": wall_ms(),
    }
    print(json.dumps(facts), flush=True)


def _questions(state: str, accounts: List[str], sim: Optional[str]) -> Dict[str, Question]:
    questions: Dict[str, Question] = {
        "login": _login,
        "gpus": partial(_gpus, sim),
        "disk": partial(_disk, state),
        "cgroups": _cgroups,
        "devices": _devices,
        "logout": lambda: look_at_logout(_login()),
        "max_sessions": max_sessions,
        "leftovers": partial(leftovers, state),
    }
    for name in accounts:
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
    version = read_or_empty("/sys/module/nvidia/version").strip() or None  # of the kernel's module
    found = find_real_gpus()
    gpus = [{"model": gpu.model, "mem_mib": gpu.mem_mib, "mig": gpu.mig} for gpu in found.gpus]
    return {"source": found.source, "gpus": gpus, "driver": version, "cards": _count_cards(), "error": found.error}


def _count_cards() -> int:
    """NVIDIA's cards in the machine, with or without a driver."""
    devices = glob.glob("/sys/bus/pci/devices/*")
    kinds = ((read_or_empty(path + "/vendor").strip(), read_or_empty(path + "/class")[:6]) for path in devices)
    return sum(vendor == _NVIDIA and kind in _DISPLAYS for vendor, kind in kinds)


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
    return _try_cgroups() is not None


def _devices() -> str:
    """Why the kernel cannot keep jobs from GPUs that they were not given; empty: it can."""
    found = _try_cgroups()
    return NO_CGROUP if found is None else found.devices


def _try_cgroups() -> Optional[Cgroups]:
    found = open_cgroups(f"check-{os.getpid()}")
    if found is not None:
        found.leave()
    return found


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


def leftovers(state: str) -> Leftovers:
    """What lives here of nodes that this machine was before, for the same server: they were removed while out of reach.

    Each has a directory beside this state directory, which is `…/SERVER/NODE/node`; its program and runs are known by its
    `state_id`. By node: the runs that live, by the account whose program has them; the node's own is empty.
    """
    base = os.path.dirname(state)
    names = _identities(os.path.dirname(base), os.path.basename(base))
    alive = _alive() if names else set()
    found: Leftovers = {}
    for name, (identity, path) in names.items():
        runs: Dict[str, List[str]] = {}
        for account, tag in sorted(alive):
            if tag.startswith(identity + ":"):
                runs.setdefault(account, []).append(tag[len(identity) + 1 :])
        if _is_served(path):
            runs.setdefault("", [])
        if runs:
            found[name] = runs
    return found


def _identities(above: str, own: str) -> Dict[str, Tuple[str, str]]:
    """Of every other node: the name of its state directory, and its path."""
    try:
        names = sorted(set(os.listdir(above)) - {own})
    except OSError:
        return {}
    paths = {name: os.path.join(above, name, "node") for name in names}
    known = {name: read_or_empty(os.path.join(path, "state_id")).strip() for name, path in paths.items()}
    return {name: (identity, paths[name]) for name, identity in known.items() if identity}


def _alive() -> Set[Tuple[str, str]]:
    """The account and the tag of every process of a run."""
    found = set()
    for name in os.listdir("/proc"):
        tag = read_tag(int(name)) if name.isdigit() else None
        if tag is not None:
            found.add((_program_of(int(name)), tag))
    return found


def _program_of(pid: int) -> str:
    """Whose program has a run: the account's, where root has become one."""
    uid = owner_of(pid)
    if os.geteuid() != 0 or uid in (None, 0):
        return ""
    try:
        return pwd.getpwuid(uid or 0).pw_name
    except KeyError:
        return ""


def _is_served(path: str) -> bool:
    connection = connect(StateDir(path))
    if connection is not None:
        connection.close()
    return connection is not None
