"""Targets, notices and messages in the store: questions for `Store.read`, changes for `Store.transact`.

A notice becomes messages in the transaction that drops it: killed at any moment, it is told once, and never lost.
"""

from collections.abc import Collection, Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, and_, delete, func, insert, or_, select, text, update

from roost.store import schema as t
from roost.store.rows import MessageRow, NoticeRow, TargetRow

UNSENT_KEPT = 200
"""Messages that may wait for one target; of more, the oldest become one that counts them."""
SENT_KEPT_MS = 86_400_000
FAILED_KEPT_MS = 7 * 86_400_000
FINISHED_KEPT = 5000
MORE = "more"


class Message(msgspec.Struct, frozen=True):
    """A message that is new."""

    target: int
    kind: str
    subject: str
    facts: str
    job: int | None = None
    attempt: int | None = None


_UNSENT = text(t.UNSENT)
_out = t.outbox.c


# -- questions ------------------------------------------------------------------------------------------------------


def targets(db: Connection) -> list[TargetRow]:
    """Everybody's targets, by id."""
    return [TargetRow(*row) for row in db.execute(select(t.targets).order_by(t.targets.c.id))]


def notices(db: Connection, limit: int) -> list[NoticeRow]:
    """What is to be told, the oldest first."""
    return [NoticeRow(*row) for row in db.execute(select(t.notices).order_by(t.notices.c.id).limit(limit))]


def waiting(db: Connection) -> dict[int, int]:
    """How many messages wait to be sent, by target."""
    query = select(_out.target, func.count()).where(_UNSENT).group_by(_out.target)
    return {target: count for target, count in db.execute(query)}


def next_message(db: Connection, target: int, now_ms: int) -> MessageRow | None:
    """What to try next: what was tried least, then the oldest. One that its service refuses is in nobody's way."""
    due = and_(_UNSENT, _out.target == target, _out.next_ms <= now_ms)
    row = db.execute(select(t.outbox).where(due).order_by(_out.tries, _out.id).limit(1)).first()
    return MessageRow(*row) if row else None


def soonest(db: Connection, target: int) -> int | None:
    """When the next try for that target is due; None when nothing waits for it."""
    return db.execute(select(func.min(_out.next_ms)).where(_UNSENT, _out.target == target)).scalar()


def failures(db: Connection, user: str | None, limit: int) -> list[tuple[MessageRow, str, str]]:
    """Messages that could not be sent, tried again or given up, the newest first; each with its target's user and name."""
    query = (
        select(t.outbox, t.targets.c.user, t.targets.c.shown)
        .join(t.targets, t.targets.c.id == _out.target)
        .where(_out.error.is_not(None), _out.sent_ms.is_(None))
        .order_by(_out.id.desc())
        .limit(limit)
    )
    rows = db.execute(query if user is None else query.where(t.targets.c.user == user))
    return [(MessageRow(*row[:-2]), row[-2], row[-1]) for row in rows]


def last_error(db: Connection) -> dict[int, str]:
    """What went wrong last with each target that has messages waiting."""
    newest = select(func.max(_out.id)).where(_UNSENT, _out.error.is_not(None)).group_by(_out.target)
    return {target: error for target, error in db.execute(select(_out.target, _out.error).where(_out.id.in_(newest)))}


def was_told(db: Connection, kind: str, job: int, attempt: int) -> bool:
    """Whether there is such a message of that run already."""
    query = select(_out.id).where(_out.kind == kind, _out.job == job, _out.attempt == attempt).limit(1)
    return db.execute(query).first() is not None


# -- changes --------------------------------------------------------------------------------------------------------


def add_target(db: Connection, values: dict[str, Any]) -> int:
    """A new target; its id."""
    return int(db.execute(insert(t.targets).values(values)).inserted_primary_key[0])  # type: ignore[index]


def remove_targets(db: Connection, ids: list[int]) -> None:
    """Forget targets and all that waits for them, and what was to be told to somebody who has none left."""
    db.execute(delete(t.targets).where(t.targets.c.id.in_(ids)))
    db.execute(delete(t.outbox).where(_out.target.in_(ids)))
    db.execute(delete(t.notices).where(t.notices.c.user.not_in(select(t.targets.c.user))))


def put(db: Connection, messages: Sequence[Message], last_notice: int, now_ms: int, sending: Collection[int] = ()) -> None:
    """Take notices up to one as told, by these messages. What is being sent stays where it is."""
    db.execute(delete(t.notices).where(t.notices.c.id <= last_notice))
    if messages:
        rows = [{**msgspec.structs.asdict(m), "created_ms": now_ms, "next_ms": now_ms, "tries": 0} for m in messages]
        db.execute(insert(t.outbox), rows)
    for target in sorted({message.target for message in messages}):
        _bound(db, target, now_ms, sending)


def _bound(db: Connection, target: int, now_ms: int, sending: Collection[int]) -> None:
    """Of too many that wait, the oldest become one that says how many they were. What failed stays, to be seen."""
    of_it = and_(_UNSENT, _out.target == target)
    count = db.execute(select(func.count()).where(of_it)).scalar_one()
    if count <= UNSENT_KEPT:
        return
    excess = select(_out.id, _out.kind, _out.facts).where(of_it, _out.id.not_in(sending))
    excess = excess.order_by(_out.kind != MORE, _out.tries, _out.id).limit(count - UNSENT_KEPT + 1)
    rows = db.execute(excess).all()
    were = sum(int(facts) if kind == MORE else 1 for _, kind, facts in rows)
    ids = [row[0] for row in rows]
    for start in range(0, len(ids), 500):
        db.execute(delete(t.outbox).where(_out.id.in_(ids[start : start + 500])))
    counting = {"target": target, "kind": MORE, "subject": "", "facts": str(were), "created_ms": now_ms, "next_ms": now_ms}
    db.execute(insert(t.outbox).values({**counting, "tries": 0}))


def settle(db: Connection, message: int, values: dict[str, Any]) -> None:
    """Write what became of a message that could not be sent."""
    db.execute(update(t.outbox).where(_out.id == message, _UNSENT).values(values))


def sent(db: Connection, message: int, now_ms: int) -> None:
    """It was sent: nothing of its text is kept."""
    done = {"sent_ms": now_ms, "next_ms": None, "body": None, "facts": "", "tries": _out.tries + 1}
    db.execute(update(t.outbox).where(_out.id == message).values(done))


def hurry(db: Connection, target: int, now_ms: int) -> None:
    """The target takes messages again: whatever waits for it need not wait longer."""
    db.execute(update(t.outbox).where(_UNSENT, _out.target == target).values(next_ms=now_ms))


def prune(db: Connection, now_ms: int, given_up_ms: int) -> None:
    """Give up what is too old; forget what was sent a day ago, what was given up a week ago, the oldest of too many."""
    unheard = func.coalesce(_out.error, "nothing reached this target for a day")
    db.execute(update(t.outbox).where(_UNSENT, _out.created_ms < given_up_ms).values(next_ms=None, error=unheard))
    finished = _out.next_ms.is_(None)
    old = or_(_out.sent_ms < now_ms - SENT_KEPT_MS, _out.created_ms < now_ms - FAILED_KEPT_MS)
    db.execute(delete(t.outbox).where(finished, old))
    newest = select(_out.id).where(finished).order_by(_out.id.desc()).limit(FINISHED_KEPT)
    db.execute(delete(t.outbox).where(finished, _out.id.not_in(newest)))
