"""What a machine still runs for nodes that it was before, under other names, and how it is told to end it. No I/O.

A node that was removed while it could not be reached was never told. The machine says itself what is left (`check`), and is
believed no more than that: whatever it names is ended on that machine alone.
"""

from collections.abc import Container
from typing import Any

import msgspec

from roost.core.accounts import Channel
from roost.links.addresses import BadTarget, check_name

MAX_PROGRAMS, MAX_RUNS = 16, 2_000
"""More are not looked at: each program is a connection of its own."""


class Former(msgspec.Struct, frozen=True):
    """A program that is there, and the runs that it has."""

    node: str
    channel: Channel
    runs: list[str]

    @property
    def farewell(self) -> list[dict[str, Any]]:
        """What it is told."""
        stops = [{"op": "stop", "run": run, "why": "stale", "grace_ms": None} for run in self.runs[:MAX_RUNS]]
        return [*stops, {"op": "shutdown", "when_idle": True}]


def unanswered(facts: dict[str, Any]) -> str | None:
    """Why the machine could not say what is left: too slow, perhaps. None when it said something."""
    said = facts.get("leftovers")
    return str(said["error"]) if isinstance(said, dict) and isinstance(said.get("error"), str) else None


def former(facts: dict[str, Any], nodes: Container[str]) -> list[Former]:
    """Those of names that no node has now; a machine that says nothing sensible has none."""
    try:
        said = msgspec.convert(facts.get("leftovers"), dict[str, dict[str, list[str]]])
    except msgspec.ValidationError:
        return []
    found = [
        Former(node, Channel(channel), runs)
        for node, programs in sorted(said.items())
        if node not in nodes and _is_name(node)
        for channel, runs in sorted(programs.items())
    ]
    return found[:MAX_PROGRAMS]


def _is_name(node: str) -> bool:
    try:
        check_name(node)
    except BadTarget:
        return False
    return True
