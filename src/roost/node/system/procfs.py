"""Processes as /proc shows them, and which belong to a run where no cgroup says so.

A process is a pid and its start time together: a pid alone can be another's.
"""

from __future__ import annotations

import os
import pwd
from typing import Dict, Iterable, List, NamedTuple, Optional, Set, Tuple

from roost.node.system import libc
from roost.node.system.host import boot_s

ProcessId = Tuple[int, int]
TICKS_PER_S = os.sysconf("SC_CLK_TCK")  # the unit of start times
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_GONE = ("Z", "X", "x")
_SETTLED_S = 5.0
_KERNEL = 2  # the parent of every kernel thread


class Stat(NamedTuple):
    """What /proc/PID/stat says, as far as anybody here needs it."""

    pid: int
    comm: str
    state: str
    ppid: int
    pgrp: int
    session: int
    starttime: int

    @property
    def id(self) -> ProcessId:
        return (self.pid, self.starttime)

    @property
    def is_alive(self) -> bool:
        """A zombie has ended: it holds no GPU and runs nothing."""
        return self.state not in _GONE


def parse_stat(text: str) -> Optional[Stat]:
    """One line of /proc/PID/stat; None when it is not one (an empty or a cut file)."""
    left, right = text.find("("), text.rfind(")")
    fields = text[right + 1 :].split()
    if left < 1 or right < left or len(fields) < 20:
        return None
    try:
        pid, ppid, pgrp, session, start = (int(x) for x in (text[:left], fields[1], fields[2], fields[3], fields[19]))
    except ValueError:
        return None
    return Stat(pid, text[left + 1 : right], fields[0], ppid, pgrp, session, start)


def read_stat(pid: int) -> Optional[Stat]:
    """The process with this pid, dead or alive; None when there is none."""
    return parse_stat(_read(f"/proc/{pid}/stat").decode("utf-8", "replace"))


def is_alive(process: ProcessId) -> bool:
    """Whether that very process still runs."""
    stat = read_stat(process[0])
    return stat is not None and stat.starttime == process[1] and stat.is_alive


def watch(process: ProcessId) -> Optional[int]:
    """A pidfd of that very process, or None when it has ended. The start time is read after the open: no reuse."""
    try:
        fd = libc.pidfd_open(process[0])
    except OSError:
        return None
    if is_alive(process):
        return fd
    os.close(fd)
    return None


def scan() -> Dict[int, Stat]:
    table = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            stat = read_stat(int(name))
            if stat is not None and stat.is_alive:
                table[stat.pid] = stat
    return table


def children_of_self() -> Optional[Set[int]]:
    """Our own children, zombies too; None on a kernel that does not tell."""
    pid = os.getpid()
    try:
        with open(f"/proc/{pid}/task/{pid}/children", "rb") as file:
            return {int(word) for word in file.read().split()}
    except OSError:
        return None


class Kinship(NamedTuple):
    """By what the processes of a run are known where there is no cgroup."""

    tag: str
    session: int
    since: int
    known: Set[ProcessId]


def find_members(table: Dict[int, Stat], kin: Kinship, never: Iterable[int], tags: Tags) -> List[Stat]:
    """Every living process of the run: its session, its tag, those seen before, and all their descendants."""
    excluded = set(never)
    young = [s for s in table.values() if s.starttime >= kin.since and s.pid not in excluded and s.ppid != _KERNEL]
    found = {s.pid for s in young if kin.session in (s.session, s.ppid) or s.id in kin.known}
    found |= {s.pid for s in young if s.pid not in found and tags.of(s) == kin.tag}
    while True:
        more = {s.pid for s in young if s.ppid in found and s.pid not in found}
        if not more:
            return [table[pid] for pid in sorted(found)]
        found |= more


class Tags:
    """The tags of processes, each read once: with many runs, everybody would be asked by every run, every second.

    A tag stays with its process, even when an exec clears the environment. That there is none is believed only of a
    process that has been there for a while: one that was just forked has yet to become a job's.
    """

    def __init__(self) -> None:
        self._known: Dict[ProcessId, Optional[str]] = {}

    def of(self, stat: Stat) -> Optional[str]:
        if stat.id in self._known:
            return self._known[stat.id]
        tag = read_tag(stat.pid)
        if tag is not None or boot_s() - stat.starttime / TICKS_PER_S > _SETTLED_S:
            self._known[stat.id] = tag
        return tag

    def keep_only(self, table: Dict[int, Stat]) -> None:
        """Forget those who are gone."""
        living = {stat.id for stat in table.values()}
        self._known = {process: tag for process, tag in self._known.items() if process in living}


def read_tag(pid: int) -> Optional[str]:
    """The value of ROOST_RUN in the environment that the process was started with."""
    environ = _read(f"/proc/{pid}/environ")
    start = 0 if environ.startswith(b"ROOST_RUN=") else environ.find(b"\0ROOST_RUN=") + 1
    if start == 0 and not environ.startswith(b"ROOST_RUN="):
        return None
    end = environ.find(b"\0", start)
    return environ[start + 10 : end if end >= 0 else None].decode("utf-8", "replace")


def is_becoming(pid: int) -> bool:
    """Whether the process is in the middle of an exec: for a moment it shows neither its environment nor its arguments."""
    return read_stat(pid) is not None and not _read(f"/proc/{pid}/environ") and not _read(f"/proc/{pid}/cmdline")


def user_of(pid: int) -> Optional[str]:
    """The name of the account that the process runs as; None when it is gone."""
    uid = owner_of(pid)
    return None if uid is None else user_name(uid)


def user_name(uid: int) -> str:
    """The account's name; its number where it has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def owner_of(pid: int) -> Optional[int]:
    """The real uid of the process; None when it is gone. Its files in /proc are root's as soon as it wishes."""
    for line in _read(f"/proc/{pid}/status").splitlines():
        if line.startswith(b"Uid:"):
            return int(line.split()[1])
    return None


def command_of(pid: int, limit: int = 200) -> str:
    """The command line for people, cut at `limit` characters; the bare name for kernel threads and zombies."""
    raw = _read(f"/proc/{pid}/cmdline")
    text = raw.rstrip(b"\0").replace(b"\0", b" ").decode("utf-8", "replace")
    if not text:
        stat = read_stat(pid)
        text = f"[{stat.comm}]" if stat else "?"
    return text if len(text) <= limit else text[: limit - 1] + "…"


def resident_mib(pids: Iterable[int]) -> int:
    """What these processes have of the host's memory; what several of them share counts for each."""
    pages = (_read(f"/proc/{pid}/statm").split() for pid in pids)
    return sum(int(words[1]) for words in pages if len(words) > 1) * _PAGE_BYTES >> 20


def survives(pid: int, number: int) -> bool:
    """Whether the process catches, blocks or ignores that signal, so that it is not simply ended by it."""
    for line in _read(f"/proc/{pid}/status").splitlines():
        name, _, mask = line.partition(b":\t")
        if name in (b"SigCgt", b"SigBlk", b"SigIgn") and int(mask, 16) >> (number - 1) & 1:
            return True
    return False


def arguments_of(pid: int) -> List[str]:
    return _read(f"/proc/{pid}/cmdline").decode("utf-8", "surrogateescape").split("\0")


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""
