"""Throw-away UNIX accounts, and a Roost that they can run: for tests of what holds between people.

Only root can make accounts: `needs_root` skips loudly for everybody else. What is made is taken away again, and so is
every process of those accounts. The clone, its environment and its interpreter may lie where no other account can look
(in /root, say): `Reach` is a copy, or the original where that will do.
"""

from __future__ import annotations

import contextlib
import functools
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.box import LOOK_S, ROOT, Box, Ran
from tests.hidden_accounts import MARK

from roost.node.system.procfs import read_stat

PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
_TOOLS = ("__pycache__", "mypy*", "ruff*", "hypothesis*", "_pytest*", "pip*", "setuptools*")


def needs_root(what: str) -> pytest.MarkDecorator:
    """Skip unless we are root and can make accounts; `what` says what then stays untested."""
    able = os.geteuid() == 0 and shutil.which("useradd", path=PATH) and shutil.which("userdel", path=PATH)
    return pytest.mark.skipif(not able, reason=f"NOT TESTED, needs root and useradd: {what}")


class Account:
    """One account of this machine, with a home of its own."""

    def __init__(self, name: str) -> None:
        self.name = name
        entry = pwd.getpwnam(name)
        self.uid, self.gid, self.home = entry.pw_uid, entry.pw_gid, Path(entry.pw_dir)

    @property
    def identity(self) -> dict[str, Any]:
        """What `subprocess` needs to become this account, with all of its groups."""
        groups = os.getgrouplist(self.name, self.gid)
        return {"user": self.uid, "group": self.gid, "extra_groups": groups}

    def environment(self, **more: str) -> dict[str, str]:
        """A clean login's environment: nothing of ours is in it."""
        names = {"HOME": str(self.home), "USER": self.name, "LOGNAME": self.name, "SHELL": "/bin/sh"}
        return names | {"PATH": PATH, "LC_ALL": "C.UTF-8", "NO_COLOR": "1"} | more

    def popen(self, argv: list[str], *, env: dict[str, str] | None = None, **more: Any) -> subprocess.Popen[str]:
        """Start that as this account; streams are pipes unless said otherwise."""
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        kept = {"cwd": self.home, "umask": 0o022, "text": True, **streams, **more}
        return subprocess.Popen(argv, env=self.environment(**(env or {})), **self.identity, **kept)

    def run(self, argv: list[str], *, env: dict[str, str] | None = None, timeout: float = 60, **more: Any) -> Ran:
        """Run that as this account, to its end, whatever that is."""
        with self.popen(argv, env=env, **more) as process:
            try:
                out, err = process.communicate(timeout=timeout)
            except BaseException:
                process.kill()
                raise
        return Ran(process.returncode, out or "", err or "")

    def processes(self) -> list[int]:
        """Every process that runs as this account."""
        found = []
        for name in os.listdir("/proc"):
            with contextlib.suppress(OSError):
                if name.isdigit() and os.stat(f"/proc/{name}").st_uid == self.uid:
                    found.append(int(name))
        return found

    def end_processes(self, within_s: float = 10) -> None:
        """KILL whatever runs as this account, until nothing does."""
        deadline = time.monotonic() + within_s
        while left := self.processes():
            for pid in left:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            if time.monotonic() > deadline:
                raise AssertionError(f"processes of {self.name} do not end: {left}")
            time.sleep(LOOK_S)


@contextlib.contextmanager
def throw_away_accounts(*stems: str) -> Iterator[list[Account]]:
    """Accounts whose names begin like that; deleted at the end, with their processes and homes."""
    remove_left_behind()
    with contextlib.ExitStack() as made:
        yield [made.enter_context(throw_away_account(f"{stem}{os.urandom(3).hex()}")) for stem in stems]


@contextlib.contextmanager
def throw_away_account(name: str, *options: str) -> Iterator[Account]:
    """One of that very name, with more options of `useradd`. Its comment says which process wants it: a later run removes
    those of processes that were killed."""
    home = tempfile.mkdtemp(prefix=f"{name}-", dir="/tmp")
    os.rmdir(home)  # useradd makes it, with the account's own rights
    words = ("--create-home", "--home-dir", home, "--shell", "/bin/sh", "--user-group", "--comment", _mark(os.getpid()))
    _tool("useradd", *words, *options, name)
    try:
        os.chmod(home, 0o750)
        yield Account(name)
    finally:
        _remove(Account(name))


def remove_left_behind() -> None:
    """Remove the accounts of test runs that were killed."""
    for entry in pwd.getpwall():
        found = _MARK.fullmatch(entry.pw_gecos)
        if found is not None and entry.pw_gecos != _mark(int(found[1])):
            with contextlib.suppress(AssertionError, KeyError):  # another worker does the same
                _remove(Account(entry.pw_name))


_MARK = re.compile(MARK + r"(\d+) \d*")


def _mark(pid: int) -> str:
    """What names this very process, whatever gets its number later."""
    stat = read_stat(pid)
    return f"{MARK}{pid} {stat.starttime if stat is not None else ''}"


def _remove(account: Account) -> None:
    account.end_processes()
    if account.home.parent == Path("/tmp"):
        shutil.rmtree(account.home, ignore_errors=True)
    _tool("userdel", account.name)


def _tool(*words: str, within_s: float = 20) -> None:
    """Run it; again where another test has the files of the accounts locked in this moment."""
    deadline = time.monotonic() + within_s
    while True:
        done = subprocess.run(words, env={"PATH": PATH}, capture_output=True, text=True, timeout=60)
        if done.returncode == 0:
            return
        if "lock" not in done.stderr or time.monotonic() > deadline:
            raise AssertionError(f"{' '.join(words)}: exit code {done.returncode}: {done.stderr}")
        time.sleep(LOOK_S)


class Reach:
    """A Roost that every account can run: interpreter, source, dependencies."""

    def __init__(self, directory: Path) -> None:
        self.python = _reachable_python()
        self.source = directory / "src"
        shutil.copytree(ROOT / "src", self.source, ignore=shutil.ignore_patterns("__pycache__"))
        libraries = {Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")}
        found = [self._library(directory / f"lib{number}", path) for number, path in enumerate(sorted(libraries))]
        self.environment = {"PYTHONPATH": ":".join(map(str, [self.source, *found])), "PYTHONDONTWRITEBYTECODE": "1"}
        self.program = directory / "bin" / "roost"
        self.program.parent.mkdir()
        line = f"{self.python} -P -c 'import sys; from roost.cli import main; sys.exit(main())'"
        self.program.write_text(f'#!/bin/sh\nexec {line} "$@"\n')
        _open_to_all(directory)

    def _library(self, copy: Path, path: Path) -> Path:
        if is_reachable(path):
            return path
        shutil.copytree(path, copy, ignore=shutil.ignore_patterns(*_TOOLS))
        return copy


@contextlib.contextmanager
def reachable_roost() -> Iterator[Reach]:
    """A copy of this clone's Roost that every account can run; removed at the end."""
    directory = Path(tempfile.mkdtemp(prefix="roost-reach-", dir="/tmp"))
    try:
        yield Reach(directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def is_reachable(path: Path) -> bool:
    """Whether any account may go there and read it."""
    path = path.resolve()
    ways = all(parent.stat().st_mode & 0o001 for parent in path.parents)
    return ways and path.exists() and bool(path.stat().st_mode & 0o004)


@functools.cache
def _reachable_python() -> str:
    """This interpreter, or one of the same version that every account can run: compiled dependencies must fit."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    for path in (sys.executable, f"/usr/bin/python{version}", f"/usr/local/bin/python{version}"):
        if is_reachable(Path(path)):
            return path
    pytest.skip(f"NOT TESTED, needs a Python {version} that other accounts can run")


def _open_to_all(directory: Path) -> None:
    directory.chmod(0o755)
    for path in directory.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" else 0o644)


class AccountBox(Box):
    """A box whose server, node program and commands are all of that account."""

    def __init__(self, account: Account, reach: Reach, *, gpus: str = "4x24G", env: dict[str, str] | None = None) -> None:
        super().__init__(gpus=gpus)
        self.account, self.reach = account, reach
        for path in (self.work, self.claims):
            os.chown(path, account.uid, account.gid)
        mine = {"ROOST_HOME": str(self.home), "ROOST_CLAIMS": str(self.claims), "PATH": f"{reach.program.parent}:{PATH}"}
        self.env = account.environment(**reach.environment, **(mine | (env or {})))

    def command(self, *words: str | int) -> list[str]:
        return [str(self.reach.program), *map(str, words)]

    def run(self, *words: str | int, **more: Any) -> Ran:
        return super().run(*words, **self.account.identity, umask=0o022, **more)

    def background(self, *words: str | int, **more: Any) -> subprocess.Popen[str]:
        return super().background(*words, **self.account.identity, umask=0o022, **more)
