"""`evict`: what root does when the program of an account does not end a run that it was told to end.

Believes nothing that the account has written. A process is of the run when it is in a cgroup of the run, below the base that
root made for the account, or when its real uid is the account's and it carries the run's tag or was seen on the run's GPUs.
Nothing else is touched, whatever it calls itself.
"""

from __future__ import annotations

import os
import pwd
import signal
import time
from typing import Iterable, List, NamedTuple, Set

from roost.node.commands.attach_as import find_account
from roost.node.state_dir import StateError
from roost.node.system import cgroup, libc
from roost.node.system.procfs import is_alive, owner_of, read_stat, read_tag

_ROUNDS = 100
_PAUSE_S = 0.02


class Eviction(NamedTuple):
    """Whose run is to end, and which processes were seen on its GPUs."""

    account: str
    identity: str
    run: str
    seen: List[int]


def evict(wish: Eviction) -> bool:
    """Kill until nothing of the run is left; whether that came about. Raises `StateError` for no account, or root's."""
    if os.geteuid() != 0:
        raise StateError("only root ends the runs of other accounts")
    account = find_account(wish.account)
    for _ in range(_ROUNDS):
        left = _members(wish, account)
        if not left:
            return True
        for pid in left:
            _kill(pid)
        time.sleep(_PAUSE_S)
    return False


def _members(wish: Eviction, account: pwd.struct_passwd) -> Set[int]:
    tag = f"{wish.identity}:{wish.run}"
    found = set(_in_cgroups(wish, account.pw_uid))
    for name in os.listdir("/proc"):
        if name.isdigit() and owner_of(int(name)) == account.pw_uid:
            pid = int(name)
            if pid in wish.seen or read_tag(pid) == tag:
                found.add(pid)
    return {pid for pid in found if _lives(pid)}


def _in_cgroups(wish: Eviction, uid: int) -> Iterable[int]:
    base = cgroup.account_base(wish.identity, uid)
    return cgroup.processes_of_run(base, wish.run) if base is not None else ()


def _lives(pid: int) -> bool:
    stat = read_stat(pid)
    return stat is not None and stat.is_alive


def _kill(pid: int) -> None:
    """That very process: the number cannot come to name another while the descriptor is open."""
    stat = read_stat(pid)
    try:
        fd = libc.pidfd_open(pid)
    except OSError:
        return
    try:
        if stat is not None and is_alive(stat.id):
            libc.pidfd_kill(fd, signal.SIGKILL)
    finally:
        os.close(fd)
