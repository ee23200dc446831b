"""The file system of the home turns read-only under a running server, as the kernel does it after an error of the disk."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.box import Box, end, process, until

MIB = 96


def obstacle() -> str | None:
    """What stands in the way of a file system that can be broken."""
    if os.geteuid() != 0:
        return "needs root"
    if not Path("/dev/loop-control").exists() or not Path("/sys/fs/ext4").exists():
        return "needs loop devices and ext4"
    return None


pytestmark = [
    pytest.mark.skipif(obstacle() is not None, reason=f"NOT TESTED, {obstacle()}: a disk that turns read-only"),
    pytest.mark.long,
]


class Disk:
    """An ext4 file system for a home, in a file."""

    def __init__(self, box: Box) -> None:
        self.image, self.place = box.work / "image", box.home
        with self.image.open("wb") as file:
            file.truncate(MIB << 20)
        self.place.mkdir(mode=0o700)
        self._do("mkfs.ext4", "-q", str(self.image))
        self.mount()

    def mount(self) -> None:
        """As at boot."""
        self._do("mount", "-o", "loop,errors=remount-ro", str(self.image), str(self.place))
        self.place.chmod(0o700)

    def break_down(self) -> None:
        """An error, after which the kernel lets nobody write."""
        device = self._do("findmnt", "-no", "SOURCE", str(self.place)).strip()
        Path(f"/sys/fs/ext4/{os.path.basename(device)}/trigger_fs_error").write_text("1")

    def mend(self) -> None:
        """What an administrator does, with nothing running there."""
        self._do("umount", str(self.place))
        subprocess.run(["fsck.ext4", "-p", str(self.image)], capture_output=True, timeout=60)
        self.mount()

    def close(self) -> None:
        """Take it away."""
        subprocess.run(["umount", "-l", str(self.place)], capture_output=True, timeout=60)

    def _do(self, *words: str) -> str:
        return subprocess.run(words, check=True, capture_output=True, text=True, timeout=60).stdout


@pytest.fixture
def box() -> Iterator[Box]:
    made = Box(gpus="2x24G")
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def disk(box: Box) -> Iterator[Disk]:
    made = Disk(box)
    try:
        yield made
    finally:
        box.stop()
        made.close()


def test_what_was_acknowledged_is_there_after_fsck_and_jobs_run_on_meanwhile(box: Box, disk: Disk) -> None:
    box.up()
    job = box.submit("while [ ! -e go ]; do sleep 0.05; done; touch finished")
    box.comes_to(job, "running")
    ended = [box.submit("true") for _ in range(5)]
    for each in ended:
        box.ends(each, "succeeded")
    disk.break_down()

    assert box.run("submit", "true").code == 75
    until("health says so", lambda: "health:" in box.do("status"))
    assert f"{job} " in box.do("ls")
    box.file("go").touch()
    until("the job runs on to its end", box.file("finished").exists)
    box.do("down")
    for found in filter(None, map(process, box.nodes())):
        end(found)

    disk.mend()
    box.up()
    assert [box.state(each) for each in ended] == ["succeeded"] * 5
    fresh = box.submit("echo again")
    assert fresh > max(ended)
    box.ends(fresh, "succeeded")
    assert box.log(fresh) == "again\n"
    assert box.ends(job, "succeeded", "lost")["id"] == job
