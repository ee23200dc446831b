"""Routes about sweeps and results."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Request, Response

from roost.api import job_answers
from roost.api.document import gives, said, takes
from roost.api.job_answers import SweepMade, SweepPlanned
from roost.api.jobs import caller, filler, service
from roost.api.wire import JsonResponse, body
from roost.core.errors import Conflict, Impossible, NotFound, OverQuota
from roost.core.results import MAX_KEYS, Result
from roost.core.spec import JobSpec
from roost.core.sweeps.parameters import Given
from roost.core.sweeps.points import MAX_CANDIDATES, Design, Texts
from roost.server.rounds.commands import LimitSweep, MakeSweep, Report
from roost.server.rounds.submit import check_no_point
from roost.server.rounds.sweep import MOST_RUNNING
from roost.server.views.sweep_views import Sweeps, design_of

router = APIRouter(prefix="/api/v1", tags=["sweeps"], default_response_class=JsonResponse)
MaxRunning = Annotated[int, said(minimum=1, maximum=MOST_RUNNING)]
Samples = Annotated[int, said(minimum=1, maximum=MAX_CANDIDATES)]
Key = Annotated[str, msgspec.Meta(min_length=8, max_length=100)]


class SweepBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A job and the points at which it is to run."""

    job: JobSpec
    params: dict[str, Texts] = {}
    points: list[dict[str, Given]] = []
    where: str | None = None
    dir: str | None = None
    samples: Samples | None = None
    seed: int = 0
    max_running: MaxRunning | None = None
    envs: list[dict[str, str]] = []
    dry_run: bool = False
    key: Key | None = None


class ExtendBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Further values for the parameters of a sweep."""

    params: dict[str, Texts] = {}
    points: list[dict[str, Given]] = []
    where: str | None = None
    samples: Samples | None = None
    dry_run: bool = False
    key: Key | None = None


class LimitBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many jobs may run at once; null: any number."""

    max_running: MaxRunning | None


class ResultsBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a job says of itself."""

    results: Annotated[dict[str, Result], said(minProperties=1, maxProperties=MAX_KEYS)]
    attempt: int | None = None


MADE = gives({201: SweepMade, 200: SweepPlanned}, NotFound, Conflict, Impossible, OverQuota)


def sweeps(request: Request) -> Sweeps:
    """The sweeps of the server behind this application."""
    found: Sweeps = request.app.state.sweeps
    return found


@router.post("/sweeps", status_code=201, openapi_extra=takes(SweepBody) | MADE)
async def make(request: Request) -> Response:
    """Queue a job for every point: all are checked before any is queued."""
    who = caller(request)
    asked = await body(request, SweepBody, filler(request, "job"))
    check_no_point(asked.job)
    design = Design(asked.job, asked.params, asked.points, asked.where, asked.dir, asked.samples, asked.seed)
    accounts = service(request).people.accounts_for(who, [asked.job.user])
    more: dict[str, Any] = {"design": design, "max_running": asked.max_running, "dry_run": asked.dry_run}
    command = MakeSweep(who.name, [], asked.envs, who.home, asked.key, accounts, **more)
    return JsonResponse({"version": 1, **await sweeps(request).make(who, command)}, 200 if asked.dry_run else 201)


@router.get("/sweeps", openapi_extra=gives(job_answers.Sweeps))
async def listed(request: Request) -> Response:
    """The newest sweeps, with how far they are."""
    veil = service(request).veil(caller(request))
    return JsonResponse({"version": 1, "sweeps": [veil.sweep(sweep) for sweep in await sweeps(request).listed()]})


@router.get("/sweeps/last", openapi_extra=gives(job_answers.SweepShown, NotFound))
async def last(request: Request) -> Response:
    """The caller's last sweep, with all its points."""
    here = sweeps(request)
    return JsonResponse({"version": 1, **await here.shown(await here.last(caller(request)))})


@router.get("/sweeps/{sweep}", openapi_extra=gives(job_answers.SweepShown, NotFound))
async def show(request: Request, sweep: int) -> Response:
    """A sweep with all its points and their results."""
    return JsonResponse({"version": 1, **service(request).veil(caller(request)).sweep(await sweeps(request).shown(sweep))})


@router.post("/sweeps/{sweep}/extend", status_code=201, openapi_extra=takes(ExtendBody) | MADE)
async def extend(request: Request, sweep: int) -> Response:
    """Queue the points that the sweep does not have yet."""
    asked, who = await body(request, ExtendBody), caller(request)
    row = await service(request).sweep(sweep)
    # What is added is the sweep's owner's, whoever adds it.
    job = msgspec.structs.replace(design_of(row).job, user=row.user if row.user != who.name else None)
    more = Design(job, asked.params, asked.points, asked.where, samples=asked.samples)
    accounts = service(request).people.accounts_for(who, [job.user])
    kwargs: dict[str, Any] = {"design": more, "sweep": sweep, "dry_run": asked.dry_run}
    command = MakeSweep(who.name, [], [], who.home, asked.key, accounts, **kwargs)
    return JsonResponse({"version": 1, **await sweeps(request).make(who, command)}, 200 if asked.dry_run else 201)


@router.post("/sweeps/{sweep}/limit", openapi_extra=takes(LimitBody) | gives(job_answers.SweepLimited, NotFound))
async def limit(request: Request, sweep: int) -> Response:
    """Change how many of its jobs may run at once."""
    asked = await body(request, LimitBody)
    answer: dict[str, Any] = await service(request).ask(
        caller(request), LimitSweep(caller(request).name, sweep, asked.max_running)
    )
    return JsonResponse({"version": 1, **answer})


@router.get("/jobs/{job}/results", openapi_extra=gives(job_answers.Results, NotFound))
async def results(request: Request, job: int) -> Response:
    """What a job reported."""
    here = service(request)
    is_hidden = here.veil(caller(request)).hides((await here.row(job)).user)
    results = {} if is_hidden else await sweeps(request).results(job)
    return JsonResponse({"version": 1, "id": job, "results": results})


@router.post("/jobs/{job}/results", openapi_extra=takes(ResultsBody) | gives(job_answers.ResultsKept, NotFound, Conflict))
async def report(request: Request, job: int) -> Response:
    """A job says how it went; the last word on a key stands."""
    asked = await body(request, ResultsBody)
    command = Report(caller(request).name, job, asked.results, asked.attempt)
    return JsonResponse({"version": 1, **await service(request).ask(caller(request), command)})
