from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from roost.server.process.service_manager import Supervisor


@pytest.mark.parametrize("is_abstract", [False, True])
def test_it_is_told_and_its_address_goes_no_further(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_abstract: bool
) -> None:
    name = f"@roost-test-{os.getpid()}" if is_abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.settimeout(10)
        listener.bind("\0" + name[1:] if is_abstract else name)
        monkeypatch.setenv("NOTIFY_SOCKET", name)
        supervisor = Supervisor()
        assert supervisor.is_there
        assert "NOTIFY_SOCKET" not in os.environ
        supervisor.tell("READY=1", "STATUS=at home")
        assert listener.recv(1000) == b"READY=1\nSTATUS=at home"


def test_nobody_there_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    assert not Supervisor().is_there
    Supervisor().tell("READY=1")
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "gone"))
    Supervisor().tell("READY=1")
