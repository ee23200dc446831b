"""Questions that may hang (a driver, a dead file server), each asked in a process of its own, with one deadline.

A process that hangs in the kernel is told to die and left behind, holding none of our streams.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import time
from typing import Any, Callable, Dict, Optional, Tuple

Question = Callable[[], Any]


_Child = Tuple[int, int]  # its pid, and the end of a pipe where its answer comes


def ask(questions: Dict[str, Question], limit_s: float) -> Dict[str, Any]:
    """What each of them answered: anything that JSON carries, or `{"error": text}`."""
    children = {name: _begin(question) for name, question in questions.items()}
    heard = _listen(children, time.monotonic() + limit_s)
    for child in children.values():
        _end(child)
    return {name: _answer(heard[name], limit_s) for name in questions}


def _begin(question: Question) -> _Child:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        _be_child(question, writer)
    os.close(writer)
    return pid, reader


def _be_child(question: Question, writer: int) -> None:
    try:
        os.setsid()  # what it starts dies with it
        null = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        try:
            answer = question()
        except Exception as problem:
            answer = {"error": str(problem) or type(problem).__name__}
        # Not through a text file: one who has dropped rights may be unable to read the codec that it would import.
        with open(writer, "wb") as out:
            out.write(json.dumps(answer).encode())
    finally:
        os._exit(0)


def _listen(children: Dict[str, _Child], until: float) -> Dict[str, Optional[bytes]]:
    """What came from each until the deadline; None of those that have not closed their pipe by then."""
    parts: Dict[int, bytes] = {reader: b"" for _, reader in children.values()}
    silent = set(parts)
    while silent:
        ready = select.select(list(silent), [], [], max(0.0, until - time.monotonic()))[0]
        if not ready:
            break
        for fd in ready:
            chunk = os.read(fd, 1 << 16)
            parts[fd] += chunk
            if not chunk:
                silent.discard(fd)
    return {name: None if reader in silent else parts[reader] for name, (_, reader) in children.items()}


def _end(child: _Child) -> None:
    pid, reader = child
    os.close(reader)
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)
        os.killpg(pid, signal.SIGKILL)
    with contextlib.suppress(OSError):
        os.waitpid(pid, os.WNOHANG)


def _answer(text: Optional[bytes], limit_s: float) -> Any:
    if text is None:
        return {"error": f"no answer within {limit_s:g} s"}
    return json.loads(text) if text else {"error": "it died before it answered"}
