"""A node whose program is what a test makes of it: honest until it is given a play, then whatever that says.

It comes in as the `--python` of a `pipe:` node, which is run in the place of every Python there: no line of Roost's own
comes before it.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from pathlib import Path

from tests.box import Box, until

_PYTHON = r"""
import base64, json, os, sys, time, zlib
play = PLAY
if sys.argv[1:2] == ["-I"] and os.path.exists(play):
    text = zlib.decompress(base64.b64decode(sys.argv[4])).decode()
    wanted = json.loads(eval(text.split("\n", 1)[0][4:]))
    if wanted["argv"][0] == "attach":
        with open(play + ".log", "a") as log:
            log.write(f"{time.time()}\n")
        def raw(data):
            view = memoryview(data)
            while view:
                view = view[os.write(1, view):]
        def say(*messages):
            raw(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
        def hello(*runs, **more):
            gpus = [{"uuid": f"evil-{i}", "index": i, "model": "Sim", "mem_mib": 24576} for i in range(2)]
            about = {"program": "x", "node": "x", "pid": 1, "boot": "x", "cpus": 2, "mem_mib": 64000, "gpus": gpus}
            return {"op": "hello", "protocol": 1, **about, "runs": list(runs), "at_ms": int(time.time() * 1000), **more}
        def lines():
            for line in os.fdopen(0, "rb", 0):
                yield json.loads(line)
        def wait():
            while True:
                time.sleep(60)
        exec(compile(open(play).read(), play, "exec"))
        sys.exit(0)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


class EvilNode:
    """The node, and what it plays."""

    def __init__(self, box: Box, name: str = "evil") -> None:
        self.box, self.name = box, name
        self.directory = box.work / name
        self.directory.mkdir()
        self._play = self.directory / "play.py"
        script = self.directory / "script.py"
        script.write_text(_PYTHON.replace("PLAY", repr(str(self._play)), 1))
        self.python = self.directory / "python"
        self.python.write_text(f'#!/bin/sh\nexec {sys.executable} {script} "$@"\n')
        self.python.chmod(0o755)
        box.do(
            "node",
            "add",
            name,
            "pipe:",
            "--dir",
            str(self.directory / "base"),
            "--python",
            str(self.python),
            "--sim",
            "2x24G",
        )

    def plays(self, text: str, *, knocks: int = 1) -> None:
        """From its next contact on, which is now; waits until it was contacted so often."""
        self._play.write_text(text)
        before = len(self.contacts())
        self.cut()
        until(f"{self.name} plays", lambda: len(self.contacts()) >= before + knocks, within_s=40 * knocks)

    def stops(self) -> None:
        """It is honest again."""
        self._play.unlink(missing_ok=True)
        self.cut()
        self.comes_to("up")

    def contacts(self) -> list[float]:
        """When it was contacted, since it began to play."""
        log = Path(f"{self._play}.log")
        return [float(line) for line in log.read_text().split()] if log.exists() else []

    def cut(self) -> None:
        """The server's end of it goes, and its daemon: all that is in its directory."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                words = Path(f"/proc/{pid}/cmdline").read_bytes()
                if str(self.directory).encode() + b"/" in words and int(pid) != os.getpid():
                    os.kill(int(pid), signal.SIGKILL)

    def comes_to(self, *states: str) -> None:
        """Wait for a state of it."""

        def look() -> bool:
            self.box.http("POST", f"/nodes/{self.name}/check") if "up" in states else None
            return self.box.http("GET", f"/nodes/{self.name}").json["node"]["state"] in states

        until(f"{self.name} is {states}", look)
