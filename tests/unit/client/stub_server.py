"""Stands in for a server that is started by itself: takes the home's lock, answers, leaves a line in `starts`.

Run as a program: `stub_server.py HOME [fail]`.
"""

from __future__ import annotations

import fcntl
import os
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from tests.unit.client.fake_server import FakeServer


def main() -> int:
    home = sys.argv[1]
    if "fail" in sys.argv:
        print("some noise", flush=True)
        print("roost: the port 80 is taken", file=sys.stderr)
        print("hint: another port", file=sys.stderr)
        return 1
    lock = os.open(home + "/stub.lock", os.O_CREAT | os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("roost: another server runs here", file=sys.stderr)
        return 75
    with open(home + "/starts", "a") as file:
        file.write(f"{os.getpid()} {os.getsid(0)} {os.environ.get('ROOST_RUN', '-')}\n")
    if os.path.exists(home + "/roost.sock"):
        os.unlink(home + "/roost.sock")
    FakeServer(home + "/roost.sock", {"GET /status": {"server_pid": os.getpid(), "gpus": {"total": 0}}})
    threading.Event().wait(60)
    return 0


sys.exit(main())
