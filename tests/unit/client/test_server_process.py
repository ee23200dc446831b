from __future__ import annotations

import fcntl
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from roost.client import StartFailed, server_process

STUB = Path(__file__).with_name("stub_server.py")


@pytest.fixture
def stub(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Start the stub instead of a server, with these words. Whatever runs in the end is ended."""
    words: list[str] = []

    def command(home_dir: str, _arguments: tuple[str, ...]) -> list[str]:
        return [sys.executable, str(STUB), home_dir, *words]

    monkeypatch.setattr(server_process, "server_command", command)
    yield lambda *more: words.extend(more)
    for pid, *_ in starts(home):
        os.kill(int(pid), signal.SIGTERM)
        os.waitpid(int(pid), 0)


def starts(home: Path) -> list[list[str]]:
    if not (home / "starts").exists():
        return []
    return [line.split() for line in (home / "starts").read_text().splitlines()]


def test_inside_a_job_none_is_started(home: Path, stub: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOST_RUN", "x:1.1")
    with pytest.raises(StartFailed, match="inside a job"):
        server_process.start_server(str(home), f"{home}/roost.sock")
    assert not starts(home)


def test_it_comes_up_in_a_session_of_its_own(home: Path, stub: Callable[..., None]) -> None:
    assert server_process.start_server(str(home), f"{home}/roost.sock")
    ((pid, session, _),) = starts(home)
    assert pid == session
    assert [oct((home / name).stat().st_mode & 0o777) for name in ("start.log", "start.lock")] == ["0o600", "0o600"]


def test_it_is_not_started_twice(home: Path, stub: Callable[..., None]) -> None:
    assert server_process.start_server(str(home), f"{home}/roost.sock")
    assert not server_process.start_server(str(home), f"{home}/roost.sock")
    assert len(starts(home)) == 1


def test_many_at_once_end_with_one_server_and_all_succeed(home: Path, stub: Callable[..., None]) -> None:
    answers: list[bool] = []
    threads = [
        threading.Thread(target=lambda: answers.append(server_process.start_server(str(home), f"{home}/roost.sock")))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(answers) == [False, False, False, True]
    assert len(starts(home)) == 1


def test_losing_to_another_server_of_the_home_is_success(
    home: Path, stub: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = os.open(home / "stub.lock", os.O_CREAT | os.O_RDWR)
    fcntl.flock(lock, fcntl.LOCK_EX)
    log = home / "start.log"
    monkeypatch.setattr(server_process, "answers", lambda _: log.exists() and "another server" in log.read_text())
    server_process.start_server(str(home), f"{home}/roost.sock")
    os.close(lock)
    assert starts(home) == []


def test_a_server_that_does_not_start_has_the_last_word(home: Path, stub: Callable[..., None]) -> None:
    stub("fail")
    with pytest.raises(StartFailed) as caught:
        server_process.start_server(str(home), f"{home}/roost.sock")
    assert caught.value.message == "the server did not start: the port 80 is taken"
    assert caught.value.hint == f"see {home}/start.log"


def test_a_home_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StartFailed, match=r"cannot make the state directory .*Not a directory"):
        server_process.start_server(str(tmp_path / "file" / "home"), "/none")
