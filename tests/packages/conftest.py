"""What a release consists of, made once for all tests of it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from tests.box import ROOT


@pytest.fixture(scope="session")
def release() -> Path:
    """The folder that `make dist` fills."""
    made = subprocess.run(["make", "dist"], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert made.returncode == 0, made.stdout
    return ROOT / "dist"
