"""The archive: the same sources give the same bytes, and it runs."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from roost.links.local import _shared_program
from roost.node.build import build


def test_twice_is_the_same_file(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    first, second = build(str(tmp_path / "a")), build(str(tmp_path / "b"))
    assert Path(first.path).read_bytes() == Path(second.path).read_bytes()
    assert Path(first.path).name == f"roost-node-{first.content[:12]}.pyz"
    assert build(str(tmp_path / "a")) == first


def test_it_holds_the_program_and_nothing_else(tmp_path: Path) -> None:
    names = set(zipfile.ZipFile(build(str(tmp_path)).path).namelist())
    assert {"__main__.py", "roost/__init__.py", "roost/node/main.py", "roost/node/runs/spawn.py"} <= names
    assert all(name.startswith("roost/node/") or name in ("__main__.py", "roost/__init__.py", "pynvml.py") for name in names)


def test_it_runs_without_anything_installed(tmp_path: Path) -> None:
    archive = build(str(tmp_path))
    told = subprocess.run([sys.executable, "-I", "-S", archive.path, "--help"], capture_output=True, text=True)
    assert told.returncode == 0
    assert "attach" in told.stdout


@pytest.mark.parametrize("keep", [0.0, 0.5, 0.999])
@pytest.mark.parametrize("filler", [b"", b"\0"])
def test_what_a_power_failure_left_of_it_is_made_anew(tmp_path: Path, keep: float, filler: bytes) -> None:
    """Its name was on the disk before its content was: Python runs an empty file without a word."""
    path = Path(build(str(tmp_path)).path)
    whole = path.read_bytes()
    left = whole[: int(len(whole) * keep)]
    path.write_bytes(left + filler * (len(whole) - len(left)))
    assert Path(build(str(tmp_path)).path).read_bytes() == whole


def test_a_byte_that_changed_is_noticed(tmp_path: Path) -> None:
    path = Path(build(str(tmp_path)).path)
    whole = path.read_bytes()
    middle = len(whole) // 2
    path.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
    assert Path(build(str(tmp_path)).path).read_bytes() == whole


def test_the_copy_for_all_accounts_is_made_anew_too(tmp_path: Path) -> None:
    (tmp_path / "node").mkdir()
    shared = Path(_shared_program(tmp_path))
    whole = shared.read_bytes()
    shared.write_bytes(b"")
    assert Path(_shared_program(tmp_path)).read_bytes() == whole
