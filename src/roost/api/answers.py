"""What routes about the box and about people answer with, for the OpenAPI document. Values are made elsewhere."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from roost.api.job_answers import ShownState, Time, Value, Versioned
from roost.api.node_answers import Node


class GpuJob(msgspec.Struct):
    """A job on a GPU."""

    id: int
    user: str
    name: str
    state: ShownState
    mem_mib: int


class Process(msgspec.Struct):
    """A process on a GPU."""

    pid: int
    user: str | None
    command: str | None
    mem_mib: int | None
    job: int | None


class GpuFacts(msgspec.Struct):
    """What is known of a GPU. `drained` and `disabled` are about itself, whatever is ruled about its node."""

    uuid: str
    index: int
    node: str
    alias: str | None
    model: str
    mig: bool
    mem_mib: int
    mem_used_mib: int | None
    mem_reserved_mib: int
    mem_free_mib: int
    util: int | None
    temp_c: int | None
    power_w: float | None
    slots: int
    drained: bool
    disabled: bool
    state: Literal["free", "used", "foreign", "claimed", "drained", "disabled", "fault", "unknown", "unreachable"]
    reason: str | None


class Gpu(GpuFacts):
    """A GPU with what is on it."""

    jobs: list[GpuJob]
    procs: list[Process]


class CpuSlots(msgspec.Struct):
    """Room for jobs without a GPU."""

    slots: int
    used: int


class Gpus(Versioned):
    """Every GPU."""

    gpus: list[Gpu]
    cpu: CpuSlots


class Server(msgspec.Struct):
    """The server itself."""

    pid: int
    version: str
    since: Time
    uptime_s: int
    home: str
    url: str
    socket: str
    policy: str
    scheduling: Literal["on", "paused"]
    store: str
    log: str


class Status(Versioned):
    """How the server is."""

    server_pid: int
    node_pid: int | None
    server: Server
    nodes: list[Node]
    jobs: dict[str, int]
    gpus: dict[str, int]
    health: list[str]


class Setting(msgspec.Struct):
    """A setting, and which values it takes: one of `choices` where there are any, else what lies between the limits."""

    key: str
    value: Value
    default: Value
    meaning: str
    type: Literal["string", "integer", "number", "boolean"]
    minimum: float | None
    maximum: float | None
    unit: Literal["ms", "s", "min", "h", "d", "MiB"] | None
    choices: list[str]


class Settings(Versioned):
    """Every setting."""

    settings: list[Setting]


class Policy(Versioned):
    """The policy in force and those there are."""

    policy: str
    policies: list[str]


class Done(msgspec.Struct):
    """What it was done to: UUIDs of GPUs, names of nodes."""

    done: list[str]


class Scheduling(msgspec.Struct):
    """Whether all scheduling is paused."""

    paused: bool


class Archived(Versioned):
    """Ended jobs were moved into a file."""

    archived: int
    path: str


class BackedUp(Versioned):
    """The state was copied to a file."""

    path: str
    bytes: int


class Leaving(Versioned):
    """The server leaves."""

    killed: list[int]
    running: list[int]


class User(msgspec.Struct, kw_only=True):
    """A user: what was ruled about him, what he holds and waits for, and how he comes in.

    `seen_at`, when he was last here, is told to himself and to administrators.
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


class UserShown(User, kw_only=True):
    """One user."""

    version: Literal[1]


class UserAdded(User, kw_only=True):
    """A new user, with the link by which he chooses a password."""

    link: str


class UsersAdded(Versioned):
    """The new users."""

    users: list[UserAdded]


class UserDeleted(Versioned):
    """He is gone; `ended` are his jobs that were ended; `admitted`: he could come in again by his UNIX account."""

    user: str
    ended: list[int]
    admitted: bool


class Link(Versioned):
    """A one-time link."""

    url: str


class UserLink(Link):
    """A one-time link for a user."""

    user: str


class Notice(msgspec.Struct):
    """What everybody is to see."""

    text: str
    by: str
    at: Time


class NoticeShown(Versioned):
    """The notice; null: none."""

    notice: Notice | None


class Me(Versioned):
    """Who the caller is and what he may."""

    user: str
    admin: bool
    via: str
    unix: str | None
    csrf: str | None
    runs_as: str | None
    notice: Notice | None


class Token(msgspec.Struct, kw_only=True):
    """A token, but never the token itself."""

    id: int
    user: str
    label: str
    created_at: Time
    expires_at: Time | None
    used_at: Time | None


class Tokens(Versioned):
    """Tokens."""

    tokens: list[Token]


class TokenShown(Token, kw_only=True):
    """One token."""

    version: Literal[1]


class TokenMade(TokenShown, kw_only=True):
    """A new token, told this once."""

    token: str


class Target(msgspec.Struct, kw_only=True):
    """Where somebody is told, but never the address itself."""

    id: int
    user: str
    target: str
    events: list[str]
    lang: str
    label: str | None
    created_at: Time
    waiting: int
    error: str | None


class Targets(Versioned):
    """Where the caller is told."""

    targets: list[Target]


class TargetMade(Target, kw_only=True):
    """A new target."""

    version: Literal[1]


class TargetRemoved(Versioned):
    """The target that was forgotten."""

    removed: int


class TargetTested(Versioned):
    """How a message went that was sent just now."""

    id: int
    sent: bool
    error: str | None


class NotTold(msgspec.Struct, kw_only=True):
    """A message that could not be sent, and when it is tried again."""

    id: int
    target: int
    to: str
    user: str
    job: int | None
    kind: str
    subject: str
    error: str | None
    tries: int
    created_at: Time
    next_at: Time | None
    given_up: bool


class NotToldOf(Versioned):
    """Messages that could not be sent."""

    failures: list[NotTold]


class FirstLink(Versioned):
    """A one-time link; null when there is an administrator already."""

    url: str | None


class Defaults(Versioned):
    """What the caller's jobs are like unless he says otherwise: keys of a JobSpec."""

    defaults: dict[str, Any]


class AuditLine(msgspec.Struct):
    """Something that somebody did."""

    id: int
    at: Time
    user: str
    via: str
    address: str
    action: str
    target: str
    detail: str


class Audit(Versioned):
    """A page of the audit."""

    audit: list[AuditLine]
    next: int | None


class LoggedIn(Versioned):
    """A session began and is in the cookie, with `csrf` for the header Roost-CSRF; or a token was made, `token` and `id`."""

    user: str
    csrf: str | UnsetType = UNSET
    token: str | UnsetType = UNSET
    id: int | UnsetType = UNSET


class LinkShown(Versioned):
    """What a one-time link is for."""

    purpose: Literal["password", "login", "first"]
    user: str | None


class Nothing(Versioned):
    """It is done."""
