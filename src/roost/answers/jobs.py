"""Jobs: whole, in brief, as pages of a listing; submitting, acting and waiting."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from roost.answers.reasons import Reason
from roost.answers.users import Notice
from roost.answers.values import OutcomeName, StateName, Time, Value, Versioned
from roost.core.estimates.alternatives import Instead
from roost.core.estimates.queue_ahead import Queue
from roost.core.events import Usage
from roost.core.model import Conditions
from roost.core.results import Result
from roost.core.spec import JobSpec
from roost.messages import Message


class Request(msgspec.Struct, kw_only=True):
    """What a job asked for."""

    gpus: int
    mem_mib: int | None
    max_util: int | None
    exclusive: bool
    gpu_ids: tuple[str, ...]
    prefer_gpus: tuple[str, ...]
    nodes: tuple[str, ...]
    prefer_nodes: tuple[str, ...]
    gpu_models: tuple[str, ...]
    min_gpu_mem_mib: int | None
    mem_auto: bool


class Attempt(msgspec.Struct, kw_only=True):
    """One attempt of a job."""

    attempt: int
    run: str
    state: str
    outcome: OutcomeName | None
    node: str
    gpu_uuids: list[str]
    gpu_indices: list[int]
    pid: int | None
    intended_at: Time
    started_at: Time | None
    ended_at: Time | None
    exit_code: int | None
    error: Message | None
    peak_mem_mib: int | None
    granted_mib: int | None
    peak_rss_mib: int | None
    cpu_s: float | None
    util_mean: float | None


class Awaited(msgspec.Struct):
    """A job that is waited for."""

    job: int
    wants: Annotated[str, msgspec.Meta(extra_json_schema={"enum": ["success", "any", "failure"]})]


class Job(msgspec.Struct, kw_only=True):
    """A job. It is `unknown` while its node cannot be reached; `last_state` is where it was then.

    `submitter`: who submitted it, mostly its user; `runs_as`: the UNIX account.
    """

    id: int
    name: str
    desc: str | None
    user: str
    submitter: str
    runs_as: str | None
    state: StateName
    last_state: StateName | None
    outcome: OutcomeName | None
    exit_code: int | None
    error: Message | None
    command: list[str] | str
    command_line: str
    script: bool
    cwd: str | None
    gpus: int
    request: Request
    labels: tuple[str, ...]
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
    retry: Message | None
    preemptible: bool
    notify: tuple[str, ...]
    time_limit_s: int | None
    submitted_at: Time
    started_at: Time | None
    ended_at: Time | None
    stdout: str | None
    stderr: str | None
    sweep: int | None
    point: dict[str, Value] | None


class Happened(msgspec.Struct, kw_only=True):
    """Something that was done to a job; which keys there are depends on its kind."""

    at: Time
    kind: str
    actor: str | None
    attempt: int | UnsetType = UNSET
    node: str | UnsetType = UNSET
    gpus: tuple[str, ...] | UnsetType = UNSET
    indices: tuple[int, ...] | UnsetType = UNSET
    granted_mib: int | UnsetType | None = UNSET
    pid: int | UnsetType = UNSET
    held: bool | UnsetType = UNSET
    conditions: Conditions | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    why: str | UnsetType = UNSET
    again_ms: int | UnsetType = UNSET
    outcome: OutcomeName | UnsetType = UNSET
    was: OutcomeName | UnsetType = UNSET
    exit_code: int | UnsetType | None = UNSET
    error: Message | UnsetType | None = UNSET
    usage: Usage | UnsetType = UNSET
    retried: int | UnsetType = UNSET
    oom_retried: int | UnsetType = UNSET


def happened(kept: dict[str, Any]) -> Happened:
    """One of them, from what was kept."""
    return msgspec.convert(kept, Happened, dec_hook=lambda _, text: Message.of_text(text))


class JobShown(Job, Versioned, kw_only=True):
    """A job, what it reported, and what was done to it."""

    results: dict[str, Result]
    story: list[Happened]


class ArchivedLog(msgspec.Struct, kw_only=True):
    """What an attempt wrote. Of a very long log the middle is left out: those bytes of `size` are not in `text`."""

    attempt: int
    stream: str
    size: int
    left_out: tuple[int, int] | None
    text: str


class ArchivedJob(JobShown, kw_only=True):
    """A line of an archive: a job, its results also where only its log has them, and its logs."""

    logs: list[ArchivedLog]


class BriefJob(msgspec.Struct, kw_only=True):
    """A job in brief; `reason` is the first of its reasons, `eta` when it will probably start."""

    id: int
    name: str
    user: str
    state: StateName
    outcome: OutcomeName | None
    exit_code: int | None
    error: Message | None
    command_line: str
    gpus: int
    mem_mib: int | None
    node: str | None
    gpu_indices: list[int]
    priority: int
    labels: tuple[str, ...]
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


class Page(Versioned, kw_only=True):
    """A page of a listing.

    `total`: how many match; null when that is not counted, and `total_at_least` is all that is known.
    `nodes`: how many nodes there are.
    """

    total: int | None
    total_at_least: int
    counts: dict[str, int]
    next: str | None
    nodes: int
    notice: Notice | None


class JobPage(Page, kw_only=True):
    """A page of jobs."""

    jobs: list[Job]


class BriefPage(Page, kw_only=True):
    """A page of jobs in brief."""

    jobs: list[BriefJob]


class JobFacets(Versioned):
    """What a listing can be narrowed to: how many jobs are in which state or ended how; names in use, some of very many."""

    states: dict[str, int]
    users: list[str]
    labels: list[str]
    nodes: list[str]


class Submitted(msgspec.Struct):
    """The jobs are queued."""

    ids: list[int]
    notice: Notice | None


class Holding(msgspec.Struct, kw_only=True):
    """Who has what a job lacks."""

    job: int
    user: str
    state: str
    since: Time
    probably_until: Time


class Eta(msgspec.Struct, kw_only=True, rename={"basis": "from"}):
    """When a job will probably start; `from`: what that comes from."""

    p50_at: Time
    p90_at: Time
    p50_s: int
    p90_s: int
    basis: str


class Estimate(msgspec.Struct, kw_only=True):
    """Until when a job waits, probably, who is first and who has what it lacks, and what would start now."""

    ahead: Queue
    holders: list[Holding]
    eta: Eta | None
    not_before: Time | None
    instead: tuple[Instead, ...]
    predicted_run_s: int | None
    predicted_from: str | None


class Why(Estimate, Versioned, kw_only=True):
    """Why a job waits, until when probably, and what would start now."""

    id: int
    state: StateName
    outcome: OutcomeName | None
    reasons: list[Reason]
    text: Message


class Would(msgspec.Struct, kw_only=True):
    """What would become of a job; of the first that would wait, with the keys of `Why` from `ahead` on."""

    would: Literal["start", "wait"]
    gpus: list[int]
    reasons: list[Reason]
    node: str | UnsetType = UNSET
    ahead: Queue | UnsetType = UNSET
    holders: list[Holding] | UnsetType = UNSET
    eta: Eta | UnsetType | None = UNSET
    not_before: Time | UnsetType | None = UNSET
    instead: tuple[Instead, ...] | UnsetType = UNSET
    predicted_run_s: int | UnsetType | None = UNSET
    predicted_from: str | UnsetType | None = UNSET


class DryRun(msgspec.Struct):
    """What would become of the jobs."""

    jobs: list[Would]


class JobLine(msgspec.Struct):
    """A line of many: the job that it asks for, or what is wrong with it."""

    line: int
    job: Annotated[dict[str, Any], msgspec.Meta(extra_json_schema={"description": "keys of a JobSpec"})] | None
    problem: Message | None


class JobLines(Versioned):
    """The jobs of a text, and the environments that they point into."""

    lines: list[JobLine]
    envs: list[dict[str, str]]


class End(msgspec.Struct, kw_only=True):
    """Where a job is, or how it ended."""

    id: int
    state: StateName
    outcome: OutcomeName | None
    exit_code: int | None
    error: Message | None


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


class LogWaiting(msgspec.Struct):
    """A line of a followed log: the job waits."""

    state: str
    reasons: list[Reason]
    retry: Message | None


class LogPiece(msgspec.Struct, kw_only=True):
    """A line of a followed log: what was written, in base64; `offset` is where it ends."""

    stream: str
    data: bytes
    offset: int
    attempt: int


class LogEnd(msgspec.Struct, kw_only=True):
    """How the job is at the end of its log."""

    state: str
    outcome: OutcomeName | None
    exit_code: int | None
    error: Message | None


class LogEnded(msgspec.Struct):
    """The last line of a followed log."""

    end: LogEnd


class HiddenEvent(msgspec.Struct, kw_only=True):
    """Something that happened to a job of which little may be told."""

    type: str
    id: int
    at_ms: int
    attempt: int | UnsetType = UNSET
    outcome: OutcomeName | UnsetType = UNSET
    node: str | UnsetType = UNSET
    gpus: Any | UnsetType = UNSET
