"""Makes what a release leaves behind for the releases after it, and for their tests:

    python tests/data/make.py roost-0.1.db               its database
    python tests/data/make.py roost-node-0.1.0.pyz       its node program, without the bindings to NVML

The home of a commit, with what runs in it: make_home.py.

Run once, before a release; the files are never changed afterwards.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.builders import Server, exited, started

from roost.server.rounds.commands import ChangeSettings
from roost.store.store import Store

SRC = Path(__file__).resolve().parents[2] / "src"


def main() -> None:
    path = Path(__file__).parent / sys.argv[1]
    if path.suffix == ".pyz":
        make_program(path)
    else:
        make_database(path)


def make_program(path: Path) -> None:
    """The node program of these sources."""
    with tempfile.TemporaryDirectory() as directory:
        # -S: without what is installed, so that nothing of it is packed.
        line = [sys.executable, "-S", "-c", "import sys; from roost.node.build import build; build(sys.argv[1])", directory]
        subprocess.run(line, check=True, env={**os.environ, "PYTHONPATH": str(SRC)})
        (made,) = Path(directory).iterdir()
        shutil.copyfile(made, path)


def make_database(path: Path) -> None:
    """One job of each kind: running, failed, held, waiting for another."""
    store = Store(path)
    server = Server(store)
    shell = {"HOME": "/home/ada"}
    running = server.submit(env=shell)
    failed = server.submit(env=shell, name="train.py", labels=("night",))
    server.tell(started(f"{running}.1"), started(f"{failed}.1"))
    server.tell(exited(f"{failed}.1", 3))
    server.submit(hold=True)
    server.submit(after=(running,))
    server.ask(ChangeSettings("root", {"job.grace_s": 7}))
    store.close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA journal_mode=DELETE")
    db.close()


if __name__ == "__main__":
    main()
