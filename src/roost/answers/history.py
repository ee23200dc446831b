"""What was: runs that ended, samples for plots, what users have used."""

import msgspec

from roost.answers.values import Time, Versioned

Numbers = list[float | None]


class Run(msgspec.Struct, kw_only=True):
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


class Samples(Versioned):
    """Columns, a value a step; null where nothing was seen. `at` is when a step began, in UNIX seconds."""

    scope: str
    step_s: int
    at: list[int]
    util: Numbers
    mem_used_mib: Numbers
    mem_total_mib: Numbers
    power_w: Numbers
    temp_c: Numbers
    gpus_used: Numbers
    gpus_total: Numbers
    queued: Numbers


class GpuCourse(msgspec.Struct):
    """What a run did on one of its GPUs: utilization in the mean of each step, its own memory at the most."""

    uuid: str
    index: int
    util: Numbers
    mem_mib: Numbers


class JobSamples(Versioned):
    """How an attempt went, in at most 240 steps; `attempt` is null while none has begun."""

    id: int
    attempt: int | None
    step_s: int
    at: list[int]
    gpus: list[GpuCourse]
    rss_mib: Numbers


class UserUsage(msgspec.Struct):
    """What a user has used, a value a week; `jobs` counts the runs that ended in it."""

    user: str
    gpu_hours: list[float]
    jobs: list[int]
    waited_s_mean: float | None


class UsageByWeek(Versioned):
    """What users have used, in weeks of ISO 8601 (UTC), the oldest first."""

    weeks: list[str]
    users: list[UserUsage]
