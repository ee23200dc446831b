"""The daemon's own log, `node.log`, two files of at most 1 MiB; standard error goes there too. Never raises."""

from __future__ import annotations

import os
import time

_MAX_BYTES = 1024 * 1024


class Journal:
    def __init__(self, path: str) -> None:
        self._path = path
        self._open()

    def write(self, text: str) -> None:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        try:
            os.write(2, f"{stamp} {text.rstrip()}\n".encode("utf-8", "replace"))
            if os.fstat(2).st_size > _MAX_BYTES:
                os.replace(self._path, self._path + ".1")
                self._open()
        except OSError:
            pass

    def _open(self) -> None:
        try:
            fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError:
            fd = os.open(os.devnull, os.O_WRONLY)
        os.dup2(fd, 2)
        os.close(fd)
