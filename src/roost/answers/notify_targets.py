"""Where users are notified, and messages that could not be sent."""

import msgspec

from roost.answers.values import Time, Versioned
from roost.messages import Message


class Target(msgspec.Struct, kw_only=True):
    """Where a user is notified, but never the address itself."""

    id: int
    user: str
    target: str
    events: list[str]
    lang: str
    label: str | None
    created_at: Time
    waiting: int
    error: Message | None


class Targets(Versioned):
    """The caller's targets."""

    targets: list[Target]


class TargetMade(Target, Versioned, kw_only=True):
    """A new target."""


class TargetRemoved(Versioned):
    """The target that was forgotten."""

    removed: int


class TargetTested(Versioned):
    """Whether the test message was sent."""

    id: int
    sent: bool
    error: Message | None


class NotTold(msgspec.Struct, kw_only=True):
    """A message that could not be sent, and when it is tried again."""

    id: int
    target: int
    to: str
    user: str
    job: int | None
    kind: str
    subject: str
    error: Message | None
    tries: int
    created_at: Time
    next_at: Time | None
    given_up: bool


class NotToldOf(Versioned):
    """Messages that could not be sent."""

    failures: list[NotTold]
