"""Rows as values. Where a table holds just one kind of row, its columns are the fields of it (`schema`)."""

from typing import Annotated

import msgspec
from sqlalchemy import BigInteger, Text

from roost.core.accounts import SERVER_ACCOUNT, Account
from roost.core.spec import JobSpec

Ms = Annotated[int, BigInteger]
Long = Annotated[str, Text]


class JobRow(msgspec.Struct, frozen=True):
    """A job as it is kept."""

    id: int
    user: str
    name: str
    state: str
    outcome: str | None
    exit_code: int | None
    error: Long | None
    priority: int
    rank: Ms
    request: Long
    waits: Long | None
    attempts: int
    submitted_ms: Ms
    started_ms: Ms | None
    ended_ms: Ms | None
    env: int | None
    spec: bytes
    work: str = ""
    sweep: int = 0
    limit_s: int = 0
    preemptible: bool = False
    retried: int = 0
    oom_retried: int = 0
    account: Account = SERVER_ACCOUNT
    submitter: str | None = None

    def decoded(self) -> JobSpec:
        """What was asked for."""
        return msgspec.json.decode(self.spec, type=JobSpec)


class AttemptRow(msgspec.Struct, frozen=True):
    """An attempt as it is kept."""

    job: int
    attempt: int
    node: str
    gpus: Long
    state: str
    stop: str | None
    pid: int | None
    intended_ms: Ms
    started_ms: Ms | None
    ended_ms: Ms | None
    outcome: str | None
    exit_code: int | None
    error: Long | None
    peak_mem_mib: int | None
    peak_rss_mib: int | None
    cpu_ms: Ms | None
    util_mean: float | None
    granted_mib: int | None = None
    nonce: str = ""

    def devices(self) -> list[tuple[str, int]]:
        """UUID and index of each of its GPUs."""
        return msgspec.json.decode(self.gpus, type=list[tuple[str, int]])


JOB_COLUMNS = JobRow.__struct_fields__


class EventRow(msgspec.Struct, frozen=True):
    """Something that was done to a job or to the cluster."""

    id: int
    at_ms: Ms
    job: int | None
    actor: str | None
    kind: str
    data: Long


class HistoryRow(msgspec.Struct, frozen=True):
    """A run that ended, as it is kept."""

    id: int
    job: int
    user: str
    work: str
    gpus: int
    limit_s: int
    submitted_ms: Ms
    started_ms: Ms
    ended_ms: Ms
    outcome: str
    waited_ms: Ms | None
    peak_mem_mib: int | None


class SweepRow(msgspec.Struct, frozen=True):
    """A sweep as it is kept."""

    id: int
    user: str
    name: str
    created_ms: Ms
    max_running: int | None
    design: Long


class ResultRow(msgspec.Struct, frozen=True):
    """What a job said of itself under one key; `value` is JSON."""

    job: int
    key: str
    value: Long
    attempt: int
    at_ms: Ms


class AccountRow(msgspec.Struct, frozen=True):
    """What is known of a user besides the name of their UNIX account."""

    name: str
    unix: str | None = None
    password: str | None = None
    is_admin: bool = False
    is_locked: bool = False
    created_ms: Ms = 0

    def __repr__(self) -> str:
        return f"AccountRow({self.name})"


class TokenRow(msgspec.Struct, frozen=True):
    """A token as it is kept: never the token itself."""

    id: int
    user: str
    label: str
    digest: str
    created_ms: Ms
    expires_ms: Ms | None
    used_ms: Ms | None
    scope: str = "operate"
    """What it may do: `read`, `submit` or `operate`."""
    began: str = "elsewhere"
    """`here`: on the server's machine, where the kernel said who asked; `elsewhere`: after a login. Also of what made it."""
    parent: str | None = None
    """The digest of the token that made it, and that it ends with."""


class SessionRow(msgspec.Struct, frozen=True):
    """A browser that has logged in."""

    digest: str
    user: str
    csrf: str
    address: str
    created_ms: Ms
    expires_ms: Ms
    parent: str | None = None
    """The digest of the token that made the link which began it."""


class LinkRow(msgspec.Struct, frozen=True):
    """A one-time link; `user` is None for the one that makes the first administrator."""

    digest: str
    user: str | None
    purpose: str
    created_ms: Ms
    expires_ms: Ms
    parent: str | None = None
    """The digest of the token that made it."""


class AuditRow(msgspec.Struct, frozen=True):
    """Something that a person did."""

    id: int
    at_ms: Ms
    user: str
    via: str
    address: str
    action: str
    target: Long
    detail: Long
    hash: str = ""
    """Of this line and the hash before it; empty in lines of earlier releases."""


class TargetRow(msgspec.Struct, frozen=True):
    """A target as it is kept. Never shown as it stands: `url` holds a secret."""

    id: int
    user: str
    url: Long
    shown: Long
    events: str
    lang: str
    label: str | None
    created_ms: Ms

    def __repr__(self) -> str:
        return f"TargetRow({self.id}, {self.user!r}, {self.shown!r})"

    @property
    def words(self) -> tuple[str, ...]:
        """What it is for."""
        return tuple(self.events.split(","))


class NoticeRow(msgspec.Struct, frozen=True):
    """Something to be told."""

    id: int
    at_ms: Ms
    job: int
    attempt: int
    kind: str
    user: str
    name: str
    events: str
    data: Long


class MessageRow(msgspec.Struct, frozen=True):
    """A message as it is kept."""

    id: int
    target: int
    job: int | None
    attempt: int | None
    kind: str
    subject: Long
    facts: Long
    body: Long | None
    created_ms: Ms
    tries: int
    next_ms: Ms | None
    sent_ms: Ms | None
    error: Long | None


class Filter(msgspec.Struct, frozen=True):
    """Which jobs are meant. Every given part must match."""

    ids: tuple[tuple[int, int], ...] = ()
    """Ranges, both ends included."""
    states: tuple[str, ...] = ()
    """States and outcomes, as they are shown: an active job on one of the nodes that are `away` is `unknown`."""
    users: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    ended_since_ms: int | None = None
    """Leave out what ended before."""
    sweep: int | None = None
    node: str | None = None
    """Where the last attempt was."""
    search: str = ""
    """In its number, name, command line, user or labels."""
    viewer: str | None = None
    """Who asks, when names, commands and labels of others are hidden from them; None: nothing is."""
    away: tuple[str, ...] = ()
    """Nodes that cannot be reached; said only where states are."""
