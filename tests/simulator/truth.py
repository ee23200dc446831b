"""What really happened, as nobody in the story knows it: kept by the simulator beside the nodes' disks."""

from __future__ import annotations

from typing import NamedTuple


class Violation(AssertionError):
    """An invariant did not hold."""


class End(NamedTuple):
    """How a run ended on its node."""

    status: int | None
    why: str | None


class Truth:
    """Every run that ever began, and how it ended; every id that was given out."""

    def __init__(self) -> None:
        self.begun: set[str] = set()
        self.ended: dict[str, End] = {}
        self.never: set[str] = set()
        """Runs that a node said it could not start: an end without a beginning."""
        self.accepted: set[int] = set()
        self.keys: dict[str, list[int]] = {}
        self.maybe_removed: set[int] = set()
        """Somebody asked for it, and the server may have died before it answered."""
        self.removed: set[int] = set()

    def accepts(self, key: str, ids: list[int]) -> None:
        """A submit was answered, perhaps once more: it must be the same answer."""
        if self.keys.setdefault(key, ids) != ids:
            raise Violation(f"submit {key} was answered with {self.keys[key]}, and later with {ids}")
        self.accepted.update(ids)

    def begins(self, run: str) -> None:
        """A wrapper has the run's name and executes its command now."""
        if run in self.begun:
            raise Violation(f"run {run} was started twice")
        self.begun.add(run)

    def ends(self, run: str, end: End) -> None:
        """Nothing of the run is left. Told again, it must be the same."""
        if self.ended.setdefault(run, end) != end:
            raise Violation(f"run {run} ended as {self.ended[run]}, and later as {end}")
