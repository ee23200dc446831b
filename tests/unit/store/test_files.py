"""Files that must not be lost: whatever call fails, what was there is there."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from roost.store import files

CALLS = ("open", "write", "pread", "fsync", "fstat", "lstat", "rename", "link")


class FaultyOs:
    """What `files` takes for `os`: counts its calls and breaks one of them; a write takes less than it was given."""

    def __init__(self) -> None:
        self.count, self.broken = 0, -1

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        return self._wrapped(name, real) if name in CALLS else real

    def _wrapped(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            self.count += 1
            if self.count - 1 == self.broken:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if name == "write":
                return real(arguments[0], bytes(arguments[1])[:7])
            return real(*arguments, **options)

        return call


@pytest.mark.parametrize("operation", [files.append, files.write])
def test_a_disk_that_is_full_at_any_call_leaves_what_was_there(
    operation: Callable[[Path, bytes], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path, old, new = tmp_path / "kept", b"one\ntwo\n", b"three\n" * 20
    path.write_bytes(old)
    after = old + new if operation is files.append else new
    faults = FaultyOs()
    monkeypatch.setattr(files, "os", faults)
    failed = 0
    while True:
        faults.count, faults.broken = 0, failed
        try:
            operation(path, new)
            break
        except OSError:
            assert path.read_bytes() in ({old, after} if operation is files.write else {old}), failed
            failed += 1
    assert failed > 20
    assert path.read_bytes() == after


def test_a_half_line_is_ended_before_more_is_added(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b'{"id":1}\n{"id":')
    files.append(path, b'{"id":3}\n')
    assert path.read_bytes().splitlines() == [b'{"id":1}', b'{"id":', b'{"id":3}']


def test_nothing_is_added_to_a_link_or_to_what_is_no_file(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"kept\n")
    (tmp_path / "symbolic").symlink_to(path)
    (tmp_path / "hard").hardlink_to(path)
    os.mkfifo(tmp_path / "pipe")
    for name in ("symbolic", "hard", "pipe", "."):
        with pytest.raises(OSError):
            files.append(tmp_path / name, b"more\n")
    assert path.read_bytes() == b"kept\n"
