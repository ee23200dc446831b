"""What may go wrong, and how often. One generator, one seed: the same seed gives the same story."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random


@dataclass(frozen=True)
class Rates:
    """Chances of each fault at each occasion for it."""

    killed_before_commit: float = 0.0
    killed_after_commit: float = 0.0
    """Somewhere between the commit and the last message that follows from it."""
    killed_after_sends: float = 0.0
    """All nodes have heard, no asker has."""
    round_breaks: float = 0.0
    """As a mistake in the server would break it, before or after its commit."""
    commit_fails: float = 0.0
    cut: float = 0.0
    """A link, at any message in either direction; what is under way is lost."""
    repeated: float = 0.0
    """A message comes twice."""
    program_killed: float = 0.0
    """A node program, at any step of a run's life."""
    refused: float = 0.0
    cannot_start: float = 0.0


CALM = Rates()


class Chance:
    """The one source of chance, and the faults that it brings while they are on."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        draw = self.random.random
        scale = self.random.choice((0.0, 0.3, 1.0, 1.0, 3.0))
        self.rates = Rates(
            killed_before_commit=0.04 * scale * draw(),
            killed_after_commit=0.04 * scale * draw(),
            killed_after_sends=0.04 * scale * draw(),
            commit_fails=0.05 * scale * draw(),
            cut=0.02 * scale * draw(),
            repeated=0.2 * scale * draw(),
            program_killed=0.04 * scale * draw(),
            refused=0.1 * scale * draw(),
            cannot_start=0.05 * draw(),
            round_breaks=0.02 * scale * draw(),
        )

    def calm_down(self) -> None:
        """No faults from now on."""
        self.rates = CALM

    def comes(self, rate: float) -> bool:
        """Whether it happens this time."""
        return rate > 0 and self.random.random() < rate

    def pause_ms(self, mean_ms: int) -> int:
        """A time to wait: mostly short, sometimes long."""
        return int(self.random.expovariate(1 / mean_ms))
