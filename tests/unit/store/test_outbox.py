"""Notices come with the commit that makes them, and go with the messages that they become."""

from __future__ import annotations

from typing import Any

import pytest
from tests.builders import NOW, Server, exited, started

from roost.store import outbox
from roost.store.outbox import MORE, UNSENT_KEPT, Message
from roost.store.rows import MessageRow, TargetRow
from roost.store.store import Store
from roost.store.store_errors import CommitFailed

DAY_MS = 86_400_000


def add(store: Store, user: str = "ada", events: str = "end,idle", url: str = "json://s3cret") -> int:
    row = {"user": user, "url": url, "shown": "json://***", "events": events, "lang": "en", "created_ms": NOW}
    return store.transact(outbox.add_target, row)


def kinds(store: Store) -> list[tuple[int, str]]:
    return [(row.job, row.kind) for row in store.read(outbox.notices, 100)]


def run(server: Server, status: int | None = 0, why: str | None = None, **asked: Any) -> int:
    job = server.submit(**asked)
    server.tell(started(f"{job}.1"), exited(f"{job}.1", status, why))
    return job


def test_nothing_is_kept_where_nobody_wants_it(store: Store) -> None:
    run(Server(store))
    store.tell({"bob": frozenset({"end", "start"})})
    run(Server(store))
    assert kinds(store) == []


def test_starts_and_ends_are_kept_as_they_are_wanted(store: Store) -> None:
    server = Server(store)
    store.tell({"ada": frozenset({"start", "fail"})})
    good, bad = run(server), run(server, 3)
    assert kinds(store) == [(good, "start"), (bad, "start"), (bad, "failed")]
    failed = store.read(outbox.notices, 100)[-1]
    assert (failed.user, failed.attempt, failed.name, failed.data) == (
        "ada",
        1,
        "true",
        f'{{"exit_code":3,"started_ms":{NOW}}}',
    )


def test_a_job_has_its_own_say(store: Store) -> None:
    server = Server(store)
    store.tell({"ada": frozenset({"end"})})
    run(server, notify=("none",))
    quiet = run(server, notify=("start",))
    assert kinds(store) == [(quiet, "start")]
    assert store.read(outbox.notices, 100)[0].events == "start"


def test_what_ends_before_it_starts_is_an_end(store: Store) -> None:
    server = Server(store)
    store.tell({"ada": frozenset({"kill"})})
    job = server.submit(hold=True)
    server.act("kill", job)
    assert kinds(store) == [(job, "killed")]


def test_a_job_that_is_removed_while_it_runs_is_told_all_the_same(store: Store) -> None:
    server = Server(store)
    store.tell({"ada": frozenset({"end"})})
    job = server.submit()
    server.tell(started(f"{job}.1"))
    server.act("rm", job)
    server.tell(exited(f"{job}.1", 143, "rm"))
    assert kinds(store) == [(job, "killed")]


def test_a_notice_goes_in_the_transaction_that_makes_its_message(store: Store) -> None:
    server, target = Server(store), add(store)
    store.tell({"ada": frozenset({"end"})})
    run(server)
    (notice,) = store.read(outbox.notices, 10)
    broken: Any = Message(target, "succeeded", None, "{}")  # type: ignore[arg-type]
    with pytest.raises(CommitFailed):
        store.transact(outbox.put, [broken], notice.id, NOW)
    assert store.read(outbox.notices, 10) == [notice] and store.read(outbox.waiting) == {}
    store.transact(outbox.put, [Message(target, "succeeded", "it went well", "{}", notice.job, 1)], notice.id, NOW)
    assert store.read(outbox.notices, 10) == [] and store.read(outbox.waiting) == {target: 1}
    assert store.read(outbox.was_told, "succeeded", notice.job, 1)
    assert not store.read(outbox.was_told, "idle", notice.job, 1)


def test_an_error_of_the_database_carries_no_values(store: Store) -> None:
    with pytest.raises(CommitFailed) as refused:
        store.transact(outbox.add_target, {"user": None, "url": "json://s3cret"})
    assert "s3cret" not in str(refused.value) and refused.value.__cause__ is None
    assert "s3cret" not in repr(TargetRow(1, "ada", "json://s3cret", "json://***", "end", "en", None, NOW))


def put(store: Store, target: int, count: int, now_ms: int = NOW, first: int = 0) -> None:
    messages = [Message(target, "failed", f"message {first + i}", "{}", first + i) for i in range(count)]
    store.transact(outbox.put, messages, 0, now_ms)


def unsent(store: Store, target: int) -> list[str]:
    """The subjects in the order in which they would be sent; of the one that counts, how many it stands for."""
    found = []
    while (message := store.read(outbox.next_message, target, NOW + DAY_MS)) is not None:
        found.append(message.facts if message.kind == MORE else message.subject)
        store.transact(outbox.sent, message.id, NOW)
    return found


def test_of_too_many_the_oldest_become_one_that_counts_them(store: Store) -> None:
    target, other = add(store), add(store)
    put(store, target, UNSENT_KEPT)
    put(store, other, 1)
    assert store.read(outbox.waiting) == {target: UNSENT_KEPT, other: 1}
    put(store, target, 136, first=UNSENT_KEPT)
    put(store, target, 1, first=UNSENT_KEPT + 136)
    assert store.read(outbox.waiting)[target] == UNSENT_KEPT
    left = unsent(store, target)
    assert left[:1] + left[-1:] == ["message 138", "138"]  # 337 in all
    assert len(left) == UNSENT_KEPT and unsent(store, other) == ["message 0"]


def test_what_failed_and_what_is_being_sent_are_not_among_those_that_are_only_counted(store: Store) -> None:
    target = add(store)
    put(store, target, 2)
    failed, sending = (message.id for message in _all(store, target))
    store.transact(outbox.settle, failed, {"tries": 1, "error": "connection refused"})
    many = [Message(target, "failed", f"later {i}", "{}", i) for i in range(UNSENT_KEPT + 50)]
    store.transact(outbox.put, many, 0, NOW, {sending})
    assert {failed, sending} <= {message.id for message in _all(store, target)}
    assert len(_all(store, target)) == UNSENT_KEPT
    assert [message.error for message, _, _ in store.read(outbox.failures, "ada", 10)] == ["connection refused"]


def _all(store: Store, target: int) -> list[MessageRow]:
    with store.reader() as db:
        rows = db.exec_driver_sql("SELECT * FROM outbox WHERE target = ? AND next_ms IS NOT NULL ORDER BY id", (target,))
        return [MessageRow(**row) for row in rows.mappings()]


def test_what_failed_goes_behind_the_others_and_waits_for_its_time(store: Store) -> None:
    target = add(store)
    put(store, target, 2)
    first = store.read(outbox.next_message, target, NOW)
    assert first is not None and first.subject == "message 0"
    store.transact(outbox.settle, first.id, {"tries": 1, "error": "connection refused", "next_ms": NOW + 500})
    second = store.read(outbox.next_message, target, NOW)
    assert second is not None and second.subject == "message 1"
    store.transact(outbox.sent, second.id, NOW)
    assert store.read(outbox.next_message, target, NOW) is None
    assert store.read(outbox.soonest, target) == NOW + 500
    assert [(m.subject, user, to) for m, user, to in store.read(outbox.failures, "ada", 10)] == [
        ("message 0", "ada", "json://***")
    ]
    assert store.read(outbox.failures, "bob", 10) == [] and len(store.read(outbox.failures, None, 10)) == 1
    assert store.read(outbox.last_error) == {target: "connection refused"}
    store.transact(outbox.hurry, target, NOW)
    assert store.read(outbox.next_message, target, NOW) is not None


def test_a_target_goes_with_all_that_waits_for_it_and_its_number_is_not_given_again(store: Store) -> None:
    target = add(store)
    put(store, target, 3)
    store.transact(outbox.remove_targets, [target])
    assert store.read(outbox.waiting) == {} and store.read(outbox.targets) == []
    assert add(store) == target + 1


def test_what_was_to_be_told_goes_with_the_last_target_of_a_user(store: Store) -> None:
    server, first, second = Server(store), add(store), add(store)
    store.tell({"ada": frozenset({"end"})})
    job = run(server)
    store.transact(outbox.remove_targets, [first])
    assert kinds(store) == [(job, "succeeded")]
    store.transact(outbox.remove_targets, [second])
    assert kinds(store) == []


def test_old_messages_are_given_up_and_later_forgotten(store: Store) -> None:
    target = add(store)
    put(store, target, 1, NOW)
    put(store, target, 1, NOW + DAY_MS, first=1)
    store.transact(outbox.prune, NOW + DAY_MS + 1, NOW + 1)
    ((given_up, _, _),) = store.read(outbox.failures, "ada", 10)
    assert given_up.subject == "message 0" and given_up.next_ms is None and given_up.error
    assert unsent(store, target) == ["message 1"]
    store.transact(outbox.prune, NOW + 8 * DAY_MS, NOW)
    assert store.read(outbox.failures, "ada", 10) == []
