"""A server in this process, and a node program of its own that it takes for one on another machine.

The program is a real one behind a real link, in a directory that can be deleted, and can be cut off and come back.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from tests.servers import make_server

from roost.core.model import Access
from roost.core.spec import JobSpec
from roost.links import local
from roost.links.addresses import PIPE
from roost.links.link import Link, Route
from roost.server.nodes.node_links import NodeLinks
from roost.server.rounds.commands import Act, ChangeSettings, KnowNode, RemoveNode, Submit
from roost.store import reads
from roost.store.rows import AttemptRow
from roost.store.store import Store

NODE = "far"
DEADLINE_S = 40.0


async def until(what: str, look: Callable[[], Any]) -> Any:
    """What `look` finds, as soon as that is true."""
    async with asyncio.timeout(DEADLINE_S):
        while not (found := look()):
            await asyncio.sleep(0.01)
    return found


class OneLink(NodeLinks):
    """The link to the node, while there is one, whatever is asked for."""

    only: Link | None = None

    def open(self, node: str, channel: str) -> Link | None:
        """That one."""
        return self.only


class Faraway:
    """One home, the server in it, and its node."""

    def __init__(self, work: Path) -> None:
        self.work, self.there = work, work / "there"
        self.home = work / "home"
        for directory in (self.home, self.there):
            directory.mkdir(0o700)
        self.stay = work / "stay"
        self.stay.touch()
        self._copying: asyncio.Task[None] | None = None
        self._linked: asyncio.Task[None] | None = None

    # -- its server -------------------------------------------------------------------------------------------------

    async def start(self, copies: bool = True) -> None:
        """A new server, with the node cut off."""
        self.store = Store(self.home / "roost.db")
        self.server = make_server(self.home, self.store, OneLink)
        self.engine = self.server.engine
        self.logs = self.server.logs
        self._rounds = asyncio.create_task(self.engine.run())
        self.copies = self.server.log_copies
        if NODE not in self.server.engine.cluster.nodes:
            await self.engine.ask(KnowNode("", NODE, Access(PIPE)))
        if copies:
            self._copying = asyncio.create_task(self.copies.run())

    async def attach(self) -> None:
        """The node is reached."""
        self.link = Link(NODE, Route(local.command(self.there, "2x24G")), self.engine.inbox.report, self.engine.inbox.lost)
        assert isinstance(self.server.links, OneLink)
        self.server.links.only = self.link
        self._linked = asyncio.create_task(self.link.run())
        await until("it is attached", lambda: self.server.engine.cluster.nodes[NODE].attached)

    async def cut(self) -> None:
        """The node cannot be reached any more."""
        await self._hang_up()
        self.engine.inbox.lost(NODE, "no route to host")
        await until("it is away", lambda: not self.server.engine.cluster.nodes[NODE].attached)

    async def wipe(self) -> None:
        """The node loses all its files, and is back."""
        await self.cut()
        self.end_program()
        shutil.rmtree(self.there / "node")
        await self.attach()

    async def forget(self) -> None:
        """The node is no longer one."""
        await self.engine.ask(RemoveNode("", NODE))

    async def stop(self) -> None:
        """The server leaves."""
        if self._copying is not None:
            self._copying.cancel()
            await asyncio.gather(self._copying, return_exceptions=True)
            self._copying = None
        await self._hang_up()
        await self.engine.stop()
        await self._rounds
        self.store.close()

    async def _hang_up(self) -> None:
        if self._linked is not None:
            self.link.close()
            await self._linked
            self._linked = None

    def end_program(self) -> None:
        """The node program is killed."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                words = Path(f"/proc/{pid}/cmdline").read_bytes()
                if str(self.there / "node").encode() in words:
                    os.kill(int(pid), signal.SIGKILL)

    # -- its jobs ---------------------------------------------------------------------------------------------------

    async def submit(self, command: str, **more: Any) -> int:
        """Queue a job without a GPU."""
        spec = JobSpec(command, gpus=0, cwd=str(self.work), **more)
        return int((await self.engine.ask(Submit("ada", [spec]))).ids[0])

    async def submit_long(self) -> int:
        """Start a job that says `begun`, stays while the file `stay` is there, and says `done`."""
        job = await self.submit("echo begun; while [ -e stay ]; do sleep 0.02; done; echo done")
        await until("it runs", lambda: self.server.engine.cluster.active[job].pid)
        return job

    async def ends(self, job: int) -> AttemptRow:
        """Its last attempt, once it is over."""
        await until("it has ended", lambda: self.store.read(reads.jobs, [job])[job].state == "ended")
        return self.store.read(reads.attempts, [job])[job][-1]

    async def ran(self, command: str, **more: Any) -> AttemptRow:
        """Run a job to its end."""
        return await self.ends(await self.submit(command, **more))

    async def copied(self, attempt: AttemptRow) -> Path:
        """Wait for the copy of its logs; where it is."""
        directory = self.home / "logs" / str(attempt.job)
        await until("it is copied", (directory / f"{attempt.attempt}.json").exists)
        return directory

    async def remove(self, job: int) -> None:
        """`roost rm`."""
        await self.engine.ask(Act("ada", "rm", [job]))

    async def set(self, key: str, value: int) -> None:
        """`roost set`."""
        await self.engine.ask(ChangeSettings("", {key: value}))

    async def text(self, attempt: AttemptRow, stream: str = "out") -> bytes:
        """All of a log, as it is read now."""
        return b"".join([piece async for piece in self.logs.whole(attempt, stream)])


@contextlib.asynccontextmanager
async def faraway() -> AsyncIterator[Faraway]:
    """One, taken down afterwards."""
    work = Path(tempfile.mkdtemp(prefix="roost-", dir="/tmp"))  # short: a socket's path has 107 bytes at most
    made = Faraway(work)
    try:
        yield made
    finally:
        await made.stop()
        made.end_program()
        shutil.rmtree(work, ignore_errors=True)
