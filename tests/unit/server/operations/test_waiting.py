"""Waiting for jobs to end, while their end is being committed."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, cast

from tests.builders import exited, started
from tests.servers import NoLinks
from tests.stores import fresh_store

from roost.core import events as ev
from roost.core.spec import JobSpec
from roost.server.operations.job_actions import JobActions
from roost.server.rounds.commands import Submit
from roost.server.rounds.controller import Controller
from roost.server.rounds.engine import QUICK_S, Engine, EngineInbox
from roost.server.store_reader import StoreReader
from roost.store.writes import Batch


async def test_a_job_whose_end_is_being_committed_is_waited_for() -> None:
    with fresh_store() as store:
        engine = Engine(Controller(store), EngineInbox(), NoLinks())
        store.commit(Batch([ev.NodeSeen("n1", 2, 1000, ())]))
        engine.controller.reload()
        engine.controller.cluster.apply(ev.NodeAttached("n1"))
        rounds = asyncio.create_task(engine.run())
        job = (await engine.ask(Submit("ada", [JobSpec("true", gpus=0)]))).ids[0]
        engine.inbox.report("n1", started(f"{job}.1"))
        commit, may_commit = store.commit, threading.Event()

        def slow(batch: Batch) -> Any:
            assert may_commit.wait(20)
            return commit(batch)

        store.commit = slow  # type: ignore[method-assign]
        engine._commit_s = 2 * QUICK_S  # a slow disk: commits are made in a thread
        engine.inbox.report("n1", exited(f"{job}.1"))
        for _ in range(4000):
            if engine.cluster.find(job) is None:
                break
            await asyncio.sleep(0.005)
        actions = JobActions(engine, StoreReader(store), cast(Any, None), cast(Any, None))
        waiting = asyncio.create_task(actions.wait([job], 20))
        await asyncio.sleep(0.1)
        may_commit.set()
        rows = await waiting
        assert [(row.id, row.state, row.outcome) for row in rows] == [(job, "ended", "succeeded")]
        assert await actions.wait([job, 99], 20) == rows
        await engine.stop()
        await rounds
