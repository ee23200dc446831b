"""Boxes for the end-to-end tests: one that is shared and put in order for every test, and fresh ones to break."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.box import Box, until

OUTCOMES = ("succeeded", "failed", "cannot_start", "out_of_memory", "timed_out", "killed", "lost")


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
    """Remove what an earlier test left: jobs, files, rules, users, defaults, the notice."""
    for path in (box.home / "sim").glob("*-[0-9]"):
        path.unlink()  # faults and hangs
    everything = {"select": {"all": True}}
    box.http("POST", "/jobs/actions", {"action": "kill", "grace_s": 0, **everything})
    box.http("POST", "/scheduler", {"paused": False})
    box.http("POST", "/gpus/actions", {"action": "release", "gpus": ["all"]})
    box.http("POST", "/gpus/actions", {"action": "set", "gpus": ["all"], "slots": 1})
    box.http("PUT", "/settings", {"queue.max": 0, "policy": "swift"})
    for user in box.http("GET", "/users").json["users"]:
        box.http("PATCH", f"/users/{user['user']}", {"weight": 1, "max_gpus": None, "max_jobs": None, "max_queued": None})
        if user["added"]:
            box.http("DELETE", f"/users/{user['user']}")
    box.http("PUT", "/defaults", {})
    box.http("PUT", "/notice", {"text": None})
    until("every job has ended", lambda: _all_ended(box), shown=lambda: box.http("GET", "/jobs?all=true").json)
    box.http("POST", "/jobs/actions", {"action": "rm", **everything})
    until("every GPU is free", lambda: _all_free(box), shown=lambda: box.http("GET", "/gpus").json)
    for path in box.work.iterdir():
        if path.is_file():
            path.unlink()


def _all_ended(box: Box) -> bool:
    return set(box.http("GET", "/status").json["jobs"]) <= {"ended", *OUTCOMES}


def _all_free(box: Box) -> bool:
    return all(gpu["state"] == "free" for gpu in box.http("GET", "/gpus").json["gpus"])
