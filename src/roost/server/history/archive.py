"""Keeping the number of ended jobs bounded: past `archive.keep`, the oldest move to the archive file by themselves."""

from __future__ import annotations

import asyncio
import logging

from roost.core.errors import RoostError
from roost.core.states import State
from roost.server.service import Service
from roost.store import reads

PAUSE_S = 10.0
_log = logging.getLogger("roost.archive")


async def keep_bounded(service: Service) -> None:
    """Look now and then, for ever. A tenth more than asked may stay, so that it works in lots."""
    while True:
        await asyncio.sleep(PAUSE_S)
        keep = int(service.cluster.number("archive.keep"))
        if not keep or service.cluster.counts[State.ENDED] <= keep + keep // 10:
            continue
        try:
            old = await service.read(reads.oldest_ended, keep, 10_000)
            count = await service.archive(service.people.itself, service.home / "archive.jsonl", old)
            _log.info("archived %s ended jobs", count)
        except RoostError as error:
            _log.warning("cannot archive: %s", error.message)
