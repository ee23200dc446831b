"""Routes about what was: samples for plots, how a run went, what users have used."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from fastapi import APIRouter, Query, Request, Response

from roost.api.document import gives
from roost.api.job_answers import Versioned
from roost.api.jobs import caller
from roost.api.parameters import Attempt
from roost.api.wire import JsonResponse
from roost.core.errors import BadRequest, NotFound
from roost.core.users import MAX_NAME, NAME_PATTERN
from roost.server.history.queries import Past

router = APIRouter(prefix="/api/v1", tags=["past"], default_response_class=JsonResponse)

MOST_WEEKS = 520
Scope = Annotated[
    str, Query(json_schema_extra={"pattern": "^(cluster|(node|gpu):.+)$"}, description="cluster, node:NAME or gpu:UUID")
]
SpanName = Literal["hour", "day", "week", "month", "year"]
Weeks = Annotated[int, Query(ge=1, le=MOST_WEEKS, description="the last so many, this one included")]
OneUser = Annotated[
    str | None, Query(json_schema_extra={"pattern": NAME_PATTERN, "maxLength": MAX_NAME}, description="this one alone")
]
Numbers = list[float | None]


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


class Usage(Versioned):
    """What users have used, in weeks of ISO 8601 (UTC), the oldest first."""

    weeks: list[str]
    users: list[UserUsage]


def past(request: Request) -> Past:
    """The past of the server behind this application."""
    found: Past = request.app.state.past
    return found


@router.get("/samples", openapi_extra=gives(Samples, NotFound))
async def samples(request: Request, scope: Scope = "cluster", span: SpanName = "hour") -> Response:
    """What a GPU, a node or the cluster did, in steps over a span of time that ends now."""
    kind, _, name = scope.partition(":")
    if scope != "cluster" and (kind not in ("node", "gpu") or not name):
        raise BadRequest(f"scope must be cluster, node:NAME or gpu:UUID, not {scope[:100]!r}")
    return JsonResponse(await past(request).samples(scope, span))


@router.get("/jobs/{job}/samples", openapi_extra=gives(JobSamples, NotFound))
async def job_samples(request: Request, job: int, attempt: Attempt = None) -> Response:
    """What the GPUs of a job did and what memory it had, over the life of its last attempt, or of another."""
    return JsonResponse(await past(request).job(caller(request), job, attempt))


@router.get("/usage", openapi_extra=gives(Usage, NotFound))
async def usage(request: Request, weeks: Weeks = 4, user: OneUser = None) -> Response:
    """GPU hours per week and user, what runs now included."""
    return JsonResponse(await past(request).usage(caller(request), weeks, user))
