"""A fake server in a home of its own, for client and command line alike."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.unit.client.fake_server import FakeServer


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without a server."""
    directory = tmp_path / "home"
    directory.mkdir()
    monkeypatch.setenv("ROOST_HOME", str(directory))
    monkeypatch.delenv("ROOST_SERVER", raising=False)
    monkeypatch.delenv("ROOST_SIM_DIR", raising=False)
    monkeypatch.setenv("ROOST_AUTOSTART", "0")
    return directory


@pytest.fixture
def server(home: Path) -> Iterator[FakeServer]:
    """A home with a server that a test teaches what to say."""
    found = FakeServer(str(home / "roost.sock"))
    yield found
    found.stop()
