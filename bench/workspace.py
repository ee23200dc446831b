"""Directories for the systems under measurement, on a real disk, all removed together at the end.

Not one by one, because ext4 looks at every inode that was deleted in the last minutes before it takes a new one: where
thousands of files were just deleted, making a file costs 0.6 ms instead of 0.02, which spoils the next measurement.
For the same reason each directory is put into a part of the disk of its own, as the file system does with
top-level directories (`chattr +T`), away from what others delete in /tmp.
"""

from __future__ import annotations

import atexit
import functools
import shutil
import subprocess
import tempfile
from pathlib import Path


def new_directory(name: str) -> Path:
    """An empty directory that lives until this program ends. The path is short: UNIX sockets must fit."""
    path = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=_root()))
    path.chmod(0o755)
    return path


@functools.cache
def _root() -> Path:
    root = Path(tempfile.mkdtemp(prefix="roost-bench-", dir="/tmp"))
    root.chmod(0o755)
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    if shutil.which("chattr"):
        subprocess.run(["chattr", "+T", str(root)], capture_output=True, check=False)
    return root
