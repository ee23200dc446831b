"""Targets over the API: one's own only, checked, and never a URL in an answer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.contract.conftest import Api

from roost.messages import Message
from roost.server.clock import now_ms
from roost.server.identity.people import Caller
from roost.server.notify.sender_process import NoSender, SenderProcess
from roost.store import outbox

URL = "json://me:s3cret@127.0.0.1:9/s3cret"
TARGET = {"version", "id", "user", "target", "events", "lang", "label", "created_at", "waiting", "error"}
FAILURE = {
    "id", "target", "to", "user", "job", "kind", "subject", "error", "tries", "created_at", "next_at", "given_up",
}  # fmt: skip


class FakeSender(SenderProcess):
    """Takes everything, or says what it is told to say."""

    def __init__(self) -> None:
        super().__init__()
        self.error: Message | None = None
        self.missing = False
        self.sent: list[tuple[str, str]] = []

    async def check(self, url: str) -> Message | None:
        if self.missing:
            raise NoSender("notify.no_apprise", is_missing=True)
        return self.error

    async def send(self, url: str, subject: str, body: str, **how: Any) -> Message | None:
        self.sent.append((url, subject))
        return self.error


@pytest.fixture
def sender(api: Api) -> FakeSender:
    api.notifier.outgoing = FakeSender()
    return api.notifier.outgoing


async def test_a_target_from_its_first_day_to_its_last(api: Api, sender: FakeSender) -> None:
    added = await api.post("/notify", {"url": URL, "label": "my\nhook"})
    assert set(added) == TARGET
    assert (added["target"], added["events"], added["lang"], added["label"]) == (
        "json://***@127.0.0.1",
        ["end", "idle"],
        "en",
        "my hook",
    )
    listed = await api.call("GET", "/notify")
    assert [set(each) for each in listed.json["targets"]] == [TARGET - {"version"}]
    assert await api.post(f"/notify/{added['id']}/test", {}) == {
        "version": 1,
        "id": added["id"],
        "sent": True,
        "error": None,
    }
    assert sender.sent == [(URL, "Roost: test message")]
    sender.error = Message("notify.connection_refused")
    assert (await api.post(f"/notify/{added['id']}/test", {}))["error"] == "connection refused"
    removed = await api.call("DELETE", f"/notify/{added['id']}")
    assert removed.json == {"version": 1, "removed": added["id"]}
    assert (await api.get("/notify"))["targets"] == []
    assert b"s3cret" not in listed.body + removed.body + str(added).encode()


async def test_what_failed_is_listed_without_the_url(api: Api, sender: FakeSender) -> None:
    added = await api.post("/notify", {"url": URL})
    store, me = api.server.store, (await api.get("/me"))["user"]
    store.transact(outbox.put, [outbox.Message(added["id"], "failed", "Roost: job 1 …", "{}", 1, 1)], 0, 1000)
    (message,) = [store.read(outbox.next_message, added["id"], 2000)]
    assert message is not None
    store.transact(outbox.settle, message.id, {"tries": 1, "error": "connection refused", "next_ms": 9000})
    answer = await api.call("GET", "/notify/failures")
    (failure,) = answer.json["failures"]
    assert set(failure) == FAILURE
    assert (failure["to"], failure["user"], failure["error"], failure["given_up"]) == (
        "json://***@127.0.0.1",
        me,
        "connection refused",
        False,
    )
    assert b"s3cret" not in answer.body
    (target,) = (await api.get("/notify"))["targets"]
    assert (target["waiting"], target["error"]) == (1, "connection refused")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "url"),
        ({"url": "dbus://s3cret"}, "acts on the server itself"),
        ({"url": "s3cret"}, "not the URL of a notification service"),
        ({"url": URL, "events": ["finish"]}, "unknown event 'finish'"),
        ({"url": URL, "events": []}, "no events selected"),
        ({"url": URL, "lang": "xx"}, "unknown language"),
        ({"url": URL, "colour": "red"}, "colour"),
        ({"url": "slack://s3cret?template=/etc/passwd"}, "would read a file"),
    ],
)
async def test_what_makes_no_sense_is_refused(api: Api, sender: FakeSender, body: Any, words: str) -> None:
    answer = await api.call("POST", "/notify", body)
    assert answer.status == 400 and words in answer.json["error"]["message"] and b"s3cret" not in answer.body


async def test_a_url_that_no_service_understands_is_refused(api: Api, sender: FakeSender) -> None:
    sender.error = Message("notify.no_service")
    answer = await api.call("POST", "/notify", {"url": "bogus://s3cret"})
    assert (answer.status, answer.json["error"]["message"]) == (
        400,
        "cannot use this bogus:// URL: no known service has such a URL",
    )


async def test_without_the_package_it_is_said_what_to_install_and_the_rest_works(api: Api, sender: FakeSender) -> None:
    sender.missing = True
    answer = await api.call("POST", "/notify", {"url": URL})
    assert (answer.status, answer.json["error"]["code"]) == (501, "not_installed")
    assert "pip install 'roost[notify]'" in answer.json["error"]["hint"]
    assert (await api.get("/notify"))["targets"] == [] and (await api.get("/notify/failures"))["failures"] == []


async def test_another_users_target_is_not_there(api: Api, sender: FakeSender) -> None:
    row = {"user": "somebody-else", "url": URL, "shown": "json://***", "events": "end", "lang": "en", "created_ms": 1}
    theirs = api.server.store.transact(outbox.add_target, row)
    api.notifier.reload()
    assert (await api.get("/notify"))["targets"] == []
    for method, path in (("DELETE", f"/notify/{theirs}"), ("POST", f"/notify/{theirs}/test")):
        answer = await api.call(method, path, {})
        assert (answer.status, answer.json["error"]["code"]) == (404, "not_found")
    assert sender.sent == [] and theirs in api.notifier.targets
    assert (await api.call("DELETE", "/notify/99999999999999999999")).status == 400


async def test_nobody_has_more_than_twenty(api: Api, sender: FakeSender) -> None:
    for _ in range(20):
        await api.post("/notify", {"url": URL})
    answer = await api.call("POST", "/notify", {"url": URL})
    assert (answer.status, answer.json["error"]["code"]) == (409, "conflict")


async def test_the_url_is_in_no_repr_and_no_error(api: Api, sender: FakeSender) -> None:
    await api.post("/notify", {"url": URL})
    assert "s3cret" not in repr(api.notifier.targets)
    answer = await api.call("POST", "/notify", {"url": URL, "events": "s3cret"})
    assert answer.status == 400 and b"s3cret" not in answer.body


async def test_everybodys_failures_are_for_administrators(api: Api, sender: FakeSender) -> None:
    people = api.server.people
    await people.add(people.itself.who, ["zoe"], "none")
    _, token = await people.new_token(Caller("zoe", False, "socket"), "test", None)
    uid, api.uid = api.uid, None
    api.headers = {"authorization": f"Bearer {token}"}
    added = await api.post("/notify", {"url": URL})
    assert added["user"] == "zoe"
    api.server.store.transact(outbox.put, [outbox.Message(added["id"], "failed", "x", "{}", 1, 1)], 0, 1000)
    message = api.server.store.read(outbox.next_message, added["id"], 2000)
    assert message is not None
    api.server.store.transact(outbox.settle, message.id, {"tries": 1, "error": "no answer in time"})
    assert [each["user"] for each in (await api.get("/notify/failures"))["failures"]] == ["zoe"]
    refused = await api.call("GET", "/notify/failures?all=true")
    assert (refused.status, refused.json["error"]["code"]) == (403, "not_permitted")
    api.uid, api.headers = uid, {}
    assert (await api.get("/notify"))["targets"] == [] and (await api.get("/notify/failures"))["failures"] == []
    everybodys = await api.call("GET", "/notify/failures?all=true")
    assert [each["user"] for each in everybodys.json["failures"]] == ["zoe"] and b"s3cret" not in everybodys.body
    lines = await api.call("GET", "/audit")
    assert b"notify add" in lines.body and b"json://***@127.0.0.1" in lines.body and b"s3cret" not in lines.body
    await api.call("DELETE", "/users/zoe")
    assert api.notifier.targets == {}


async def test_somebody_who_is_locked_is_told_nothing(api: Api, sender: FakeSender) -> None:
    people = api.server.people
    await people.add(people.itself.who, ["zoe"], "none")
    row = {"user": "zoe", "url": URL, "shown": "json://***", "events": "end", "lang": "en", "created_ms": 1}
    target = api.server.store.transact(outbox.add_target, row)
    api.notifier.reload()
    api.server.store.transact(outbox.put, [outbox.Message(target, "test", "x", '{"kind":"test"}')], 0, now_ms())
    await people.change(people.itself.who, "zoe", is_locked=True)
    await api.notifier._round()
    await asyncio.sleep(0)
    assert sender.sent == []
    await people.change(people.itself.who, "zoe", is_locked=False)
    await api.notifier._round()
    async with asyncio.timeout(10):
        while not sender.sent:
            await asyncio.sleep(0.01)
    assert sender.sent == [(URL, "Roost: test message")]
    await api.notifier.close()
