"""What ended runs on another node wrote survives that node; and nobody waits for one that is away."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator

import pytest
from tests.faraway import Faraway, faraway, until

from roost.answers.jobs import LogEnded
from roost.core.errors import NotFound, TryLater
from roost.server.logs.reader import Followed


@pytest.fixture
async def far(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Faraway]:
    async with faraway() as made:
        monkeypatch.setenv("ROOST_CLAIMS", str(made.work))
        await made.start()
        await made.attach()
        yield made


async def test_a_log_outlives_the_files_of_its_node_and_the_node(far: Faraway) -> None:
    attempt = await far.ran("seq 1 50000; echo oops >&2")
    there = await far.text(attempt)
    directory = await far.copied(attempt)
    assert {path.name for path in directory.iterdir()} == {"1.out", "1.err", "1.json"}
    assert {path.stat().st_mode & 0o777 for path in directory.iterdir()} == {0o600}
    assert directory.stat().st_mode & 0o777 == 0o700
    await far.wipe()
    assert await far.text(attempt) == there
    await far.cut()
    assert await far.text(attempt) == there and await far.text(attempt, "err") == b"oops\n"
    await far.forget()
    assert (await far.logs.read(attempt, stream="out", lines=2)).data == b"49999\n50000\n"
    assert (await far.logs.read(attempt, stream="out", offset=-6, limit=100)).data == b"50000\n"


async def test_a_long_log_loses_its_middle_and_keeps_its_offsets(far: Faraway) -> None:
    await far.set("log.keep_mib", 1)
    attempt = await far.ran("yes 0123456789abcde | head -c 5000000; echo; echo last words")
    directory = await far.copied(attempt)
    (first, behind), size = json.loads((directory / "1.json").read_bytes())["out"]["dropped"], 5_000_012
    assert first == 131_072 and size - behind + first <= 1 << 20 < size - behind + first + 8192
    assert (directory / "1.out").stat().st_blocks * 512 <= (1 << 20) + 8192
    await far.forget()
    head = await far.logs.read(attempt, stream="out", offset=0, limit=1 << 20)
    assert (len(head.data), head.size, head.dropped) == (first, size, (first, behind))
    text = await far.text(attempt)
    assert text.startswith(b"0123456789abcde\n") and text.endswith(b"\nlast words\n") and len(text) == size - behind + first


async def test_who_is_about_to_remove_a_node_can_wait_for_what_is_on_it(far: Faraway) -> None:
    attempts = [await far.ran("seq 1 100000") for _ in range(3)]
    assert await far.copies.settled("far", 40)
    await far.forget()
    for attempt in attempts:
        assert (await far.logs.read(attempt, stream="out", lines=1)).data == b"100000\n"


async def test_merged_streams_are_one_copy_and_files_of_the_users_are_copied_too(far: Faraway) -> None:
    merged = await far.ran("echo one; echo two >&2", stderr="stdout", stdout="all.txt")
    directory = await far.copied(merged)
    assert {path.name for path in directory.iterdir()} == {"1.out", "1.json"}
    (far.work / "all.txt").unlink()
    await far.forget()
    assert await far.text(merged) == await far.text(merged, "err") == b"one\ntwo\n"


async def test_what_ended_while_no_server_was_there_is_copied_by_the_next(far: Faraway) -> None:
    job = await far.submit_long()
    await far.stop()
    far.stay.unlink()
    await far.start(copies=False)
    await far.attach()
    attempt = await far.ends(job)  # a server that copies nothing heard of its end
    await far.stop()
    await far.start()
    await far.attach()
    await far.copied(attempt)
    await far.forget()
    assert await far.text(attempt) == b"begun\ndone\n"


async def test_what_its_node_does_not_have_is_remembered_and_a_removed_job_leaves_nothing(far: Faraway) -> None:
    await far.set("log.keep_mib", 0)
    attempt = await far.ran("echo lost")
    await far.set("log.keep_mib", 16)
    await far.wipe()
    far.copies._wanted.add(attempt.node, attempt.job)
    far.copies._wake.set()
    directory = await far.copied(attempt)
    assert {path.name for path in directory.iterdir()} == {"1.json"}
    with pytest.raises(NotFound, match="no such run"):
        await far.text(attempt)
    await far.remove(attempt.job)
    await until("nothing is left", lambda: not directory.exists())


async def test_the_oldest_copies_go_first(far: Faraway) -> None:
    attempts = [await far.ran("head -c 400000 /dev/zero") for _ in range(3)]
    for attempt in attempts:
        await far.copied(attempt)
    await far.set("log.keep_total_mib", 1)
    attempts.append(await far.ran("echo little"))
    await far.copied(attempts[-1])
    await until("the oldest is gone", lambda: not (far.home / "logs" / str(attempts[0].job)).exists())
    assert all((far.home / "logs" / str(a.job)).exists() for a in attempts[1:])


async def test_a_running_job_on_a_node_that_is_away_is_a_clear_refusal_at_once(far: Faraway) -> None:
    job = await far.submit_long()
    attempt = await far.logs.attempt(job, None)
    assert attempt is not None
    await far.cut()
    began = time.monotonic()
    with pytest.raises(TryLater, match=rf"^far cannot be reached \(no route to host\): what job {job} wrote is there$"):
        await far.logs.read(attempt, stream="out")
    assert time.monotonic() - began < 2
    await far.attach()
    assert (await far.logs.read(attempt, stream="out")).data == b"begun\n"


async def test_following_waits_for_a_node_that_is_cut_off_and_goes_on_when_it_is_back(far: Faraway) -> None:
    job = await far.submit_long()
    heard: list[bytes] = []

    async def follow() -> None:
        async for piece in far.logs.follow(job, Followed(streams=("out",)), {}, None):
            heard.append(getattr(piece, "data", b""))

    following = asyncio.create_task(follow())
    await until("the beginning came", lambda: b"".join(heard) == b"begun\n")
    await far.cut()
    far.stay.unlink()
    await far.attach()
    await asyncio.wait_for(following, 40)
    assert b"".join(heard) == b"begun\ndone\n"


async def test_following_an_ended_job_reads_the_copy_and_one_without_a_copy_is_refused(far: Faraway) -> None:
    attempt = await far.ran("echo kept")
    await far.copied(attempt)
    await far.set("log.keep_mib", 0)
    other = await far.ran("echo not kept")
    await far.cut()
    await far.logs.check(attempt.job, None)
    pieces = [p async for p in far.logs.follow(attempt.job, Followed(streams=("out",)), {}, None)]
    assert b"".join(getattr(p, "data", b"") for p in pieces) == b"kept\n"
    assert isinstance(pieces[-1], LogEnded) and pieces[-1].end.outcome == "succeeded"
    with pytest.raises(TryLater, match="cannot be reached"):
        await far.logs.check(other.job, None)
    await far.forget()
    with pytest.raises(NotFound, match="far is no longer a node here"):
        await far.logs.check(other.job, None)
