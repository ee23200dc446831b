"""`evict`: what root does when the program of an account does not end a run that it was told to end.

Believes nothing that the account has written. A process is of the run when it is in a cgroup of the run, below the base that
root made for the account, or when its real uid is the account's and it carries the run's tag or was seen on the run's GPUs.
Nothing else is touched, whatever it calls itself.
"""

from __future__ import annotations

import os
import signal
import time
from typing import Collection, List

from roost.node.commands.attach_as import find_account
from roost.node.state_dir import StateError, closing
from roost.node.system import cgroup, libc
from roost.node.system.procfs import ProcessId, owner_of, read_tag, scan, watch

_ROUNDS = 100
_PAUSE_S = 0.02


def evict(name: str, identity: str, run: str, seen: Collection[int]) -> bool:
    """Kill until nothing of that account's run is left; whether that came about. `seen` are processes on its GPUs.
    Raises `StateError` for no account, or root's."""
    if os.geteuid() != 0:
        raise StateError("only root ends the runs of other accounts")
    account = find_account(name)
    for _ in range(_ROUNDS):
        left = _members(account.pw_uid, identity, run, seen)
        if not left:
            return True
        for process in left:
            _kill(process)
        time.sleep(_PAUSE_S)
    return False


def _members(uid: int, identity: str, run: str, seen: Collection[int]) -> List[ProcessId]:
    """The start times are read first: what is found out by number below is true of that process, or it is not killed."""
    table = scan()
    base = cgroup.account_base(identity, uid)
    inside = set(cgroup.processes_of_run(base, run)) if base is not None else set()
    tag = f"{identity}:{run}"

    def is_of_run(pid: int) -> bool:
        return pid in inside or (owner_of(pid) == uid and (pid in seen or read_tag(pid) == tag))

    return [stat.id for pid, stat in table.items() if is_of_run(pid)]


def _kill(process: ProcessId) -> None:
    """That very process: the number cannot come to name another while the descriptor is open."""
    fd = watch(process)
    if fd is not None:
        with closing(fd):
            libc.pidfd_kill(fd, signal.SIGKILL)
