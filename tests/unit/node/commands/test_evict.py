"""`evict` kills the processes that it looked at, whatever becomes of their numbers meanwhile."""

from __future__ import annotations

import os
import pwd
import subprocess

import pytest

from roost.node.commands import evict as command
from roost.node.system import cgroup
from roost.node.system.procfs import Stat, read_stat

NOBODY = pwd.getpwnam("nobody")


def test_a_number_that_has_come_to_name_another_process_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that was found has ended, and its number is another's before the signal is sent."""
    with subprocess.Popen(["sleep", "600"]) as other:
        now = read_stat(other.pid)
        assert now is not None
        scanned: dict[int, Stat] = {other.pid: now._replace(starttime=now.starttime - 1)}
        monkeypatch.setattr(os, "geteuid", lambda: 0)
        monkeypatch.setattr(command, "_ROUNDS", 3)
        monkeypatch.setattr(command, "find_account", lambda _: NOBODY)
        monkeypatch.setattr(command, "scan", lambda: scanned)
        monkeypatch.setattr(cgroup, "account_base", lambda *_: "/base")
        monkeypatch.setattr(cgroup, "processes_of_run", lambda *_: [other.pid])
        assert not command.evict("nobody", "x", "1.1", [])
        assert other.poll() is None
        scanned[other.pid] = now
        command.evict("nobody", "x", "1.1", [])
        assert other.wait(20) == -9
