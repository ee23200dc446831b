"""Sweeps: how far they are, their points, what was queued, and what jobs reported."""

import msgspec

from roost.answers.values import OutcomeName, StateName, Time, Value, Versioned
from roost.core.results import Result
from roost.messages import Message


class Sweep(msgspec.Struct, kw_only=True):
    """A sweep and how far it is."""

    id: int
    name: str
    user: str
    created_at: Time
    max_running: int | None
    jobs: int
    counts: dict[str, int]


class Sweeps(Versioned):
    """The newest sweeps."""

    sweeps: list[Sweep]


class Point(msgspec.Struct, kw_only=True):
    """A point of a sweep."""

    job: int
    point: dict[str, Value]
    state: StateName
    outcome: OutcomeName | None
    exit_code: int | None
    error: Message | None
    started_at: Time | None
    ended_at: Time | None
    cwd: str | None
    results: dict[str, Result]


class SweepShown(Sweep, Versioned, kw_only=True):
    """A sweep with its points."""

    params: list[str]
    command_line: str
    where: str | None
    dir: str | None
    keys: list[str]
    points: list[Point]


class SweepMade(Versioned):
    """The points are queued; `unused` parameters stand nowhere."""

    sweep: int | None
    ids: list[int]
    unused: list[str]


class PlannedPoint(msgspec.Struct):
    """A point that would be queued."""

    point: dict[str, Value] | None
    command: list[str] | str
    command_line: str
    cwd: str | None


class SweepPlanned(Versioned):
    """What would be queued."""

    points: list[PlannedPoint]
    dir: str | None
    unused: list[str]


class SweepLimited(Versioned):
    """The limit that holds now."""

    sweep: int
    max_running: int | None


class Reported(msgspec.Struct):
    """A result of a job."""

    value: Result
    attempt: int
    at: Time


class Results(Versioned):
    """What a job reported."""

    id: int
    results: dict[str, Reported]


class ResultsKept(Versioned):
    """What was just reported."""

    id: int
    results: dict[str, Result]
