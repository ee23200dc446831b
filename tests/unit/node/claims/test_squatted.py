"""What an account puts where root's claims will be: links, pipes, directories, files, locks. None of it keeps root out,
except a claim: a lock that somebody holds."""

from __future__ import annotations

import fcntl
import os
import pwd
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from roost.node.claims.claims import Claims, Refused
from roost.node.claims.modes import EACH, STANDING
from roost.node.gpus.driver import Gpu

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="NOT TESTED, needs root: that nothing squatted keeps root from its GPUs"
)
NOBODY = pwd.getpwnam("nobody")
GPU = Gpu("GPU-5", 0, "x", 1, False)
NAME = "roost-gpu-GPU-5.lock"


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory as /run/lock is: root's, sticky, open to all."""
    path = Path(f"/tmp/roost-claims-{os.getpid()}")
    path.mkdir()
    path.chmod(0o1777)
    monkeypatch.setenv("ROOST_CLAIMS", str(path))
    yield path
    for name in os.listdir(path):
        (path / name).rmdir() if (path / name).is_dir() else (path / name).unlink()
    path.rmdir()


def as_nobody(act: Callable[[], object]) -> int:
    """Do that as another account; the exit code, 1 where it raised."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.setgid(NOBODY.pw_gid)
            os.setuid(NOBODY.pw_uid)
            act()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def hard_link(path: Path) -> None:
    (path.parent / "mine").touch()
    os.link(path.parent / "mine", path)


@pytest.mark.parametrize("squat", [link, hard_link, os.mkfifo, Path.mkdir, Path.touch], ids=lambda f: f.__name__)
def test_what_claims_nothing_is_put_aside_and_root_keeps_the_gpu(shared: Path, squat: Callable[[Path], None]) -> None:
    assert as_nobody(lambda: squat(shared / NAME)) == 0
    before = Path("/etc/passwd").stat()
    root = Claims(STANDING, lambda text: None)
    assert root.others([GPU]) == {}
    root.tick([GPU])
    assert root.others([GPU]) == {}
    root.take("1.1", [GPU])
    found = (shared / NAME).lstat()
    assert (found.st_uid, oct(found.st_mode), found.st_nlink) == (0, "0o100644", 1)
    after = Path("/etc/passwd").stat()
    assert (after.st_ino, after.st_mtime_ns, after.st_nlink) == (before.st_ino, before.st_mtime_ns, before.st_nlink)
    assert as_nobody((shared / NAME).unlink) == 1
    assert as_nobody(lambda: Claims(EACH, lambda text: None).take("7.1", [GPU])) == 1
    root.release("1.1")
    root.leave()
    assert as_nobody(lambda: Claims(EACH, lambda text: None).take("7.1", [GPU])) == 0


def test_a_lock_that_somebody_holds_is_a_claim_for_root_too_until_it_is_let_go(shared: Path) -> None:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setuid(NOBODY.pw_uid)
        fcntl.flock(os.open(shared / NAME, os.O_RDONLY | os.O_CREAT, 0o644), fcntl.LOCK_EX)
        os.write(writer, b"held")
        signal.pause()
    try:
        assert os.read(reader, 10) == b"held"
        root = Claims(STANDING, lambda text: None)
        root.tick([GPU])
        assert root.others([GPU]) == {GPU.uuid: {"claimed_by": {"user": "nobody", "pid": pid}}}
        with pytest.raises(Refused, match=f"claimed by nobody's Roost .pid {pid}."):
            root.take("1.1", [GPU])
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(reader)
        os.close(writer)
    root.tick([GPU])
    assert root.others([GPU]) == {} and (shared / NAME).stat().st_uid == 0
    root.leave()
