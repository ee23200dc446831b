"""Users, and the notice that everybody sees."""

import msgspec

from roost.answers.values import Time, Versioned


class User(msgspec.Struct, kw_only=True):
    """A user: their rules, what they hold and wait for, and how they log in.

    `seen_at`, when they were last here, is shown to themselves and to administrators.
    """

    user: str
    gpus: int
    running: int
    queued: int
    weight: float
    max_gpus: int | None
    max_jobs: int | None
    max_queued: int | None
    admin: bool
    locked: bool
    unix: str | None
    password: bool
    added: bool
    seen_at: Time | None
    account: bool


class Users(Versioned):
    """Everybody."""

    users: list[User]


class UserShown(User, Versioned, kw_only=True):
    """One user."""


class UserAdded(User, kw_only=True):
    """A new user, with the link by which they choose a password."""

    link: str


class UsersAdded(Versioned):
    """The new users."""

    users: list[UserAdded]


class UserDeleted(Versioned):
    """The user is gone; `ended` are their jobs that were ended; `admitted`: they could come in again by a UNIX account."""

    user: str
    ended: list[int]
    admitted: bool


class Notice(msgspec.Struct):
    """What everybody is to see."""

    text: str
    by: str
    at: Time


class NoticeShown(Versioned):
    """The notice; null: none."""

    notice: Notice | None


class AuditLine(msgspec.Struct, kw_only=True):
    """Something that somebody did."""

    id: int
    at: Time
    user: str
    via: str
    address: str
    action: str
    target: str
    detail: str
    hash: str


class AuditVerified(Versioned, kw_only=True):
    """Whether the chain of the audit holds: `ok`, how many lines it has, how many are older than it, its last line, and the
    first line that is wrong: `changed`, `missing` or `added`."""

    ok: bool
    lines: int
    unhashed: int
    last: int
    hash: str
    broken: int | None
    how: str | None


class Audit(Versioned):
    """A page of the audit."""

    audit: list[AuditLine]
    next: int | None
