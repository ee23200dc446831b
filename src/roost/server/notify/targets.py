"""A user's targets, as the API sees them: added, listed, tried, removed. A URL goes in and never comes out."""

import asyncio
from typing import Any

import msgspec

from roost.answers.notify_targets import NotTold, Target, TargetMade, TargetTested
from roost.core.errors import BadRequest, Conflict, DiskFull, NotFound, NotInstalled, TryLater
from roost.core.notify_events import DEFAULT, LANGUAGES, check_events
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
from roost.store.store import CommitFailed, Store

MOST = 20
"""Targets of one user."""
MAX_LABEL = 100
FAILURES = 500


class NewTarget(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where to be told, of what, in which language."""

    url: str
    events: tuple[str, ...] = DEFAULT
    lang: str = "en"
    label: str | None = None

    def __repr__(self) -> str:
        return f"NewTarget({self.events}, {self.lang!r})"


class Targets:
    """Every call is for one user, who has only his own."""

    def __init__(self, store: Store, reader: StoreReader, people: People, notifier: Notifier) -> None:
        self._store, self._reader, self._people, self._notifier = store, reader, people, notifier
        self._trying: set[int] = set()

    async def listed(self, user: str) -> list[Target]:
        """His targets, with what waits for them and what went wrong last."""
        waiting = await self._reader.read(outbox.waiting)
        errors = await self._reader.read(outbox.last_error)
        return [_view(row, waiting.get(row.id, 0), errors.get(row.id)) for row in self._of(user)]

    async def add(self, by: Who, asked: NewTarget) -> TargetMade:
        """Have one more."""
        user, url = by.name, urls.natural(asked.url)
        urls.check(url)
        events = check_events(asked.events)
        if not events:
            raise BadRequest("a target that is told nothing is none", "roost notify add --on end,idle URL")
        if asked.lang not in LANGUAGES:
            raise BadRequest(f"no language {asked.lang[:20]!r}; known: {', '.join(LANGUAGES)}")
        label = text.cleaned(asked.label, MAX_LABEL) if asked.label else None
        if len(self._of(user)) >= MOST:
            raise Conflict(f"you have {MOST} targets, which is the most", "roost notify rm ID")
        error = await self._sender(self._notifier.outgoing.check(url))
        if error is not None:
            raise BadRequest(
                f"{urls.scheme_of(url)}://: {error}", "ready ones: docs/how-to/notify.md; a webhook is jsons://…"
            )
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
        """Forget it and what waits for it."""
        row = self._one(by.name, target)
        await self._change(outbox.remove_targets, [row.id])
        self._notifier.reload()
        await self._people.note(by, "notify rm", f"target {row.id}", row.shown)

    async def forget(self, user: str) -> None:
        """Forget all of somebody's: he is gone."""
        if rows := self._of(user):
            await self._change(outbox.remove_targets, [row.id for row in rows])
            self._notifier.reload()

    async def test(self, user: str, target: int) -> TargetTested:
        """Send a message there, now, and say how that went."""
        row = self._one(user, target)
        if row.id in self._trying:
            raise Conflict(f"target {row.id} is being tested already", "wait for it")
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
            raise NotFound(f"you have no target {target}", "roost notify ls")
        return row

    async def _change(self, change: Any, *arguments: Any) -> Any:
        try:
            return await asyncio.to_thread(self._store.transact, change, *arguments)
        except CommitFailed as error:
            raise DiskFull(str(error), "free some space") if error.disk_full else TryLater(str(error)) from None

    async def _sender(self, asking: Any) -> str | None:
        try:
            error: str | None = await asking
            return error
        except NoSender as problem:
            if problem.is_missing:
                raise NotInstalled(
                    "apprise is not installed where the server runs", "pip install 'roost[notify]', then try again"
                ) from None
            raise TryLater(str(problem), "roost log server") from None


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
        error=error,
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
        error=message.error,
        tries=message.tries,
        created_at=rfc3339(message.created_ms),
        next_at=rfc3339(message.next_ms),
        given_up=message.next_ms is None,
    )
