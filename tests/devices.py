"""Stand-ins for the device files of GPUs: the kernel asks a device filter before it looks for a driver.

Opening `/dev/nvidia0` without a driver says ENXIO; where a filter denies it, EPERM.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

NVIDIA = 195
OPEN = """
import errno, os, sys
for path in sys.argv[1:]:
    try:
        os.close(os.open(path, os.O_RDWR))
        said = "opened"
    except OSError as problem:
        said = errno.errorcode[problem.errno]
    print(os.path.basename(path), said, flush=True)
"""
"""Says of each path whether it can be opened."""


def make_gpu_devices(count: int) -> Path:
    """A directory with that many, which every account may open, and some that are no GPU."""
    directory = Path(tempfile.mkdtemp(prefix="roost-devices-", dir="/tmp"))
    directory.chmod(0o755)
    for minor in (*range(count), 254, 255):
        make_device(directory / f"nvidia{minor}", NVIDIA, minor)
    return directory


def make_device(path: Path, major: int, minor: int) -> None:
    """A character device that every account may open."""
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(major, minor))
    path.chmod(0o666)


def answers(said: str) -> dict[str, str]:
    """What `OPEN` printed, by name."""
    return dict(line.split() for line in said.splitlines())
