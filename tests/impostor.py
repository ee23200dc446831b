"""A node program of a user's own making, in the place of Roost's: it says whatever its user likes.

The script runs as the account: it ends the account's program, takes its lock and its socket, and passes on what it is told
to say and what it hears. `Impostor` is the test's side of it.
"""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import threading
import time
from collections.abc import Iterator
from typing import Any

from tests.lab import Person

_SCRIPT = r"""
import array, fcntl, json, os, socket, sys, threading, time
state, is_deaf, hello = sys.argv[1], sys.argv[2] == "deaf", json.loads(sys.argv[3])
lock = os.open(state + "/node.lock", os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(lock, fcntl.LOCK_EX)
try:
    os.unlink(state + "/node.sock")
except FileNotFoundError:
    pass
listener = socket.socket(socket.AF_UNIX)
listener.bind(state + "/node.sock")
listener.listen(8)
now = {}
print(json.dumps({"op": "ready"}), flush=True)
def say(data):
    view = memoryview(data)
    while view:
        view = view[os.write(now["fd"], view):]
def hear(fd):
    with open(fd, "rb", closefd=False) as file:
        for line in file:
            print(line.decode(), end="", flush=True)
def serve():
    kept = []
    while True:
        connection, _ = listener.accept()
        _, ancillary, _, _ = connection.recvmsg(4096, socket.CMSG_SPACE(64))
        fds = array.array("i")
        fds.frombytes(ancillary[0][2])
        kept.append(connection)
        now["fd"] = fds[1]
        if hello is not None:
            say(json.dumps(hello).encode() + b"\n")
        print(json.dumps({"op": "attached"}), flush=True)
        if not is_deaf:
            threading.Thread(target=hear, args=(fds[0],), daemon=True).start()
threading.Thread(target=serve, daemon=True).start()
for line in sys.stdin:
    order = json.loads(line)
    try:
        if "seconds" in order:
            data, until = order["say"].encode() * 200, time.monotonic() + order["seconds"]
            while time.monotonic() < until:
                say(data)
        else:
            say(order["say"].encode("utf-8", "surrogatepass") * order.get("times", 1))
        print(json.dumps({"op": "said"}), flush=True)
    except OSError as problem:
        print(json.dumps({"op": "cut", "problem": str(problem)}), flush=True)
"""


class Impostor:
    """The script at work."""

    def __init__(self, person: Person, hello: dict[str, Any] | None, deaf: bool) -> None:
        person.end_program()
        words = [str(person.state), "deaf" if deaf else "hears", json.dumps(hello)]
        argv = [person.reach.python, "-I", "-c", _SCRIPT, *words]
        self._process = person.account.popen(argv, stdin=subprocess.PIPE, stderr=None)
        self._heard: queue.Queue[dict[str, Any]] = queue.Queue()
        self._kept: list[dict[str, Any]] = []
        threading.Thread(target=self._listen, daemon=True).start()
        self.heard("ready")

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(ValueError):
            for line in self._process.stdout:
                self._heard.put(json.loads(line))

    def heard(self, *ops: str, within_s: float = 30, **fields: Any) -> dict[str, Any]:
        """The next message of one of these kinds, with these fields; the others are kept."""
        deadline, at = time.monotonic() + within_s, 0
        while True:
            if at == len(self._kept):
                self._kept.append(self._heard.get(timeout=max(0.01, deadline - time.monotonic())))
            message = self._kept[at]
            if message["op"] in ops and all(message.get(key) == value for key, value in fields.items()):
                return self._kept.pop(at)
            at += 1

    def say(self, *messages: dict[str, Any]) -> str:
        """Say these; `said`, or `cut` when nobody listens any more."""
        return self.raw("".join(json.dumps(message) + "\n" for message in messages))

    def raw(self, text: str, **how: Any) -> str:
        """Say that text as it is; `times` over and over, or for some `seconds`."""
        self.begin(text, **how)
        return str(self.heard("said", "cut", within_s=60)["op"])

    def begin(self, text: str, **how: Any) -> None:
        """The same without waiting until it is said."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"say": text, **how}) + "\n")
        self._process.stdin.flush()

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()


def hello(*runs: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The first word of a node program."""
    about = {"program": "x", "node": "x", "pid": 1, "boot": "x", "cpus": 1, "mem_mib": 1, "gpus": []}
    return {"op": "hello", "protocol": 1, **about, "runs": list(runs), **more}


@contextlib.contextmanager
def impostor(
    person: Person, first: dict[str, Any] | None = None, *, silent: bool = False, deaf: bool = False
) -> Iterator[Impostor]:
    """In the place of that person's program, from now on; `silent` says no hello, `deaf` reads nothing."""
    made = Impostor(person, None if silent else first or hello(), deaf)
    try:
        yield made
    finally:
        made.close()
