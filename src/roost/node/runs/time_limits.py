"""Time limits, kept by the node so that they hold without a server. Paused time does not count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Optional

from roost.node.runs.run import ENDED, Run
from roost.node.system.event_loop import Loop
from roost.node.system.host import boot_ms


@dataclass(eq=False)
class Limits:
    loop: Loop
    warn: Callable[[Run], None]
    time_is_up: Callable[[Run], None]

    def set(self, run: Run) -> None:
        """Look again at this run: when it began to run, was paused, or goes on."""
        self.clear(run)
        if run.phase == ENDED or run.is_paused or run.stop_why is not None:
            return
        wait_ms = next_wait_ms(run, boot_ms())
        if wait_ms is not None:
            run.limit_timer = self.loop.after(wait_ms / 1000, lambda: self._due(run))

    def clear(self, run: Run) -> None:
        if run.limit_timer is not None:
            run.limit_timer.cancel()
            run.limit_timer = None

    def _due(self, run: Run) -> None:
        run.limit_timer = None
        now = boot_ms()
        if is_over(run, now):
            self.time_is_up(run)
            return
        if is_warning_due(run, now):
            run.was_warned = True
            self.warn(run)
        self.set(run)


def next_wait_ms(run: Run, now_boot_ms: int) -> Optional[int]:
    """How long until something is due; None for a run without a limit."""
    record = run.record
    if record is None or not record.time_limit_ms:
        return None
    until = record.time_limit_ms - (record.warn_ms if _awaits_warning(run) else 0)
    return max(0, until - run.used_ms(now_boot_ms))


def is_over(run: Run, now_boot_ms: int) -> bool:
    limit = run.record.time_limit_ms if run.record else None
    return bool(limit) and run.used_ms(now_boot_ms) >= (limit or 0)


def is_warning_due(run: Run, now_boot_ms: int) -> bool:
    """Whether the run must be told now that its end is near."""
    return _awaits_warning(run) and next_wait_ms(run, now_boot_ms) == 0


def _awaits_warning(run: Run) -> bool:
    record = run.record
    return not run.was_warned and record is not None and 0 < record.warn_ms < (record.time_limit_ms or 0)
