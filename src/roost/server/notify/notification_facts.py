"""What a notification needs to know, gathered from rows, the cluster and a job's log."""

import asyncio

import msgspec

from roost.core.errors import RoostError
from roost.core.notify_events import GPU_FREE, START
from roost.server.logs.reader import LogReader
from roost.server.notify.gpu_watch import Idle
from roost.server.notify.notification_text import Facts, last_lines
from roost.store.notices import Told
from roost.store.outbox import MORE
from roost.store.rows import AttemptRow, JobRow, NoticeRow

LOG_S = 3.0
LOG_BYTES = 32_768


def facts_of(notice: NoticeRow, row: JobRow | None, attempts: list[AttemptRow]) -> Facts:
    """The facts of a start or an end. Of a job that was removed since, what the notice kept."""
    told = msgspec.json.decode(notice.data, type=Told)
    run = next((a for a in attempts if a.attempt == notice.attempt), None)
    before = next((a for a in attempts if a.attempt == notice.attempt - 1), None)
    started_ms = told.started_ms or (run.started_ms if run is not None else None)
    waiting_ms = before.ended_ms if before is not None else row.submitted_ms if row is not None else None
    return Facts(
        notice.kind,
        notice.job,
        notice.attempt,
        notice.name,
        notice.user,
        run.node if run is not None else "",
        tuple(index for _, index in run.devices()) if run is not None else (),
        told.exit_code,
        told.error,
        None if waiting_ms is None else max(0, (started_ms or notice.at_ms) - waiting_ms),
        None if started_ms is None or notice.kind == START else max(0, notice.at_ms - started_ms),
        told.peak_mem_mib,
        told.peak_rss_mib,
    )


def idle_facts(idle: Idle, row: JobRow, now_ms: int) -> Facts:
    """The facts of a run that does not use its GPUs."""
    active = idle.active
    return Facts(
        "idle",
        row.id,
        active.attempt,
        row.name,
        row.user,
        active.node,
        idle.gpus,
        ran_ms=now_ms - active.since_ms,
        idle_ms=idle.idle_ms,
    )


async def log_lines(logs: LogReader, facts: Facts, count: int) -> list[str]:
    """The last lines of the run's log; none when there is no log, or its node does not answer in time."""
    if not count or not facts.attempt or facts.kind in (START, GPU_FREE, MORE):
        return []
    try:
        async with asyncio.timeout(LOG_S):
            attempt = await logs.attempt(facts.job, facts.attempt)
            if attempt is None:
                return []
            how = {"offset": 0, "limit": LOG_BYTES, "lines": count}
            pieces = [await logs.read(attempt, stream=stream, **how) for stream in ("out", "err")]
    except (RoostError, TimeoutError):
        return []
    out, err = pieces
    return last_lines(out.data, err.data, count)
