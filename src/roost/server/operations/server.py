"""Copying the whole state to a file, and stopping the server."""

import asyncio
import contextlib
from pathlib import Path

from roost.answers.settings import Leaving
from roost.core.errors import BadRequest, Conflict
from roost.server.identity.people import Caller
from roost.server.operations.job_actions import JobActions
from roost.server.rounds.commands import Act, ChangeSettings
from roost.server.rounds.engine import Engine
from roost.server.shutdown import Shutdown
from roost.store.restore import back_up
from roost.store.store import Store
from roost.store.store_errors import StoreError

LAST_BACKUP = "last-backup"
"""The file in the home with the path of the last backup; it is as old as that backup."""


async def backup(engine: Engine, store: Store, path: Path) -> None:
    """Write a verified copy of the store to a new file while everything continues."""
    # Changes nothing, but is a commit: a start that was just reported goes with it. Without it the copy would not
    # know that the job has begun, and a home that is made from it would begin it again.
    await engine.ask(ChangeSettings("", {}))
    try:
        await asyncio.to_thread(_write_backup, store.path, path)
    except FileExistsError:
        raise Conflict("store.backup_exists", path=str(path)) from None
    except OSError as error:
        raise BadRequest("store.not_backed_up", path=str(path), why=str(error.strerror)) from None
    except StoreError as error:
        raise error.refusal() from None


def _write_backup(store: Path, path: Path) -> None:
    """Write it, and note it in the home for `roost doctor`."""
    back_up(store, path)
    with contextlib.suppress(OSError):  # the backup itself is written
        (store.parent / LAST_BACKUP).write_text(f"{path}\n", encoding="utf-8")


async def stop(engine: Engine, actions: JobActions, shutdown: Shutdown, caller: Caller, kill: bool) -> Leaving:
    """Leave; running jobs continue, unless they are to be ended first."""
    engine.controller.is_leaving = True
    killed = list(engine.cluster.active) if kill else []
    if killed:
        await engine.ask(Act(caller.name, "kill", killed), caller.who)
        await actions.wait(killed, None)
    shutdown.ask()
    return Leaving(killed=killed, running=[] if kill else list(engine.cluster.active))
