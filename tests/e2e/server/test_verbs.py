"""What every verb asks of the server, overheard on the wire: nothing that the table of permissions does not list for it."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.box import Box
from tests.verb_routes import VERBS

from roost.api.app import TABLE

ALONE = ("top", "restore", "install", "uninstall", "down", "bench", "up", "login", "logout", "sim-job", "completion")
"""Verbs that are typed elsewhere in the tests: they need a terminal, a server of their own, or none."""


class Ear:
    """A UNIX socket that passes everything on to a server, and remembers the first line of every request."""

    def __init__(self, path: Path, server: Path) -> None:
        self._server, self.heard = str(server), list[str]()
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(path))
        self._listening.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                theirs, _ = self._listening.accept()
            except OSError:
                return
            ours = socket.socket(socket.AF_UNIX)
            ours.connect(self._server)
            threading.Thread(target=self._pass, args=(theirs, ours, True), daemon=True).start()
            threading.Thread(target=self._pass, args=(ours, theirs, False), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, listens: bool) -> None:
        try:
            while data := source.recv(1 << 16):
                if listens and (line := re.match(rb"([A-Z]+) (/api/v1[^ ?]*)[^ ]* HTTP/1", data)):
                    self.heard.append(f"{line[1].decode()} {line[2].decode()}")
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        finally:
            source.close()

    def close(self) -> None:
        """Hear no more."""
        self._listening.close()


@pytest.fixture
def ear(box: Box, tmp_path: Path) -> Iterator[Ear]:
    made = Ear(box.work / "ear.sock", box.home / "roost.sock")
    try:
        yield made
    finally:
        made.close()
        (box.work / "ear.sock").unlink(missing_ok=True)


def typed(job: int, sweep: int) -> dict[str, list[str]]:
    """Every verb with words that make sense."""
    one = str(job)
    return {
        "run": ["-g", "0", "true"], "submit": ["-g", "0", "true"], "ls": [], "show": [one, "--env"], "log": [one],
        "why": [one], "wait": [one], "kill": [one], "pause": [one], "resume": [one], "hold": [one], "release": [one],
        "rerun": [one], "preempt": [one], "move": [one, "1"], "start": [one], "edit": [one, "--name", "x"], "clone": [one],
        "rm": [one], "clean": ["killed"], "archive": ["--to", "a.jsonl"], "sweep": ["-p", "a=1,2", "-g", "0", "echo {a}"],
        "sweep show": [], "sweep ls": [], "sweep extend": [str(sweep), "-p", "a=9"], "sweep limit": [str(sweep), "1"],
        "sweep kill": [str(sweep)], "sweep rerun": [str(sweep)], "report": ["--job", one, "x=1"], "notify": [],
        "notify add": ["json://localhost:9/"], "notify ls": [], "notify test": ["1"], "notify rm": ["1"],
        "notify failures": [], "gpus": [], "gpu": ["drain", "0"], "drain": ["0"], "undrain": ["0"], "scheduler": ["resume"],
        "policy": ["fifo"], "simulate": ["--history"], "set": ["ls.recent_h", "24"], "user": ["show", "zed"],
        "user show": ["zed"], "user add": ["zed"], "user lock": ["zed"], "user unlock": ["zed"], "user admin": ["zed"],
        "user set": ["zed", "--weight", "2"], "user link": ["zed"], "user del": ["zed", "-y"], "users": [],
        "usage": [], "defaults": [], "nodes": [], "node": [], "node show": ["none"], "node check": ["none"],
        "node add": ["none", "ssh://127.0.0.1:9"], "node rm": ["none"], "node lost": ["none"], "node trust": ["none"],
        "node login": [],
        "defaults set": ["gpus=1"], "defaults unset": ["gpus"], "defaults clear": [], "web": [], "password": [],
        "token": [], "token new": ["x"], "token ls": [], "token revoke": ["99"], "notice": ["hello"], "audit": [],
        "status": [], "doctor": [], "backup": ["b.db"], "sim-gpu": ["0", "--fault", "x"], "help": [], "version": [],
    }  # fmt: skip


def test_no_verb_asks_for_more_than_the_table_says(box: Box, ear: Ear) -> None:
    job = box.submit("-g", 0, "true")
    box.ends(job, "succeeded")
    sweep = int(box.do("sweep", "-q", "-g", 0, "-p", "a=1,2", "echo {a}"))
    words = typed(job, sweep)
    assert set(words) | set(ALONE) == set(VERBS)
    silent: list[str] = []
    beyond: dict[str, set[str]] = {}
    for verb, arguments in words.items():
        ear.heard.clear()
        box.run(*verb.split(), *arguments, env={"ROOST_SERVER": str(box.work / "ear.sock")}, text="", timeout=60)
        asked = {_route(line) for line in ear.heard}
        if more := asked - set(VERBS[verb]):
            beyond[verb] = more
        if VERBS[verb] and not asked:
            silent.append(verb)
    assert beyond == {}
    assert silent in ([], ["password"], ["sim-gpu"], ["password", "sim-gpu"]), silent


def _route(line: str) -> str:
    """The route of the table that a request line meets; those without a parameter first."""
    fits: Callable[[str], bool] = lambda route: re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", route), line) is not None  # noqa: E731
    return next(iter(sorted(filter(fits, TABLE.rights), key=lambda route: route.count("{"))), line)
