"""Settings, policies, and the server itself."""

from typing import Annotated, Literal

import msgspec

from roost.answers.login import You
from roost.answers.nodes import Node
from roost.answers.users import Notice
from roost.answers.values import Time, Value, Versioned
from roost.messages import Message

Switch = Literal["on", "paused"]
TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}
"""What a setting's type is called."""
UNITS = ["ms", "s", "min", "h", "d", "MiB"]


class Setting(msgspec.Struct, kw_only=True):
    """A setting, and which values it takes: one of `choices` where there are any, else what lies between the limits.

    `was` is its name in earlier releases.
    """

    key: str
    value: Value
    default: Value
    meaning: Message
    type: Annotated[str, msgspec.Meta(extra_json_schema={"enum": list(TYPES.values())})]
    minimum: float | None
    maximum: float | None
    unit: Annotated[str, msgspec.Meta(extra_json_schema={"enum": UNITS})] | None
    choices: list[str]
    was: str | None


class Settings(Versioned):
    """Every setting."""

    settings: list[Setting]


class Policy(Versioned):
    """The policy in force and those there are."""

    policy: str
    policies: list[str]


class Scheduling(msgspec.Struct):
    """Whether all scheduling is paused."""

    paused: bool


class Server(msgspec.Struct, kw_only=True):
    """The server itself."""

    pid: int
    version: str
    since: Time
    uptime_s: int
    home: str
    url: str
    socket: str
    policy: str
    scheduling: Switch
    store: str
    log: str


class Status(Versioned):
    """How the server is, and who asks."""

    server_pid: int
    node_pid: int | None
    server: Server
    nodes: list[Node]
    jobs: dict[str, int]
    gpus: dict[str, int]
    health: list[str]
    you: You
    notice: Notice | None


class Archived(Versioned):
    """Ended jobs were moved into a file."""

    archived: int
    path: str
    left: int
    """Jobs that stay because their logs cannot be read now."""


class BackedUp(Versioned):
    """The state was copied to a file."""

    path: str
    bytes: int


class Leaving(Versioned):
    """The server leaves."""

    killed: list[int]
    running: list[int]
