"""`backup`, `restore`, `archive` and every upgrade with a fault at every call: nothing that was there is gone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.box import ROOT
from tests.faults.operations import OPERATIONS
from tests.faults.shim import Faults, library, preload

SAMPLE, SEED = 10, 14


def report_of(name: str, place: Path, *options: object) -> dict[str, Any]:
    """What came of the cases, run inside the shim."""
    faults = Faults(place / "place", place)
    command = [sys.executable, "-m", "tests.faults.operations", name, place, *options]
    paths = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    done = subprocess.run(list(map(str, command)), env=preload(faults.env | paths), cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def assert_survived(report: dict[str, Any]) -> None:
    """No case lost anything, and the cases did happen."""
    assert not report["violations"], "\n".join(report["violations"][:10])
    assert sum(report["ends"].values()) == report["cases"] > 0
    assert not any("sqlalche" in said.lower() or "Traceback" in said for said in report["said"]), report["said"]


@pytest.mark.parametrize("name", ["backup", "restore", "archive", "copies", "migrate-0001"])
def test_a_fault_at_any_call_loses_nothing(name: str, tmp_path: Path) -> None:
    if library() is not None:
        report = report_of(name, tmp_path, "--sample", SAMPLE, "--seed", SEED)
        assert_survived(report)
        assert report["ends"].keys() - {"done"}, "some faults had consequences"


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", list(OPERATIONS))
def test_a_fault_at_every_call_loses_nothing(name: str, tmp_path: Path) -> None:
    if library() is not None:
        assert_survived(report_of(name, tmp_path))
