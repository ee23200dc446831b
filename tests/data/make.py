"""Makes the database that a release leaves behind for the releases after it: `python tests/data/make.py roost-0.1.db`.

Run once, before a release; the file is never changed afterwards.
"""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.builders import Server, exited, started

from roost.server.commands import Change_
from roost.store.store import Store


def main() -> None:
    """One job of each kind: running, failed, held, waiting for another."""
    path = Path(__file__).parent / sys.argv[1]
    store = Store(path)
    server = Server(store)
    shell = {"HOME": "/home/ada"}
    running = server.submit(env=shell)
    failed = server.submit(env=shell, name="train.py", labels=("night",))
    server.tell(started(f"{running}.1"), started(f"{failed}.1"))
    server.tell(exited(f"{failed}.1", 3))
    server.submit(hold=True)
    server.submit(after=(running,))
    server.ask(Change_("root", {"job.grace_s": 7}))
    store.close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA journal_mode=DELETE")
    db.close()


if __name__ == "__main__":
    main()
