"""Systems with many nodes, for `bench.cluster`: what is asked of each of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

FILL = "TAG"
"""Stands in a command for the number of the job, which each system fills in in its own way."""


class Many(Protocol):
    """A queue with many nodes, up and running."""

    @property
    def name(self) -> str:
        """What the tables call it."""

    @property
    def pid(self) -> int:
        """The process that decides."""

    def node_pids(self) -> list[int]:
        """The processes that stand for the nodes, without jobs."""

    def ask_one(self, argv: Sequence[str], node: int) -> None:
        """Queue one job of one slot for that node, from 0; returns when it was accepted."""

    def is_idle(self) -> bool:
        """Whether it knows of no job that waits or runs."""

    def close_all_but(self, free: Sequence[int]) -> None:
        """Let nothing start but on these nodes."""

    def open_all(self) -> None:
        """Let everything start everywhere again."""

    def queue_all(self, argv: Sequence[str], count: int) -> None:
        """Queue jobs 1 to `count` of one slot each, at once."""


def filled(argv: Sequence[str], tag: int | str) -> list[str]:
    """The command of one job."""
    return [str(tag) if word == FILL else word for word in argv]


def stamped(program: Path, evidence: Path, *lasts_ms: int) -> list[str]:
    """The job that every system runs; least time and spread where it is to last."""
    return [str(program), str(evidence), FILL, *map(str, lasts_ms)]
