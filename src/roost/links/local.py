"""This machine as a node: the same program behind a pipe, started from a file that is named by its content."""

from __future__ import annotations

import sys
from pathlib import Path

from roost.node.build import build


def command(home: Path, sim: str | None) -> list[str]:
    """The command line that attaches to the node program of this home."""
    directory = home / "node"
    directory.mkdir(mode=0o700, exist_ok=True)
    program = build(str(directory)).path
    # -I: nothing of the server's environment or directory may reach the imports of the node program.
    line = [sys.executable, "-I", program, "attach", "--state", str(directory)]
    return [*line, "--sim", sim or "off"]
