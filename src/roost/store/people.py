"""What is kept of people: read whole at the start, changed a few rows at a time, each change with its line of the audit."""

from typing import Any

import msgspec
from sqlalchemy import Connection, Executable, Table, delete, insert, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from roost.store import schema as t
from roost.store.rows import AccountRow, AuditRow, LinkRow, SessionRow, TokenRow


class Everybody(msgspec.Struct):
    """All that is kept of people."""

    accounts: list[AccountRow]
    tokens: list[TokenRow]
    sessions: list[SessionRow]
    links: list[LinkRow]
    defaults: dict[str, str]


def everybody(db: Connection) -> Everybody:
    """All of it."""
    return Everybody(
        [AccountRow(*row) for row in db.execute(select(t.accounts))],
        [TokenRow(*row) for row in db.execute(select(t.tokens))],
        [SessionRow(*row) for row in db.execute(select(t.sessions))],
        [LinkRow(*row) for row in db.execute(select(t.links))],
        {row[0]: row[1] for row in db.execute(select(t.defaults))},
    )


_TABLES: dict[type, Table] = {AccountRow: t.accounts, SessionRow: t.sessions, LinkRow: t.links}


def put(row: AccountRow | SessionRow | LinkRow) -> Executable:
    """Keep that row, in place of the one with its key."""
    table, values = _TABLES[type(row)], msgspec.structs.asdict(row)
    key = next(iter(table.primary_key)).name
    return upsert(table).values(values).on_conflict_do_update([key], set_={k: v for k, v in values.items() if k != key})


def add(row: TokenRow) -> Executable:
    """Keep a new token; its number is given by the store."""
    values = msgspec.structs.asdict(row)
    del values["id"]
    return insert(t.tokens).values(values)


def token(db: Connection, digest: str) -> TokenRow | None:
    """The token of that digest."""
    row = db.execute(select(t.tokens).where(t.tokens.c.digest == digest)).one_or_none()
    return TokenRow(*row) if row is not None else None


def used(times: dict[int, int]) -> list[Executable]:
    """Keep when these tokens were last used."""
    return [update(t.tokens).where(t.tokens.c.id == token_id).values(used_ms=ms) for token_id, ms in times.items()]


def drop(table: Table, column: str, values: list[Any]) -> Executable:
    """Forget the rows that have one of these values there."""
    return delete(table).where(table.c[column].in_(values))


def put_text(table: Table, key: str, value: str | None) -> Executable:
    """Keep a text under that key, or forget it: defaults of a user, or a small fact."""
    first, second = table.c
    if value is None:
        return delete(table).where(first == key)
    return upsert(table).values((key, value)).on_conflict_do_update([first], set_={second: value})


def audited(db: Connection, user: str | None, action: str | None, since_ms: int, before: int, limit: int) -> list[AuditRow]:
    """The newest lines of the audit, older than the one numbered `before`."""
    line = t.audit.c
    query = select(t.audit).where(line.at_ms >= since_ms, line.id < before)
    if user is not None:
        query = query.where(line.user == user)
    if action is not None:
        query = query.where(line.action == action)
    return [AuditRow(*row) for row in db.execute(query.order_by(line.id.desc()).limit(limit))]
