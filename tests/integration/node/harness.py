"""A real node program in a directory of its own, spoken to over the pipes of a real `attach`.

Waits on conditions with a deadline, never on time alone; ends only the processes that it started.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SRC = Path(__file__).resolve().parents[3] / "src"
DEADLINE_S = 20.0
Message = dict[str, Any]


def wait_until(condition: Callable[[], Any], what: str, deadline_s: float = DEADLINE_S) -> Any:
    """The condition's first true value; fails with `what` and the last value when the deadline passes."""
    until = time.monotonic() + deadline_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > until:
            raise AssertionError(f"never happened: {what}; last: {value!r}")
        time.sleep(0.005)


def alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] not in "ZX"


def oldest_python() -> str | None:
    """A Python 3.8: where pyenv keeps them, whose names on the path are scripts, or on the path."""
    kept = sorted(Path.home().glob(".pyenv/versions/3.8.*/bin/python3.8"))
    return str(kept[-1]) if kept else shutil.which("python3.8")


class Node:
    """One attached node program."""

    def __init__(
        self,
        state: Path,
        *options: str,
        python: str = sys.executable,
        program: list[str] | None = None,
        claims: Path | None = None,
        env: dict[str, str] | None = None,
    ) -> None:
        self.state = state
        self.env = env or {}
        self.claims = claims or state.parent
        self.program = program or [python, "-m", "roost.node"]
        self.options = list(options)
        self.messages: list[Message] = []
        self._attached: list[subprocess.Popen[bytes]] = []
        self._buffer = b""
        self.attach()

    def attach(self) -> Message:
        """Attach, or attach again; the `hello`."""
        self.process = subprocess.Popen(
            [*self.program, "attach", "--state", str(self.state), *self.options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={
                "PATH": os.environ["PATH"],
                "PYTHONPATH": str(SRC),
                "LEAKED": "by the daemon",
                "HOME": "/root",
                "ROOST_CLAIMS": str(self.claims),
                **self.env,
            },
        )
        self._attached.append(self.process)
        self._buffer = b""
        self.hello = self.expect("hello")
        return self.hello

    def send(self, op: str, **fields: Any) -> None:
        self.send_raw(json.dumps({"op": op, **fields}).encode() + b"\n")

    def send_raw(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def start(self, run: str, *argv: str, **spec: Any) -> None:
        """Ask for a run; `argv` unless the spec says otherwise."""
        command = {"argv": list(argv)} if argv else {}
        env = {"PATH": os.environ["PATH"], "HOME": "/root"}
        self.send("start", run=run, spec={"cwd": "/", "env": env, "vars": {}, "gpus": [], **command, **spec})

    def run(self, run: str, *argv: str, **spec: Any) -> Message:
        """Start it and wait for its end."""
        self.start(run, *argv, **spec)
        return self.exited(run)

    def started(self, run: str) -> Message:
        return self.expect("started", run=run)

    def exited(self, run: str) -> Message:
        return self.expect("exited", run=run)

    def expect(self, op: str, deadline_s: float = DEADLINE_S, **fields: Any) -> Message:
        """The first message, already read or still to come, that is this; it is taken out of the heap."""
        return self.expect_where(lambda m: m["op"] == op and all(m.get(k) == v for k, v in fields.items()), deadline_s)

    def expect_where(self, wanted: Callable[[Message], bool], deadline_s: float = DEADLINE_S) -> Message:
        until = time.monotonic() + deadline_s
        while True:
            for message in self.messages:
                if wanted(message):
                    self.messages.remove(message)
                    return message
            self.read(until - time.monotonic())

    def read(self, timeout_s: float) -> None:
        """Read what comes next into the heap."""
        assert self.process.stdout is not None
        fd = self.process.stdout.fileno()
        if timeout_s <= 0 or not select.select([fd], [], [], timeout_s)[0]:
            raise AssertionError(f"no such message; the heap: {self.messages[-5:]}\n{self.journal()}")
        chunk = os.read(fd, 1 << 20)
        if not chunk:
            raise EOFError(f"the link was closed\n{self.journal()}")
        *lines, self._buffer = (self._buffer + chunk).split(b"\n")
        self.messages += [json.loads(line) for line in lines]

    def log(self, run: str, stream: str = "out", **fields: Any) -> bytes:
        """The log from its beginning, or as the fields say."""
        return base64.b64decode(self.log_answer(run, stream, **fields)["data"])

    def log_answer(self, run: str, stream: str = "out", **fields: Any) -> Message:
        ask = {"offset": 0, "limit": 1 << 20, **fields}
        self.send("read_log", id="log", run=run, stream=stream, **ask)
        return self.expect("log", id="log")

    def settle(self) -> None:
        """Until everything sent so far is carried out."""
        self.send("ping", id="settle")
        self.expect("pong", id="settle")

    def detach(self) -> None:
        """Cut the link, as a server's death does."""
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()
        self.process.wait(DEADLINE_S)
        self.messages = []

    def kill_daemon(self) -> None:
        """kill -9 of the daemon, and wait until it is gone."""
        pid = int(self.hello["pid"])
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not alive(pid), "the daemon ends")
        self.detach()

    def end(self) -> None:
        """End what this node may have left: its runs, then its daemon."""
        if self.process.poll() is not None or self.process.stdout is None or self.process.stdout.closed:
            self.attach()
        self.settle()
        for path in sorted((self.state / "active").iterdir()):
            self.send("stop", run=path.name, grace_ms=0, why="kill")
        self.send("shutdown", when_idle=True)
        for process in self._attached:
            process.wait(DEADLINE_S)
            assert process.stdin is not None and process.stdout is not None
            process.stdin.close()
            process.stdout.close()

    def journal(self) -> str:
        path = self.state / "node.log"
        return path.read_text()[-3000:] if path.exists() else ""

    def path(self, run: str) -> Path:
        return self.state / "runs" / run
