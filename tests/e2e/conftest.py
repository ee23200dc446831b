"""Boxes for the end-to-end tests: one that is shared and put in order for every test, and fresh ones to break."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.box import Box, until


@pytest.fixture(scope="session")
def _shared() -> Iterator[Box]:
    box = Box()
    try:
        yield box.up()
    finally:
        box.close()


@pytest.fixture
def box(_shared: Box) -> Box:
    """A server with four free simulated GPUs of 24 GiB and no job at all. For tests that do not harm it."""
    put_in_order(_shared)
    return _shared


@pytest.fixture
def new_box() -> Iterator[Callable[..., Box]]:
    """Makes boxes of one's own, without a server yet; taken down after the test."""
    made: list[Box] = []

    def make(gpus: str = "4x24G", home: Path | None = None) -> Box:
        made.append(Box(gpus=gpus, home=home))
        return made[-1]

    try:
        yield make
    finally:
        for one in made:
            one.close()


@pytest.fixture
def own(new_box: Callable[..., Box]) -> Box:
    """A server of one's own with four simulated GPUs, to be killed and broken."""
    return new_box().up()


def put_in_order(box: Box) -> None:
    """Remove what an earlier test left: jobs, files, settings."""
    box.run("kill", "all", "--now")
    box.run("wait", "all", "-q", "--timeout", "30s")
    box.run("clean")
    box.do("scheduler", "resume")
    for gpu in range(4):
        box.do("sim-gpu", gpu, "--ok")
    for path in box.work.iterdir():
        if path.name not in ("home", "bin"):
            path.unlink() if not path.is_dir() else None
    box.do("gpu", "release", "all")
    box.do("gpu", "set", "all", "--slots", 1)
    until("nothing is queued", lambda: not box.json("ls", "--all")["jobs"], shown=lambda: box.json("ls", "--all"))
    for gpu in range(4):
        box.gpu_comes_to(gpu, "free")
