"""What a message knows: from the notice, from rows while there are any, from a log when its node answers."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from tests.builders import NOW, Server, exited, in_english, started

from roost.core.errors import TryLater
from roost.server.logs.reader import LogReader
from roost.server.notify import notification_facts
from roost.server.notify.notification_text import Facts
from roost.store import outbox, reads


class Away:
    """Logs whose node does not answer, or says that it cannot be reached."""

    def __init__(self, hangs: bool) -> None:
        self.hangs = hangs

    async def attempt(self, job: int, number: int | None) -> Any:
        return object()

    async def read(self, attempt: Any, **how: Any) -> Any:
        if self.hangs:
            await asyncio.Event().wait()
        raise TryLater("n1 cannot be reached")


@pytest.mark.parametrize("hangs", [True, False])
async def test_a_node_that_does_not_answer_costs_the_log_lines_only(hangs: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notification_facts, "LOG_S", 0.05)
    assert await notification_facts.log_lines(cast(LogReader, Away(hangs)), Facts("failed", 1, 1), 20) == []


def test_an_end_has_its_run_and_how_long_it_waited(server: Server) -> None:
    server.store.tell({"ada": frozenset({"end"})})
    job = server.submit(name="train")
    server.tell(started(f"{job}.1"))
    server.tell(exited(f"{job}.1", 3, peak_mem_mib=100))
    (notice,) = server.store.read(outbox.notices, 10)
    row, attempts = server.store.read(reads.jobs, [job])[job], server.store.read(reads.attempts, [job])[job]
    known = notification_facts.facts_of(notice, row, attempts)
    assert (known.kind, known.job, known.name, known.user, known.node, known.gpus) == (
        "failed",
        job,
        "train",
        "ada",
        "n1",
        (0,),
    )
    assert (known.exit_code, known.ran_ms, known.peak_mem_mib) == (3, 5, 100)
    assert known.waited_ms == max(0, NOW - row.submitted_ms)


def test_of_a_job_that_is_gone_the_notice_says_enough(server: Server) -> None:
    server.store.tell({"ada": frozenset({"end"})})
    job = server.submit(name="train", hold=True)
    server.act("kill", job)
    (notice,) = server.store.read(outbox.notices, 10)
    known = notification_facts.facts_of(notice, None, [])
    assert (known.kind, known.name, known.node, known.ran_ms, known.waited_ms) == ("killed", "train", "", None, None)
    assert in_english(known.error) == "ended before it started"
