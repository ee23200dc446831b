"""Root's helper of an account's program: makes, fills, limits and removes the cgroups of the account's runs.

`become` forks it before it drops its rights. It ends with the program that it serves, whose end of the socket no job has.
Believes nothing: it acts below the account's base only, and on processes of that account only.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import re
import select
import signal
import socket
from typing import Any, Callable, Dict, List, Optional

from roost.node.protocol import is_run_name
from roost.node.state_dir import closing, read_or_empty
from roost.node.system import cgroup, libc
from roost.node.system.cgroup import Cgroups, Limits
from roost.node.system.root_cgroups import MAX_BYTES

_MAX_CGROUPS = 20_000
_MAX_DEVICES = 10_000
# What the account may write in the cgroup of a run of its own: it could kill and stop these processes anyway.
_GIVEN = ("cgroup.kill", "cgroup.freeze")


class Bad(Exception):
    """A request that is not carried out."""


def start_helper(base: str, account: pwd.struct_passwd) -> int:
    """A helper for that account, with no ties to us; the descriptor that speaks to it, which an exec keeps."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    child = os.fork()
    if child == 0:
        _be_helper(base, account, theirs)
    theirs.close()
    os.waitpid(child, 0)
    os.set_inheritable(ours.fileno(), True)
    return ours.detach()


def _be_helper(base: str, account: pwd.struct_passwd, connection: socket.socket) -> None:
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        libc.close_all_but({connection.fileno()})
        os.chdir("/")
        libc.set_process_name("roost-cgroups")
        Helper(base, account, connection).serve()
    finally:
        os._exit(0)


class Helper:
    def __init__(self, base: str, account: pwd.struct_passwd, connection: socket.socket) -> None:
        self._base, self._account, self._connection = base, account, connection
        self._cgroups = Cgroups(base)
        self._acts: Dict[str, Callable[[str, Dict[str, Any]], None]] = {
            "create": self._create,
            "enter": self._enter,
            "assign": self._assign,
            "remove": lambda path, _: self._remove(path),
        }

    def serve(self) -> None:
        """Until the other end is closed."""
        while True:
            data = self._connection.recv(MAX_BYTES)
            if not data:
                return
            self._say(self._answer(data))

    def _say(self, answer: Dict[str, Any]) -> None:
        self._connection.send(json.dumps(answer).encode())

    def _answer(self, data: bytes) -> Dict[str, Any]:
        try:
            message = json.loads(data)
            if message["op"] == "hello":
                return {"devices": self._cgroups.devices}
            name, act = message["name"], self._acts[message["op"]]
            if not is_run_name(name) or name == cgroup.DAEMON:
                raise Bad("no name of a cgroup")
            act(os.path.join(self._base, name), message)
        except (Bad, OSError) as problem:
            return {"error": str(problem)}
        except (ValueError, KeyError, TypeError, RecursionError):
            return {"error": "a request that makes no sense"}
        return {}

    def _create(self, path: str, _: Dict[str, Any]) -> None:
        if len(cgroup.subdirectories(self._base)) >= _MAX_CGROUPS:
            raise Bad("too many cgroups")
        self._cgroups.create(os.path.basename(path))
        for name in _GIVEN:
            with contextlib.suppress(FileNotFoundError):  # a kernel before 5.14
                os.chown(os.path.join(path, name), self._account.pw_uid, self._account.pw_gid)

    def _enter(self, path: str, message: Dict[str, Any]) -> None:
        """The number must be the same process's before and after: what another account has must not come under this one."""
        pid = _whole(message["pid"], 1 << 22)
        with closing(libc.pidfd_open(pid)) as pidfd:
            if _uids(pid) != {self._account.pw_uid}:
                raise Bad("a process of another account")
            _put(path, pid)
            if not select.select([pidfd], [], [], 0)[0]:
                return
        self._put_strangers_out(path)
        raise Bad("the process has ended")

    def _put_strangers_out(self, path: str) -> None:
        for pid in cgroup.processes(path):
            if self._account.pw_uid not in _uids(pid):
                _put(os.path.dirname(self._base), pid)

    def _assign(self, path: str, message: Dict[str, Any]) -> None:
        devices: Optional[List[Any]] = message["devices"]
        if devices is not None and len(devices) > _MAX_DEVICES:
            raise Bad("too many devices")
        allowed = None if devices is None else frozenset((_whole(a, 1 << 12), _whole(b, 1 << 20)) for a, b in devices)
        processes = None if message["processes"] is None else _whole(message["processes"], 1 << 22)
        self._cgroups.assign(path, str(message["run"])[:200], Limits(allowed, processes))

    def _remove(self, path: str) -> None:
        self._cgroups.remove(path)


def _put(path: str, pid: int) -> None:
    with open(os.path.join(path, "cgroup.procs"), "w", encoding="ascii") as file:
        file.write(str(pid))


def _uids(pid: int) -> set[int]:
    """The real, effective, saved and file system uid."""
    found = re.search(r"^Uid:\s+(.*)$", read_or_empty(f"/proc/{pid}/status"), re.MULTILINE)
    return set(map(int, found.group(1).split())) if found is not None else set()


def _whole(value: Any, limit: int) -> int:
    if type(value) is not int or not 0 <= value <= limit:
        raise Bad("a number is out of its range")
    return value
