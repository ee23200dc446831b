"""Who holds a file lock, as the kernel shows it in /proc. Looks without touching: nobody's lock is disturbed by it."""

from __future__ import annotations

import os
from typing import Dict, Iterable, List, NamedTuple, Optional, Tuple

from roost.node.state_dir import read_text
from roost.node.system.procfs import user_of

# Major and minor number of the file system, and the inode there: how the kernel names a locked file.
FileId = Tuple[int, int, int]
SOMEBODY = "somebody"


class Claimant(NamedTuple):
    """Whose process took a lock. The pid is None when the kernel does not show it to us."""

    user: str
    pid: Optional[int]


def parse_locks(text: str) -> Dict[FileId, List[int]]:
    """Pure. The pids that took each file's flocks, from /proc/locks; those that only wait are left out."""
    found: Dict[FileId, List[int]] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) < 8 or words[1] != "FLOCK" or not words[4].lstrip("-").isdigit():
            continue
        file = _file_id(words[5])
        if file is not None:
            found.setdefault(file, []).append(int(words[4]))
    return found


def read_locks() -> Dict[FileId, List[int]]:
    """Every flock on this machine that the kernel shows to us."""
    return parse_locks(read_text("/proc/locks") or "")


def file_system(fd: int) -> Tuple[int, int]:
    """Major and minor number of the file system that a descriptor lies on. Not always those of `stat`: btrfs and overlays
    show others there, and /proc/locks has the file system's own."""
    told = (read_text(f"/proc/self/fdinfo/{fd}") or "").splitlines()
    mount = next((line[len("mnt_id:") :].strip() for line in told if line.startswith("mnt_id:")), None)
    for line in (read_text("/proc/self/mountinfo") or "").splitlines():
        words = line.split(" ", 3)
        if words[0] == mount and len(words) == 4:
            major, _, minor = words[2].partition(":")
            return int(major), int(minor)
    device = os.fstat(fd).st_dev
    return os.major(device), os.minor(device)


def hold_lock(pids: Iterable[int], file: FileId) -> bool:
    """Whether one of these processes has a locked descriptor of that file. Only told of one's own processes."""
    for pid in pids:
        try:
            names = os.listdir(f"/proc/{pid}/fdinfo")
        except OSError:
            continue
        if any(_has_lock(read_text(f"/proc/{pid}/fdinfo/{name}") or "", file) for name in names):
            return True
    return False


class Names:
    """The accounts behind pids. A name stays with a lock when the process that took it is gone: its job has it still."""

    def __init__(self) -> None:
        self._known: Dict[Tuple[FileId, int], str] = {}

    def claimant(self, file: FileId, pids: List[int]) -> Claimant:
        """Who took that file's lock; of several, the first."""
        for pid in pids:
            name = self._known.get((file, pid)) or (user_of(pid) if pid > 0 else None)
            if name is not None:
                self._known[file, pid] = name
                return Claimant(name, pid)
        return Claimant(SOMEBODY, None)

    def keep_only(self, locks: Dict[FileId, List[int]]) -> None:
        """Forget locks that are gone: their pids may be others' by now."""
        self._known = {key: name for key, name in self._known.items() if key[1] in locks.get(key[0], ())}


def _has_lock(text: str, file: FileId) -> bool:
    locks = (line.split() for line in text.splitlines() if line.startswith("lock:"))
    return any("FLOCK" in words and any(_file_id(word) == file for word in words) for words in locks)


def _file_id(word: str) -> Optional[FileId]:
    try:
        major, minor, inode = word.split(":")
        return int(major, 16), int(minor, 16), int(inode)
    except ValueError:
        return None
