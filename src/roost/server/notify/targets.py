"""A user's notification targets: added, listed, tested, removed. A URL goes in and never comes out."""

import asyncio
from typing import Any

import msgspec

from roost.answers.notify_targets import NotTold, Target, TargetMade, TargetTested
from roost.core.errors import BadRequest, Conflict, NotFound, NotInstalled, TryLater
from roost.core.notify_events import DEFAULT, LANGUAGES, check_events
from roost.messages import Message
from roost.server.clock import now_ms, rfc3339
from roost.server.identity.people import People
from roost.server.notify import notification_text as text
from roost.server.notify import urls
from roost.server.notify.notification_text import Facts
from roost.server.notify.notifier import Notifier
from roost.server.notify.sender_process import NoSender
from roost.server.rounds.commands import Who
from roost.server.store_reader import StoreReader
from roost.store import outbox
from roost.store.outbox import MORE
from roost.store.rows import MessageRow, TargetRow
from roost.store.store import Store
from roost.store.store_errors import CommitFailed

MAX_TARGETS = 20
"""Targets of one user."""
MAX_LABEL = 100
FAILURES = 500


class NewTarget(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where to send notifications, for which events, in which language."""

    url: str
    events: tuple[str, ...] = DEFAULT
    lang: str = "en"
    label: str | None = None

    def __repr__(self) -> str:
        return f"NewTarget({self.events}, {self.lang!r})"


class Targets:
    """Every call is for one user and their own targets."""

    def __init__(self, store: Store, reader: StoreReader, people: People, notifier: Notifier) -> None:
        self._store, self._reader, self._people, self._notifier = store, reader, people, notifier
        self._trying: set[int] = set()

    async def listed(self, user: str) -> list[Target]:
        """The user's targets, with what waits for them and the last error."""
        waiting = await self._reader.read(outbox.waiting)
        errors = await self._reader.read(outbox.last_error)
        return [_view(row, waiting.get(row.id, 0), errors.get(row.id)) for row in self._of(user)]

    async def add(self, by: Who, asked: NewTarget) -> TargetMade:
        """Add a target."""
        user, url = by.name, urls.natural(asked.url)
        urls.check(url)
        events = check_events(asked.events)
        if not events:
            raise BadRequest("notify.no_events")
        if asked.lang not in LANGUAGES:
            raise BadRequest("notify.no_language", asked=repr(asked.lang[:20]), known=list(LANGUAGES))
        label = text.cleaned(asked.label, MAX_LABEL) if asked.label else None
        if len(self._of(user)) >= MAX_TARGETS:
            raise Conflict("notify.limit", limit=MAX_TARGETS)
        error = await self._sender(self._notifier.outgoing.check(url))
        if error is not None:
            raise BadRequest("notify.bad_url", scheme=urls.scheme_of(url), why=error)
        row = {
            "user": user,
            "url": url,
            "shown": urls.shown(url),
            "events": ",".join(events),
            "lang": asked.lang,
            "label": label,
            "created_ms": now_ms(),
        }
        target = await self._change(outbox.add_target, row)
        self._notifier.reload()
        await self._people.note(by, "notify add", f"target {target}", f"{row['shown']} on {row['events']}")
        return TargetMade(**msgspec.structs.asdict(_view(self._notifier.targets[target], 0, None)))

    async def remove(self, by: Who, target: int) -> None:
        """Remove a target and what waits for it."""
        row = self._one(by.name, target)
        await self._change(outbox.remove_targets, [row.id])
        self._notifier.reload()
        await self._people.note(by, "notify rm", f"target {row.id}", row.shown)

    async def forget(self, user: str) -> None:
        """Remove all targets of a user who was deleted."""
        if rows := self._of(user):
            await self._change(outbox.remove_targets, [row.id for row in rows])
            self._notifier.reload()

    async def test(self, user: str, target: int) -> TargetTested:
        """Send a test message there now; whether it was sent."""
        row = self._one(user, target)
        if row.id in self._trying:
            raise Conflict("notify.being_tested", target=row.id)
        facts = Facts("test")
        self._trying.add(row.id)
        try:
            sending = self._notifier.outgoing.send(row.url, text.subject(facts, row.lang), text.body(facts, row.lang, []))
            error = await self._sender(sending)
        finally:
            self._trying.discard(row.id)
        return TargetTested(id=row.id, sent=error is None, error=error)

    async def failures(self, user: str | None) -> list[NotTold]:
        """Messages that could not be sent, of one user or of all, the newest first."""
        rows = await self._reader.read(outbox.failures, user, FAILURES)
        return [
            _failure(message, owner, shown, self._notifier.targets.get(message.target)) for message, owner, shown in rows
        ]

    def _of(self, user: str) -> list[TargetRow]:
        return [row for row in self._notifier.targets.values() if row.user == user]

    def _one(self, user: str, target: int) -> TargetRow:
        row = self._notifier.targets.get(target)
        if row is None or row.user != user:
            raise NotFound("notify.not_found", target=target)
        return row

    async def _change(self, change: Any, *arguments: Any) -> Any:
        try:
            return await asyncio.to_thread(self._store.transact, change, *arguments)
        except CommitFailed as error:
            raise error.refusal() from None

    async def _sender(self, asking: Any) -> Message | None:
        try:
            error: Message | None = await asking
            return error
        except NoSender as problem:
            if problem.is_missing:
                raise NotInstalled(problem.said) from None
            raise TryLater(problem.said) from None


def _view(row: TargetRow, waiting: int, error: str | None) -> Target:
    return Target(
        id=row.id,
        user=row.user,
        target=row.shown,
        events=list(row.words),
        lang=row.lang,
        label=row.label,
        created_at=rfc3339(row.created_ms),
        waiting=waiting,
        error=None if error is None else Message.of_text(error),
    )


def _failure(message: MessageRow, user: str, shown: str, target: TargetRow | None) -> NotTold:
    subject = message.subject
    if message.kind == MORE:
        subject = text.subject(Facts(MORE, count=int(message.facts)), target.lang if target else "en")
    return NotTold(
        id=message.id,
        target=message.target,
        to=shown,
        user=user,
        job=message.job,
        kind=message.kind,
        subject=subject,
        error=None if message.error is None else Message.of_text(message.error),
        tries=message.tries,
        created_at=rfc3339(message.created_ms),
        next_at=rfc3339(message.next_ms),
        given_up=message.next_ms is None,
    )
