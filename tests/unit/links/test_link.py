"""A link over a real pipe, with a few lines of shell at the other end."""

from __future__ import annotations

import asyncio
import os
import shlex
import stat
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from roost.links import messages as m
from roost.links.link import REMOTE, TRUSTED, WARY, WARY_REMOTE, Bounds, Link, LinkDown, Route

HELLO = {
    "op": "hello",
    "protocol": 1,
    "program": "x",
    "node": "n1",
    "pid": 1,
    "boot": "b",
    "cpus": 1,
    "mem_mib": 1,
    "gpus": [],
    "runs": [],
}
DEADLINE_S = 20.0


def says(*messages: dict[str, Any] | str, then: str = "cat >/dev/null") -> list[str]:
    """A command that says these and then does something else."""
    lines = [text if isinstance(text, str) else msgspec.json.encode(text).decode() for text in messages]
    return ["sh", "-c", "; ".join([*(f"printf '%s\\n' {shlex.quote(line)}" for line in lines), then])]


class Heard:
    """What came over a link, in order."""

    def __init__(self) -> None:
        self.reports: asyncio.Queue[m.Report] = asyncio.Queue()
        self.losses: asyncio.Queue[str] = asyncio.Queue()

    async def report(self) -> m.Report:
        """The next one."""
        return await asyncio.wait_for(self.reports.get(), DEADLINE_S)

    async def loss(self) -> str:
        """Why the link ended."""
        return await asyncio.wait_for(self.losses.get(), DEADLINE_S)


@asynccontextmanager
async def attached(command: list[str], bounds: Bounds = TRUSTED) -> AsyncIterator[tuple[Link, Heard]]:
    """A link to that command, closed at the end."""
    heard, route = Heard(), Route(command, bounds)
    link = Link("n1", route, lambda _, r: heard.reports.put_nowait(r), lambda _, why: heard.losses.put_nowait(why))
    task = asyncio.create_task(link.run())
    try:
        yield link, heard
    finally:
        link.close()
        await asyncio.wait_for(task, DEADLINE_S)


async def test_reports_come_in_order_after_the_hello() -> None:
    async with attached(says(HELLO, {"op": "gone", "run": "1.1"})) as (link, heard):
        assert isinstance(await heard.report(), m.Hello)
        assert await heard.report() == m.RunGone("1.1")
        assert link.hello is not None


async def test_gpus_that_are_found_after_the_hello_are_known_of_the_link() -> None:
    gpu = {"uuid": "g", "index": 0, "model": "T4", "mem_mib": 1, "mig": False}
    later = {"op": "inventory", "gpus": [gpu]}
    async with attached(says({**HELLO, "gpus_known": False}, later)) as (link, heard):
        assert isinstance(await heard.report(), m.Hello)
        assert isinstance(await heard.report(), m.Inventory)
        assert link.hello is not None and link.hello.gpus_known
        assert [known.uuid for known in link.hello.gpus] == ["g"]


BAD: list[tuple[list[str], str]] = [
    (says(HELLO, "{broken"), "it sent an invalid message"),
    (says({**HELLO, "protocol": 99}), "it uses protocol 99, this server 1"),
    (says({"op": "gone", "run": "1.1"}), "it sent a message before hello"),
    (["sh", "-c", "echo the disk is gone >&2; exit 3"], "the disk is gone"),
    (["sh", "-c", "exit 3"], "exit code 3"),
    (["/no/such/program"], "cannot run /no/such/program: No such file or directory"),
]


@pytest.mark.parametrize(("command", "words"), BAD)
async def test_a_link_that_goes_wrong_ends_with_the_reason(command: list[str], words: str) -> None:
    async with attached(command) as (_, heard):
        assert words in await heard.loss()


async def test_a_link_that_ended_is_made_again() -> None:
    async with attached(says(HELLO, then="exit 0")) as (_, heard):
        assert isinstance(await heard.report(), m.Hello)
        await heard.loss()
        assert isinstance(await heard.report(), m.Hello)


ANSWER = r"""while read -r line; do case $line in *ping*) echo '{"op":"pong","id":1}';; esac; done"""


async def test_a_question_gets_its_answer() -> None:
    async with attached(says(HELLO, then=ANSWER)) as (link, heard):
        await heard.report()
        assert await asyncio.wait_for(link.ask("ping"), DEADLINE_S) == m.Pong(1)


async def test_a_question_on_a_dead_link_is_refused_at_once() -> None:
    async with attached(["sh", "-c", "exit 1"]) as (link, heard):
        await heard.loss()
        with pytest.raises(LinkDown):
            await link.ask("ping")


async def test_a_question_whose_link_breaks_is_refused() -> None:
    async with attached(says(HELLO, then="read -r line; exit 0")) as (link, heard):
        await heard.report()
        with pytest.raises(LinkDown):
            await asyncio.wait_for(link.ask("read_log", run="1.1"), DEADLINE_S)


async def test_a_dropped_link_says_why_and_comes_back() -> None:
    async with attached(says(HELLO)) as (link, heard):
        await heard.report()
        link.drop("a commit failed")
        assert await heard.loss() == "a commit failed"
        assert isinstance(await heard.report(), m.Hello)


async def test_what_is_said_reaches_the_node_in_order() -> None:
    echo = r"""while read -r line; do printf '{"op":"gone","run":"%s"}\n' "$(echo "$line" | cut -d'"' -f8)"; done"""
    async with attached(says(HELLO, then=echo)) as (link, heard):
        await heard.report()
        link.send([{"op": "stop", "run": f"{i}.1"} for i in (1, 2, 3)])
        assert [await heard.report() for _ in range(3)] == [m.RunGone(f"{i}.1") for i in (1, 2, 3)]


async def test_what_is_said_before_the_hello_is_dropped() -> None:
    link = Link("n1", Route(["true"]), lambda *_: None, lambda *_: None)
    link.send([{"op": "stop", "run": "1.1"}])


async def test_a_link_that_cannot_be_made_for_want_of_room_or_descriptors_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real, failures = os.pipe, 2

    def full() -> tuple[int, int]:
        nonlocal failures
        failures -= 1
        if failures >= 0:
            raise OSError(24, "Too many open files")
        return real()

    monkeypatch.setattr("roost.links.last_words.os.pipe", full)
    async with attached(says(HELLO)) as (link, heard):
        assert "Too many open files" in await heard.loss()
        await heard.loss()
        link.hurry()
        assert isinstance(await heard.report(), m.Hello)


IMPATIENT = Bounds(silent_s=0.1, hello_s=0.3)
PONG = 'echo \'{"op":"pong","id":0}\''
PONGS = f"while read -r line; do {PONG}; done"


async def test_a_node_that_falls_silent_is_given_up_after_it_was_asked(tmp_path: Path) -> None:
    heard_there = tmp_path / "heard"
    async with attached(says(HELLO, then=f"cat >{heard_there}"), IMPATIENT) as (_, heard):
        assert isinstance(await heard.report(), m.Hello)
        assert await heard.loss() == "it does not answer"
    assert b'"ping"' in heard_there.read_bytes()


async def test_a_node_that_answers_and_has_nothing_to_say_is_kept() -> None:
    three = f"for n in 1 2 3; do read -r line; {PONG}; done; exit 7"  # later than a silent one is given up
    async with attached(says(HELLO, then=three), Bounds(silent_s=0.5)) as (_, heard):
        assert isinstance(await heard.report(), m.Hello)
        assert "exit code 7" in await heard.loss()


async def test_a_long_line_on_a_slow_wire_is_no_silence() -> None:
    spaces = "for n in 1 2 3 4 5 6 7 8 9 10 11 12; do printf ' '; sleep 0.1; done"
    slow = f"""printf '{{"op":"gone",'; {spaces}; echo '"run":"1.1"}}'; cat"""
    async with attached(says(HELLO, then=slow), Bounds(silent_s=0.25)) as (_, heard):
        assert isinstance(await heard.report(), m.Hello)
        assert await heard.report() == m.RunGone("1.1")
        assert heard.losses.empty()


async def test_a_server_that_stood_still_gives_nobody_up() -> None:
    async with attached(says(HELLO, then=PONGS), Bounds(silent_s=0.2)) as (link, heard):
        assert isinstance(await heard.report(), m.Hello)
        for _ in range(2):
            time.sleep(0.7)  # the whole event loop
            await asyncio.sleep(0.05)
        assert heard.losses.empty() and link.hello is not None


async def test_a_node_that_never_says_hello_is_given_up() -> None:
    async with attached(["sh", "-c", "cat >/dev/null"], IMPATIENT) as (_, heard):
        assert await heard.loss() == "it did not say hello"


@pytest.mark.parametrize("bounds", [TRUSTED, WARY, REMOTE, WARY_REMOTE])
def test_silence_is_noticed_within_ten_seconds_on_every_link(bounds: Bounds) -> None:
    assert 3 * bounds.silent_s + bounds.silent_s / 2 < 10


def _unlinked_size(fd: str) -> int:
    """How much a file without a name holds; 0 for everything else that is open."""
    try:
        found = os.stat(f"/proc/self/fd/{fd}")
    except OSError:
        return 0
    return found.st_size if stat.S_ISREG(found.st_mode) and found.st_nlink == 0 else 0


async def test_a_command_that_floods_standard_error_costs_no_disk_and_its_last_words_are_known(tmp_path: Path) -> None:
    flood = "yes a line of noise | head -c 2000000 >&2"
    go = tmp_path / "go"
    command = says(HELLO, then=f"{flood}; touch {tmp_path}/said; until [ -e {go} ]; do sleep 0.02; done; echo the end >&2")
    async with attached(command) as (_, heard):
        assert isinstance(await heard.report(), m.Hello)
        async with asyncio.timeout(DEADLINE_S):
            while not (tmp_path / "said").exists():
                await asyncio.sleep(0.01)
        assert not [found for found in map(_unlinked_size, os.listdir("/proc/self/fd")) if found > 1 << 20]
        go.touch()
        assert await heard.loss() == "the end"


async def test_a_process_that_keeps_standard_error_open_keeps_no_link_waiting() -> None:
    async with attached(["sh", "-c", "sleep 30 </dev/null >/dev/null & echo gone >&2; exit 3"]) as (_, heard):
        began = time.monotonic()
        assert await heard.loss() == "gone"
        assert time.monotonic() - began < DEADLINE_S
