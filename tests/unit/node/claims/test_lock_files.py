"""The directory and the files of claims: what somebody malicious could have prepared is refused, with words."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from roost.node.claims import lock_files as files
from roost.node.claims.lock_files import Unusable

NAME = "roost-gpu-SIM-1.lock"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED, needs root: a directory of another account")
Making = Callable[[Path], None]


def test_a_directory_of_ones_own_will_do(tmp_path: Path) -> None:
    with files.opened(str(tmp_path)) as directory:
        os.close(files.open_lock(directory, NAME))
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o644  # whatever the umask: other accounts must be able to open it


def test_the_systems_own_directory_is_taken_when_none_is_named() -> None:
    assert files.find_directory(None) in files.SYSTEM_DIRECTORIES
    assert files.find_directory("/named") == "/named"


def test_only_a_sticky_directory_of_roots_is_the_systems_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loose, good, link = tmp_path / "loose", tmp_path / "good", tmp_path / "link"
    loose.mkdir()
    loose.chmod(0o777)
    good.mkdir()
    good.chmod(0o1777)
    link.symlink_to(good)
    monkeypatch.setattr(files, "SYSTEM_DIRECTORIES", (str(tmp_path / "none"), str(loose), str(link), str(good)))
    if os.geteuid() == 0:
        assert files.find_directory(None) == str(good)
        os.chown(good, 65534, 65534)
    with pytest.raises(Unusable, match="ROOST_CLAIMS"):
        files.find_directory(None)


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o775])
def test_a_directory_that_others_may_write_must_be_sticky(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    with pytest.raises(Unusable, match="not sticky"), files.opened(str(tmp_path)):
        pass
    tmp_path.chmod(mode | 0o1000)
    with files.opened(str(tmp_path)):
        pass


@needs_root
def test_a_directory_of_another_account_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    os.chown(tmp_path, 65534, 65534)
    with pytest.raises(Unusable, match=r"belongs to .*ROOST_CLAIMS"), files.opened(str(tmp_path)):
        pass


def test_a_link_to_a_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(Unusable, match="symbolic link"), files.opened(str(tmp_path / "link")):
        pass


@pytest.mark.parametrize("path", ["claims", "", "/nonexistent/claims", "/dev/null"])
def test_what_is_no_directory_is_refused(path: str) -> None:
    with pytest.raises(Unusable, match="ROOST_CLAIMS"), files.opened(path):
        pass


def _symlink(path: Path) -> None:
    (path.parent / "elsewhere").touch()
    path.symlink_to(path.parent / "elsewhere")


def _dangling(path: Path) -> None:
    path.symlink_to(path.parent / "made by the victim")


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _hard_link(path: Path) -> None:
    path.touch()
    os.link(path, path.parent / "second name")


def _directory(path: Path) -> None:
    path.mkdir()


@pytest.mark.parametrize("make", [_symlink, _dangling, _fifo, _hard_link, _directory])
def test_a_lock_file_must_be_a_plain_one_with_one_name(tmp_path: Path, make: Making) -> None:
    make(tmp_path / NAME)
    with files.opened(str(tmp_path)) as directory:
        with pytest.raises(Unusable, match="delete it"):
            files.open_lock(directory, NAME)
        with pytest.raises(Unusable):
            files.inode_of(directory, NAME)
    assert not (tmp_path / "made by the victim").exists()


def test_a_lock_keeps_others_out_and_lets_ones_own_come_beside(tmp_path: Path) -> None:
    with files.opened(str(tmp_path)) as directory:
        first, own, other = (files.open_lock(directory, NAME) for _ in range(3))
        assert files.lock_alone(first)
        assert files.lock_beside(own)
        assert not files.lock_alone(other)
        files.unlock(first)
        assert not files.lock_alone(other)  # the second of the first is still there
        os.close(own)
        assert files.lock_alone(other)
        for fd in (first, other):
            os.close(fd)


def test_a_lock_is_kept_by_a_process_that_inherited_it(tmp_path: Path) -> None:
    with files.opened(str(tmp_path)) as directory:
        held, other = files.open_lock(directory, NAME), files.open_lock(directory, NAME)
        assert files.lock_alone(held)
        with subprocess.Popen(["/bin/sh", "-c", "read x"], stdin=subprocess.PIPE, pass_fds=[held]) as child:
            os.close(held)
            assert not files.lock_alone(other)
            child.communicate(b"\n")
        assert files.lock_alone(other)
        os.close(other)


def test_a_replaced_file_is_noticed(tmp_path: Path) -> None:
    with files.opened(str(tmp_path)) as directory:
        fd = files.open_lock(directory, NAME)
        assert files.is_current(directory, NAME, fd)
        (tmp_path / NAME).unlink()
        assert not files.is_current(directory, NAME, fd)
        new = files.open_lock(directory, NAME)
        assert not files.is_current(directory, NAME, fd)
        assert files.is_current(directory, NAME, new)
        os.close(fd)
        os.close(new)


def test_only_a_file_that_nobody_holds_is_removed(tmp_path: Path) -> None:
    with files.opened(str(tmp_path)) as directory:
        fd = files.open_lock(directory, NAME)
        assert files.lock_alone(fd)
        files.remove_if_unused(directory, NAME)
        assert (tmp_path / NAME).exists()
        files.unlock(fd)
        files.remove_if_unused(directory, NAME)
        assert not (tmp_path / NAME).exists()
        os.close(fd)
        files.remove_if_unused(directory, NAME)
