"""The sender as the server sees it: a real process."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.sinks import Webhook

from roost.messages import Message
from roost.server.notify.sender_process import NO_ANSWER, SenderProcess
from roost.server.notify.urls import check


@pytest.fixture
async def outgoing() -> AsyncIterator[SenderProcess]:
    made = SenderProcess()
    yield made
    await made.close()


@pytest.fixture
async def hook() -> AsyncIterator[Webhook]:
    made = Webhook()
    yield made
    made.hangs.set()
    await asyncio.to_thread(made.down)


@pytest.mark.parametrize("guides", ["docs/how-to", "docs/zh/how-to"])
async def test_every_url_of_the_page_is_one_that_its_service_understands(outgoing: SenderProcess, guides: str) -> None:
    page = (Path(__file__).parents[4] / guides / "notify.md").read_text(encoding="utf-8")
    urls = re.findall(r"\| `([a-z]+://[^`]+)` \|", page)
    assert len(urls) == 14
    for url in urls:
        real = re.sub(r"\bBOT_TOKEN\b", "123456789:abcdefg_hijklmnop", url)
        real = re.sub(r"\bTOKENA/TOKENB/TOKENC\b", "T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ", real)
        token = "abcdef0123456789" if url.startswith("dingtalk") else "1a2b3c4d-1a2b-3c4d-5e6f-1a2b3c4d5e6f"
        real = re.sub(r"\b(TOKEN|KEY)\b", token, real).replace("CHAT_ID", "12315544")
        check(real)
        assert await outgoing.check(real) is None, url
    assert await outgoing.check("bogus://x") == Message("notify.no_service")


async def test_it_starts_when_asked_and_ends_when_closed(outgoing: SenderProcess, hook: Webhook) -> None:
    before = outgoing.pid
    assert before is None
    assert await outgoing.send(hook.url, "hello", "world", mood="warning") is None
    assert [(each["title"], each["message"], each["type"]) for each in hook.got] == [("hello", "world", "warning")]
    pid = outgoing.pid
    assert pid is not None
    await outgoing.tidy()
    assert outgoing.pid == pid  # it was of use just now
    await outgoing.close()
    assert not Path(f"/proc/{pid}").exists()
    assert await outgoing.send(hook.url, "again", "x") is None


async def test_one_that_hangs_is_given_up_and_heard_when_it_comes_after_all(hook: Webhook) -> None:
    outgoing, late = SenderProcess(timeout_s=1.0), asyncio.Event()
    outgoing.on_late = lambda message: late.set() if message == 7 else None
    try:
        await outgoing.check(hook.url)
        hook.hangs.clear()
        assert await outgoing.send(hook.url, "slow", "x", message=7) == NO_ANSWER
        hook.hangs.set()
        await asyncio.wait_for(late.wait(), 20)
    finally:
        await outgoing.close()


async def test_one_that_dies_is_said_and_another_is_started(outgoing: SenderProcess, hook: Webhook) -> None:
    await outgoing.check(hook.url)
    hook.hangs.clear()
    sending = asyncio.create_task(outgoing.send(hook.url, "lost", "x"))
    while not outgoing._asked:
        await asyncio.sleep(0)
    assert outgoing.pid is not None
    os.kill(outgoing.pid, signal.SIGKILL)
    assert await sending == Message("notify.sender_ended")
    hook.hangs.set()
    assert await outgoing.send(hook.url, "next", "x") is None


async def test_many_at_once(outgoing: SenderProcess, hook: Webhook) -> None:
    answers = await asyncio.gather(*(outgoing.send(hook.url, f"message {i}", "x" * 3000) for i in range(40)))
    assert answers == [None] * 40 and len(hook.got) == 40
