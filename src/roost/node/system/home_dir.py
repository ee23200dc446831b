"""What tells one home directory from another, seen from two machines: inode and times, not the device.

May hang where the file server does not answer.
"""

from __future__ import annotations

import os
from typing import Any, Dict, Optional


def look_at_home(path: str) -> Dict[str, Any]:
    """`{path, exists, inode, ctime_ns, device, fs, error}`; None for what is not known."""
    found: Dict[str, Any] = dict.fromkeys(("inode", "ctime_ns", "device", "fs", "error"))
    found.update(path=path, exists=False)
    try:
        status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return found
    except OSError as problem:
        return {**found, "exists": None, "error": (problem.strerror or str(problem)).lower()}
    found.update(exists=True, inode=status.st_ino, ctime_ns=status.st_ctime_ns, device=status.st_dev)
    found["fs"] = _file_system(os.path.realpath(path))
    return found


def _file_system(path: str) -> Optional[str]:
    """The type of the file system that holds the path: `ext4`, `nfs4`."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            return find_file_system(file.read(), path)
    except OSError:
        return None


def find_file_system(mountinfo: str, path: str) -> Optional[str]:
    """Pure. The last mount on the longest prefix counts: later ones cover earlier ones."""
    best, found = -1, None
    for line in mountinfo.splitlines():
        left, _, right = line.partition(" - ")
        fields = left.split()
        if len(fields) < 5 or not right:
            continue
        place = fields[4].replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
        holds = path == place or path.startswith(place.rstrip("/") + "/")
        if holds and len(place) >= best:
            best, found = len(place), right.split()[0]
    return found
