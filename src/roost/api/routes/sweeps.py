"""Routes about sweeps and results."""

from typing import Annotated

import msgspec
from msgspec import Meta

from roost.answers.sweeps import Results, ResultsKept, SweepLimited, SweepMade, SweepPlanned, Sweeps, SweepShown
from roost.api.calls import Call
from roost.api.edge.authentication import Right
from roost.api.job_defaults import filled_in
from roost.api.request_parameters import documented
from roost.api.route_table import Routes
from roost.core.errors import Conflict, Impossible, NotFound, OverQuota
from roost.core.results import MAX_KEYS, Result
from roost.core.spec import JobSpec
from roost.core.sweeps.parameters import Given
from roost.core.sweeps.points import MAX_CANDIDATES, Design, Texts
from roost.server.identity.lineage import SUBMIT
from roost.server.operations.sweeps import design_of
from roost.server.rounds.commands import LimitSweep, MakeSweep, Report
from roost.server.rounds.submit import check_no_point
from roost.server.rounds.sweep import MAX_RUNNING

routes = Routes("sweeps")
MaxRunning = Annotated[int, documented(minimum=1, maximum=MAX_RUNNING)]
Samples = Annotated[int, documented(minimum=1, maximum=MAX_CANDIDATES)]
Key = Annotated[str, Meta(min_length=8, max_length=100)]
REFUSALS = (NotFound, Conflict, Impossible, OverQuota)


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
    """How many jobs may run at once; null: no limit."""

    max_running: MaxRunning | None


class ResultsBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a job says of itself."""

    results: Annotated[dict[str, Result], documented(minProperties=1, maxProperties=MAX_KEYS)]
    attempt: int | None = None


@routes.post("/sweeps", Right.USER, *REFUSALS, created=(SweepMade,), fill=filled_in("job"), scope=SUBMIT)
async def make(call: Call, body: SweepBody) -> SweepMade | SweepPlanned:
    """Queue a job for every point: all are checked before any is queued."""
    check_no_point(body.job)
    design = Design(body.job, body.params, body.points, body.where, body.dir, body.samples, body.seed)
    who = call.caller
    accounts = await call.accounts([body.job.user])
    asked = MakeSweep(
        who.name,
        [],
        body.envs,
        who.home,
        body.key,
        accounts,
        design=design,
        max_running=body.max_running,
        dry_run=body.dry_run,
    )
    return await call.server.sweeps.make(who, asked)


@routes.get("/sweeps", Right.USER)
async def listed(call: Call) -> Sweeps:
    """The newest sweeps, with how far they are."""
    veil = call.veil
    return Sweeps(sweeps=[veil.sweep(sweep) for sweep in await call.server.sweeps.listed()])


@routes.get("/sweeps/last", Right.USER, NotFound)
async def last(call: Call) -> SweepShown:
    """The caller's last sweep, with all its points."""
    here = call.server.sweeps
    return await here.shown(await here.last(call.caller))


@routes.get("/sweeps/{sweep}", Right.USER, NotFound)
async def show(call: Call, sweep: int) -> SweepShown:
    """A sweep with all its points."""
    return call.veil.sweep_shown(await call.server.sweeps.shown(sweep))


@routes.post("/sweeps/{sweep}/extend", Right.OWN, *REFUSALS, created=(SweepMade,), scope=SUBMIT)
async def extend(call: Call, sweep: int, body: ExtendBody) -> SweepMade | SweepPlanned:
    """Queue the points that the sweep does not have yet."""
    who, row = call.caller, await call.server.reader.sweep(sweep)
    # What is added belongs to the owner of the sweep, also when an administrator adds it.
    job = msgspec.structs.replace(design_of(row).job, user=row.user if row.user != who.name else None)
    more = Design(job, body.params, body.points, body.where, samples=body.samples)
    accounts = await call.accounts([job.user])
    asked = MakeSweep(who.name, [], [], who.home, body.key, accounts, design=more, sweep=sweep, dry_run=body.dry_run)
    return await call.server.sweeps.make(who, asked)


@routes.post("/sweeps/{sweep}/limit", Right.OWN, NotFound, scope=SUBMIT)
async def limit(call: Call, sweep: int, body: LimitBody) -> SweepLimited:
    """Change how many of its jobs may run at once."""
    limited: SweepLimited = await call.ask(LimitSweep(call.caller.name, sweep, body.max_running))
    return limited


@routes.get("/jobs/{job}/results", Right.USER, NotFound)
async def results(call: Call, job: int) -> Results:
    """What a job reported."""
    is_hidden = call.veil.hides((await call.server.reader.job(job)).user)
    return Results(id=job, results={} if is_hidden else await call.server.sweeps.results(job))


@routes.post("/jobs/{job}/results", Right.OWN, NotFound, Conflict, scope=SUBMIT)
async def report(call: Call, job: int, body: ResultsBody) -> ResultsKept:
    """A job says how it went; the last word on a key stands."""
    kept: ResultsKept = await call.ask(Report(call.caller.name, job, body.results, body.attempt))
    return kept
