"""A node over a pipe for an end-to-end test: a real node program of its own, which can be cut off and come back."""

from __future__ import annotations

import os
import signal

from tests.box import Box, Json, until


class PipeNode:
    """The node `far` of a box."""

    def __init__(self, box: Box, sim: str = "1x24G") -> None:
        self.box, self.directory = box, box.work / "far"
        self.directory.mkdir()
        asked = {"name": "far", "target": "pipe:", "dir": str(self.directory), "sim": sim}
        answer = box.http("POST", "/nodes", asked)
        assert answer.status == 200, answer
        box.do("set", "node.retry_s", "0.2")

    def shown(self) -> Json:
        """The node as it is shown."""
        found: Json = self.box.http("GET", "/nodes/far").json["node"]
        return found

    def cut(self) -> None:
        """The node program dies, and cannot be started again."""
        pid = until("it is attached", lambda: self.shown()["pid"])
        self.directory.rename(self.directory.with_name("away"))
        self.directory.touch()
        os.kill(pid, signal.SIGKILL)
        self._becomes("unreachable")

    def heal(self) -> None:
        """It can, and is."""
        self.directory.unlink()
        self.directory.with_name("away").rename(self.directory)
        self._becomes("up")

    def _becomes(self, state: str) -> None:
        until(f"it is {state}", lambda: self.shown()["state"] == state, shown=self.shown)
