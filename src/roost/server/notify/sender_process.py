"""The sender as the server sees it: started when there is something to send, ended when idle.

Never waits for a service longer than `TIMEOUT_S`. Secrets go over the pipe, never into an argv, an environment or a log.
"""

import asyncio
import contextlib
import json
import logging
import os
import pwd
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from roost.messages import Message, MessageError
from roost.server.notify import sender

TIMEOUT_S = 30.0
START_S = 30.0
LINGER_S = 60.0
MAX_HUNG = 16
"""Deliveries that may hang in the sender before it is restarted."""
NO_ANSWER = Message("notify.no_answer")
_PROXIES = ("http_proxy", "https_proxy", "no_proxy", "all_proxy")
_log = logging.getLogger("roost.notify")


class NoSender(MessageError):
    """The sender cannot be used: the package is missing, or it does not start."""

    def __init__(self, message: str, is_missing: bool = False, **params: Any) -> None:
        super().__init__(message, **params)
        self.is_missing = is_missing


class SenderProcess:
    """Hands messages to the sender and takes its answers."""

    def __init__(self, timeout_s: float = TIMEOUT_S) -> None:
        self.timeout_s = timeout_s
        self.on_late: Callable[[int], None] = lambda message: None
        """Called with the number of a message that was sent after its timeout."""
        self._process: subprocess.Popen[bytes] | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._asked: dict[int, asyncio.Future[Message | None]] = {}
        self._late: dict[int, int] = {}
        self._last_id = 0
        self._used_s = time.monotonic()
        self._starting = asyncio.Lock()
        self._hearing: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        """The sender's process, while there is one."""
        return self._process.pid if self._process is not None else None

    async def check(self, url: str) -> Message | None:
        """Why a URL cannot be used; None when it can. Raises `NoSender`."""
        return await self._ask({"op": "check", "url": url}, None)

    async def send(
        self, url: str, subject: str, body: str, *, mood: str = "info", message: int | None = None
    ) -> Message | None:
        """Why it could not be sent; None when it was. Raises `NoSender`."""
        return await self._ask({"op": "send", "url": url, "subject": subject, "body": body, "mood": mood}, message)

    async def _ask(self, asked: dict[str, Any], message: int | None) -> Message | None:
        async with self._starting:
            if self._writer is None:
                await self._start()
        if self._writer is None:
            raise NoSender("notify.sender_silent")
        self._last_id += 1
        number = self._last_id
        answer: asyncio.Future[Message | None] = asyncio.get_running_loop().create_future()
        self._asked[number] = answer
        self._used_s = time.monotonic()
        try:
            self._writer.write(json.dumps({"id": number, **asked}).encode() + b"\n")
            async with asyncio.timeout(self.timeout_s):
                return await answer
        except TimeoutError:
            self._late[number] = message or 0
            return NO_ANSWER
        finally:
            self._asked.pop(number, None)

    async def _start(self) -> None:
        ours, theirs = socket.socketpair()
        try:
            self._process = await asyncio.to_thread(_spawn, theirs)
        except OSError as error:
            ours.close()
            raise NoSender("notify.sender_failed", why=str(error.strerror)) from None
        finally:
            theirs.close()
        reader, self._writer = await asyncio.open_connection(sock=ours, limit=1 << 20)
        first = {"path": [path for path in sys.path if path], "proxies": _proxies(), **_account()}
        self._writer.write(json.dumps(first).encode() + b"\n")
        line = b""
        with contextlib.suppress(TimeoutError, OSError):
            async with asyncio.timeout(START_S):
                line = await reader.readline()
        ready = json.loads(line)["ready"] if line.endswith(b"\n") else None
        if not ready:
            await self._leave()
            if ready is None:
                raise NoSender("notify.sender_silent")
            raise NoSender("notify.no_apprise", is_missing=True)
        self._hearing = asyncio.create_task(self._hear(reader))

    async def _hear(self, reader: asyncio.StreamReader) -> None:
        """Take answers until the sender is gone; requests still open then fail."""
        with contextlib.suppress(OSError, ValueError):
            while line := await reader.readline():
                self._take(json.loads(line))
        for answer in self._asked.values():
            if not answer.done():
                answer.set_result(Message("notify.sender_ended"))
        await self._leave()

    def _take(self, said: dict[str, Any]) -> None:
        number, error = said["id"], said["error"]
        answer = self._asked.get(number)
        if answer is not None and not answer.done():
            answer.set_result(None if error is None else Message.of_data(error))
        elif (message := self._late.pop(number, 0)) and error is None:
            self.on_late(message)

    async def tidy(self) -> None:
        """End the sender when it has been idle for a while, or when too many deliveries hang."""
        is_idle = time.monotonic() - self._used_s > LINGER_S
        if self._writer is not None and not self._asked and (is_idle or len(self._late) >= MAX_HUNG):
            await self.close()

    async def close(self) -> None:
        """End it."""
        if self._hearing is not None:
            self._hearing.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._hearing
        await self._leave()

    async def _leave(self) -> None:
        writer, process, self._writer, self._process, self._hearing = self._writer, self._process, None, None, None
        self._late.clear()
        if writer is not None:
            writer.close()
        if process is not None:
            await asyncio.to_thread(_reap, process)


def _spawn(theirs: socket.socket) -> subprocess.Popen[bytes]:
    """Start the sender with nothing of the server's: no environment, no directory."""
    end = theirs.fileno()
    return subprocess.Popen(
        [sys.executable, "-I", "-X", "utf8", os.path.abspath(sender.__file__)],
        stdin=end,
        stdout=end,
        stderr=subprocess.DEVNULL,
        env={},
        cwd="/",
        start_new_session=True,
    )


def _account() -> dict[str, int]:
    """Under root, the account that it becomes before it is given a secret. It starts as root, which may be the only one that
    can read it."""
    if os.getuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"uid": nobody.pw_uid, "gid": nobody.pw_gid}


def _proxies() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if key.lower() in _PROXIES}


def _reap(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(1)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
