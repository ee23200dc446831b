"""The same fake server as for the client, and a way to run command lines in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.unit.client.conftest import home, server

from roost.cli import main

__all__ = ["home", "server"]


class Ran(NamedTuple):
    """How a command line ended."""

    code: int
    out: str
    err: str


Roost = Callable[..., Ran]


@pytest.fixture
def roost(home: Path, capfd: pytest.CaptureFixture[str]) -> Roost:
    """Runs `roost …` here."""

    def run(*words: str) -> Ran:
        capfd.readouterr()
        code = main(words)
        found = capfd.readouterr()
        return Ran(code, found.out, found.err)

    return run
