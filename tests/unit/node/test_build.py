"""The archive: the same sources give the same bytes, and it runs."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

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
