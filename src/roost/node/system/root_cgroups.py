"""The cgroups of an account's runs where root keeps them: the account asks for each through a socket, of root's helper.

`commands/cgroup_helper.py` is the other end. A job is its account's, so what the account could write, the job could too: it
would leave its cgroup, or open every GPU. The account only reads these, kills and freezes.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
from typing import Any, Dict, Set

from roost.node.system import cgroup
from roost.node.system.cgroup import Cgroups, Limits

MAX_BYTES = 1 << 16
_PATIENCE_S = 10.0


class HelperGone(OSError):
    """Root's helper does not answer: nothing can be started until there is another."""


class RootCgroups(Cgroups):
    is_roots = True

    def __init__(self, base: str, helper: socket.socket) -> None:
        """Raises OSError."""
        os.listdir(base)  # what the account cannot see would look empty to it
        self.base = base
        self.helper = helper
        helper.settimeout(_PATIENCE_S)
        # Asked, not waited for: a program that has made way may have spoken to the same helper.
        self.devices = str(self._ask("hello", base).get("devices", cgroup.NOT_ROOT))

    def create(self, run: str) -> str:
        path = os.path.join(self.base, run)
        self._ask("create", path)
        return path

    def enter(self, path: str, pid: int) -> None:
        self._ask("enter", path, pid=pid)

    def assign(self, path: str, run: str, limits: Limits) -> None:
        devices = None if limits.devices is None else sorted(limits.devices)
        self._ask("assign", path, run=run, devices=devices, processes=limits.processes)

    def sweep(self, kept: Set[str]) -> None:
        for name in cgroup.subdirectories(self.base):
            if name not in kept and name != cgroup.DAEMON:
                self.remove(os.path.join(self.base, name))

    def leave(self) -> None:
        """Nothing: root's own program removes the base."""

    def remove(self, path: str) -> bool:
        if cgroup.is_populated(path):
            return False
        with contextlib.suppress(OSError):  # it is empty, which is what counts; the next program sweeps it away
            self._ask("remove", path)
        return True

    def _ask(self, op: str, path: str, **fields: Any) -> Dict[str, Any]:
        message = json.dumps({"op": op, "name": os.path.basename(path), **fields}).encode()
        try:
            self.helper.send(message)
        except OSError as problem:
            raise HelperGone(f"root's helper has ended: {problem}") from None
        answer = self._hear()
        if "error" in answer:
            raise OSError(f"root's helper: {answer['error']}")
        return answer

    def _hear(self) -> Dict[str, Any]:
        try:
            data = self.helper.recv(MAX_BYTES)
        except OSError as problem:
            self.helper.shutdown(socket.SHUT_RDWR)  # an answer that comes late would be taken for another's
            raise HelperGone(f"root's helper does not answer: {problem}") from None
        if not data:
            raise HelperGone("root's helper has ended")
        answer = json.loads(data)
        return answer if isinstance(answer, dict) else {}
