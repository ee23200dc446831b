"""Whether a home is the same directory on the server and on a node, judged by what each sees of it.

Pure. A file server keeps an inode's number and its times for all who mount it; two disks agree in both only by chance, or
because one machine is a copy of the other.
"""

from __future__ import annotations

from roost.server.nodes.machine_facts import Home

# Types of file systems that are one machine's own. What is not in here may be shared.
_LOCAL = frozenset(
    [
        "ext2",
        "ext3",
        "ext4",
        "xfs",
        "btrfs",
        "zfs",
        "f2fs",
        "jfs",
        "reiserfs",
        "bcachefs",
        "tmpfs",
        "ramfs",
        "overlay",
        "squashfs",
    ]
)


def is_shared(here: Home | None, there: Home | None, same_boot: bool) -> bool | None:
    """None when it cannot be told: nobody knows, or only its times differ, as they do while somebody writes in it.

    `same_boot`: both run on one kernel, so that they may share a disk without any file server (containers).
    """
    if here is None or there is None or here.path != there.path or here.inode is None or there.inode is None:
        return False if _is_missing(here, there) else None
    if not same_boot and here.fs in _LOCAL and there.fs in _LOCAL:
        return False
    if here.inode != there.inode or (same_boot and here.device != there.device):
        return False
    return True if same_boot or here.ctime_ns == there.ctime_ns else None


def _is_missing(here: Home | None, there: Home | None) -> bool:
    """Whether one of them knows the directory, and the other that it does not have it, or has another in its place."""
    if here is None or there is None:
        return False
    return here.path != there.path or (here.exists is True and there.exists is False)
