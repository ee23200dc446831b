"""`python -m tests.simulator --seed 7 --steps 2000`: one simulation, or many with `--count`."""

from __future__ import annotations

import argparse
import logging
import sys
import time

from tests.simulator.truth import Violation
from tests.simulator.world import simulate


def main() -> int:
    """Exit code 1 and the seed when something did not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulator", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--count", type=int, default=1, help="so many seeds, one after the other")
    parser.add_argument("--verbose", action="store_true", help="every round as it is decided, and where it failed")
    options = parser.parse_args()
    logging.getLogger("alembic").setLevel(logging.WARNING)
    logging.getLogger("roost.rounds").setLevel(logging.CRITICAL)  # what goes wrong there was made to
    failed, began = 0, time.monotonic()
    for seed in range(options.seed, options.seed + options.count):
        try:
            story = simulate(seed, options.steps, _tell if options.verbose else lambda line: None)
        except Violation as error:
            failed += 1
            sys.stderr.write(f"violated: {error}\n")
            if options.verbose:
                raise
            continue
        if options.verbose:
            sys.stdout.write(f"{story}\n")
    seconds = time.monotonic() - began
    sys.stdout.write(f"{options.count} seeds, {failed} failed, {seconds:.1f} s\n")
    return 1 if failed else 0


def _tell(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main())
