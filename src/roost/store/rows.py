"""Rows as values: what the store says of a job when asked."""

from __future__ import annotations

import msgspec

from roost.core.accounts import SERVER_ACCOUNT, Account
from roost.core.spec import JobSpec


class JobRow(msgspec.Struct, frozen=True):
    """A job as it is kept."""

    id: int
    user: str
    name: str
    state: str
    outcome: str | None
    exit_code: int | None
    error: str | None
    priority: int
    rank: int
    request: str
    waits: str | None
    attempts: int
    submitted_ms: int
    started_ms: int | None
    ended_ms: int | None
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
    gpus: str
    state: str
    stop: str | None
    pid: int | None
    intended_ms: int
    started_ms: int | None
    ended_ms: int | None
    outcome: str | None
    exit_code: int | None
    error: str | None
    peak_mem_mib: int | None
    peak_rss_mib: int | None
    cpu_ms: int | None
    util_mean: float | None
    granted_mib: int | None = None

    def devices(self) -> list[tuple[str, int]]:
        """UUID and index of each of its GPUs."""
        return msgspec.json.decode(self.gpus, type=list[tuple[str, int]])


JOB_COLUMNS = JobRow.__struct_fields__
ATTEMPT_COLUMNS = AttemptRow.__struct_fields__


class EventRow(msgspec.Struct, frozen=True):
    """Something that was done to a job or to the cluster."""

    id: int
    at_ms: int
    job: int | None
    actor: str | None
    kind: str
    data: str


class SweepRow(msgspec.Struct, frozen=True):
    """A sweep as it is kept."""

    id: int
    user: str
    name: str
    created_ms: int
    max_running: int | None
    design: str


SWEEP_COLUMNS = SweepRow.__struct_fields__


class ResultRow(msgspec.Struct, frozen=True):
    """What a job said of itself under one key; `value` is JSON."""

    job: int
    key: str
    value: str
    attempt: int
    at_ms: int


RESULT_COLUMNS = ResultRow.__struct_fields__


class AccountRow(msgspec.Struct, frozen=True):
    """Somebody of whom more is known than that the kernel named him."""

    name: str
    unix: str | None = None
    password: str | None = None
    is_admin: bool = False
    is_locked: bool = False
    created_ms: int = 0

    def __repr__(self) -> str:
        return f"AccountRow({self.name})"


class TokenRow(msgspec.Struct, frozen=True):
    """A token as it is kept: never the token itself."""

    id: int
    user: str
    label: str
    digest: str
    created_ms: int
    expires_ms: int | None
    used_ms: int | None


class SessionRow(msgspec.Struct, frozen=True):
    """A browser that has logged in."""

    digest: str
    user: str
    csrf: str
    address: str
    created_ms: int
    expires_ms: int


class LinkRow(msgspec.Struct, frozen=True):
    """A one-time link; `user` is None for the one that makes the first administrator."""

    digest: str
    user: str | None
    purpose: str
    created_ms: int
    expires_ms: int


class AuditRow(msgspec.Struct, frozen=True):
    """Something that a person did."""

    id: int
    at_ms: int
    user: str
    via: str
    address: str
    action: str
    target: str
    detail: str


AUDIT_COLUMNS = AuditRow.__struct_fields__


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
    """Who asks, when names, commands and labels of others are hidden from him; None: nothing is."""
    away: tuple[str, ...] = ()
    """Nodes that cannot be reached; said only where states are."""
