"""What routes about jobs, sweeps and history answer with, for the OpenAPI document. Made in `server/views/job_views`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, UnsetType

from roost.core.spec import JobSpec
from roost.core.states import UNKNOWN, Outcome, State

Time = Annotated[str, msgspec.Meta(extra_json_schema={"format": "date-time"})]
Value = str | int | float | bool | None
Result = int | float | str


class ShownState(StrEnum):
    """Where a job is: one of its states, or `unknown` while the node that it is on cannot be reached."""

    HELD = State.HELD.value
    QUEUED = State.QUEUED.value
    STARTING = State.STARTING.value
    RUNNING = State.RUNNING.value
    PAUSED = State.PAUSED.value
    STOPPING = State.STOPPING.value
    ENDED = State.ENDED.value
    UNKNOWN = UNKNOWN


class Versioned(msgspec.Struct, kw_only=True):
    """What every answer has."""

    version: Literal[1]


class Reason(msgspec.Struct):
    """Why a job waits: a code, the words, and beside them the numbers behind it, by code."""

    code: str
    text: str


class Request(msgspec.Struct):
    """What a job asked for."""

    gpus: int
    mem_mib: int | None
    max_util: int | None
    exclusive: bool
    gpu_ids: list[str]
    prefer_gpus: list[str]
    nodes: list[str]
    prefer_nodes: list[str]
    gpu_models: list[str]
    min_gpu_mem_mib: int | None
    mem_auto: bool


class Attempt(msgspec.Struct):
    """One attempt of a job."""

    attempt: int
    run: str
    state: str
    outcome: Outcome | None
    node: str
    gpu_uuids: list[str]
    gpu_indices: list[int]
    pid: int | None
    intended_at: Time
    started_at: Time | None
    ended_at: Time | None
    exit_code: int | None
    error: str | None
    peak_mem_mib: int | None
    granted_mib: int | None
    peak_rss_mib: int | None
    cpu_s: float | None
    util_mean: float | None


class Awaited(msgspec.Struct):
    """A job that is waited for."""

    job: int
    wants: Literal["success", "any", "failure"]


class Job(msgspec.Struct, kw_only=True):
    """A job. It is `unknown` while its node cannot be reached; `last_state` is where it was then."""

    id: int
    name: str
    desc: str | None
    user: str
    state: ShownState
    last_state: State | None
    outcome: Outcome | None
    exit_code: int | None
    error: str | None
    command: list[str] | str
    command_line: str
    script: bool
    cwd: str | None
    gpus: int
    request: Request
    labels: list[str]
    node: str | None
    priority: int
    queue_position: int | None
    attempts: list[Attempt]
    reasons: list[Reason]
    after: list[Awaited]
    begin_at: Time | None
    retries: int
    retried: int
    retry_oom: int
    oom_retried: int
    retry: str | None
    preemptible: bool
    time_limit_s: int | None
    submitted_at: Time
    started_at: Time | None
    ended_at: Time | None
    stdout: str | None
    stderr: str | None
    sweep: int | None
    point: dict[str, Value] | None


class Happened(msgspec.Struct):
    """Something that was done to a job; more keys by kind."""

    at: Time
    kind: str
    actor: str | None


class JobShown(Job, kw_only=True):
    """A job, what it reported, and what was done to it."""

    version: Literal[1]
    results: dict[str, Result]
    story: list[Happened]


class JobPage(Versioned):
    """A page of jobs. `total`: how many match; null when that is not counted, and `total_at_least` is all that is known.

    `nodes`: how many nodes there are.
    """

    jobs: list[Job]
    total: int | None
    total_at_least: int
    counts: dict[str, int]
    next: str | None
    nodes: int


class BriefJob(msgspec.Struct, kw_only=True):
    """A job in brief; `reason` is the first of its reasons, `eta` when it will probably start."""

    id: int
    name: str
    user: str
    state: ShownState
    outcome: Outcome | None
    exit_code: int | None
    error: str | None
    command_line: str
    gpus: int
    mem_mib: int | None
    node: str | None
    gpu_indices: list[int]
    priority: int
    labels: list[str]
    sweep: int | None
    queue_position: int | None
    reason: Reason | None
    eta: Time | None
    attempts: int
    submitted_at: Time
    started_at: Time | None
    ended_at: Time | None
    preemptible: bool
    time_limit_s: int | None


class BriefPage(JobPage):
    """A page of jobs in brief."""

    jobs: list[BriefJob]  # type: ignore[assignment]


class JobFacets(Versioned):
    """What a listing can be narrowed to: how many jobs are in which state or ended how; names in use, some of very many."""

    states: dict[str, int]
    users: list[str]
    labels: list[str]
    nodes: list[str]


class Submitted(msgspec.Struct):
    """The jobs are queued."""

    ids: list[int]


class AheadJob(msgspec.Struct):
    """A job that is looked at first."""

    id: int
    user: str
    why: str


class Ahead(msgspec.Struct):
    """Who is looked at first."""

    count: int
    jobs: list[AheadJob]


class Holding(msgspec.Struct):
    """Who has what a job lacks."""

    job: int
    user: str
    state: str
    since: Time
    probably_until: Time | None


class Eta(msgspec.Struct, rename={"basis": "from"}):
    """When a job will probably start; `from`: what that comes from."""

    p50_at: Time
    p90_at: Time
    p50_s: int
    p90_s: int
    basis: str


class Instead(msgspec.Struct):
    """What would start now."""

    change: str
    node: str
    gpus: list[int]


class Why(Versioned):
    """Why a job waits, until when probably, and what would start now."""

    id: int
    state: ShownState
    outcome: Outcome | None
    reasons: list[Reason]
    text: str
    ahead: Ahead
    holders: list[Holding]
    eta: Eta | None
    not_before: Time | None
    instead: list[Instead]
    predicted_run_s: int | None
    predicted_from: str | None


class Would(msgspec.Struct):
    """What would become of a job; of the first that would wait, with the keys of `Why` from `ahead` on."""

    would: Literal["start", "wait"]
    gpus: list[int]
    reasons: list[Reason]
    node: str | UnsetType = UNSET


class DryRun(msgspec.Struct):
    """What would become of the jobs."""

    jobs: list[Would]


class End(msgspec.Struct):
    """Where a job is, or how it ended."""

    id: int
    state: ShownState
    outcome: Outcome | None
    exit_code: int | None
    error: str | None


class Ends(Versioned):
    """Where these jobs are."""

    jobs: list[End]


class AskedFor(Versioned):
    """A job as it was asked for."""

    spec: JobSpec


class Environment(Versioned):
    """A job's environment."""

    env: dict[str, str]


class Skipped(msgspec.Struct):
    """A job to which it was not done, and why."""

    id: int
    code: str
    reason: str


class Later(msgspec.Struct):
    """A job on a node that cannot be reached: it is done when the node is back."""

    id: int
    node: str


class Acted(Versioned):
    """What was done; `later` are those of them that hear of it only then, `ids` are those of new jobs."""

    done: list[int]
    skipped: list[Skipped]
    later: list[Later] | UnsetType = UNSET
    ids: list[int] | UnsetType = UNSET


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


class Point(msgspec.Struct):
    """A point of a sweep."""

    job: int
    point: dict[str, Value]
    state: ShownState
    outcome: Outcome | None
    exit_code: int | None
    error: str | None
    started_at: Time | None
    ended_at: Time | None
    cwd: str | None
    results: dict[str, Result]


class SweepShown(Sweep, kw_only=True):
    """A sweep with its points."""

    version: Literal[1]
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


class Run(msgspec.Struct):
    """A run that ended."""

    job: int
    user: str
    work: str
    gpus: int
    outcome: str
    submitted_at: Time
    started_at: Time
    ended_at: Time


class History(Versioned):
    """A page of runs that ended."""

    history: list[Run]
    next: int | None
