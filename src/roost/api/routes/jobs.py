"""Routes about jobs: submitting, listing, acting, waiting."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from roost.answers import jobs as answers
from roost.api import request_parameters as given
from roost.api.calls import Call
from roost.api.edge.authentication import Right
from roost.api.job_defaults import filled_in
from roost.api.job_lines import read_job_lines
from roost.api.route_table import Routes
from roost.core.errors import BadRequest, Conflict, Impossible, NotFound, OverQuota
from roost.core.spec import MAX_GRACE_S, SIGNALS, JobSpec
from roost.server.identity.lineage import SUBMIT
from roost.server.rounds.commands import Act, Submit
from roost.server.views.selection import Select, check_sort
from roost.store.listing import QUEUE, Cut

routes = Routes("jobs")
KNOWN_SIGNALS = (*SIGNALS, "KILL", "STOP", "WINCH")


class SubmitBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Jobs to queue, all or none."""

    jobs: Annotated[list[JobSpec], given.documented(minItems=1)]
    envs: list[dict[str, str]] = []
    dry_run: bool = False
    key: Annotated[str, Meta(min_length=8, max_length=100)] | None = None
    """A random text of the client's: the same request under the same key is queued once, however often it is sent."""


class LinesBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Many jobs as text, a job a line, as `roost submit --from` takes them."""

    text: Annotated[str, Meta(max_length=4 << 20)]
    job: Annotated[dict[str, Any], given.documented(allOf=[{"$ref": "#/components/schemas/JobChanges"}])] = {}
    """Keys of a JobSpec that every line has unless it says otherwise."""


class ActionBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something to do to the selected jobs."""

    action: Literal["kill", "pause", "resume", "hold", "release", "rerun", "preempt", "move", "start", "edit", "clone", "rm"]
    select: Select
    changes: Annotated[dict[str, Any], given.documented(allOf=[{"$ref": "#/components/schemas/JobChanges"}])] = {}
    grace_s: Annotated[int, Meta(ge=0, le=MAX_GRACE_S)] | None = None
    signal: Annotated[str, Meta(pattern=f"^(SIG)?({'|'.join(KNOWN_SIGNALS)})$")] | None = None
    position: Annotated[int, given.documented(minimum=0)] | None = None
    gpu_ids: list[str] = []


REFUSALS = (NotFound, Impossible, OverQuota)
MAX_DRY_RUN = 1000
"""Jobs of one dry run. Each is planned for in one round, for which everybody waits."""


@routes.post("/jobs", Right.USER, *REFUSALS, created=(answers.Submitted,), fill=filled_in("jobs"), scope=SUBMIT)
async def submit(call: Call, body: SubmitBody) -> answers.Submitted | answers.DryRun:
    """Queue jobs: all are checked before any is queued. Answers with the ids after they are on the disk."""
    who, here = call.caller, call.server
    if not body.jobs:
        raise BadRequest("request.no_jobs")
    accounts = await call.accounts({job.user for job in body.jobs})
    if body.dry_run and len(body.jobs) > MAX_DRY_RUN:
        raise BadRequest("request.dry_run_at_once", jobs=len(body.jobs), most=MAX_DRY_RUN)
    if body.dry_run:
        return call.veil.dry_run(await here.actions.dry_run(who, body.jobs))
    made: answers.Submitted = await call.ask(Submit(who.name, body.jobs, body.envs, who.home, body.key, accounts))
    return answers.Submitted(made.ids, here.people.shown_notice())


@routes.get("/jobs", Right.USER, NotFound)
async def list_jobs(
    call: Call,
    ids: given.Ids = "",
    state: given.States = "",
    user: given.Listed = "",
    label: given.Listed = "",
    sweep: int | None = None,
    all: bool = False,
    limit: given.Limit = 50,
    cursor: given.JobCursor = None,
    brief: bool = False,
    node: given.Node = None,
    search: given.Search = "",
    sort: given.Sort = QUEUE,
    offset: given.Skip = 0,
) -> answers.JobPage | answers.BriefPage:
    """A page of jobs, and how many match. Without `all`, a state, ids or a sweep, jobs that ended long ago are left out."""
    if cursor is not None and offset:
        raise BadRequest("request.cursor_and_offset")
    cut = Cut(limit, cursor, check_sort(sort), offset)
    select = Select(ids, _listed(label), _listed(state), user or None, True, sweep, node or None, search)
    is_recent = not (all or ids or select.states or sweep is not None)
    page = await call.server.jobs.page(call.caller, select, cut, is_brief=brief, is_recent=is_recent)
    return call.veil.page(page)


@routes.post("/jobs/lines", Right.USER)
async def read_lines(call: Call, body: LinesBody) -> answers.JobLines:
    """What `roost submit --from` would queue of such a text: a job for each line, or what is wrong with it."""
    return await read_job_lines(call, body.text, body.job)


def _listed(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.split(",")))


@routes.get("/jobs/facets", Right.USER)
async def facets(call: Call) -> answers.JobFacets:
    """What a listing can be narrowed to: states, names in use, the labels most used lately. Some seconds old, perhaps."""
    return await call.server.jobs.facets(call.veil.viewer)


@routes.get("/jobs/wait", Right.USER, NotFound)
async def wait(call: Call, ids: given.SomeIds, timeout_s: given.Seconds = None) -> answers.Ends:
    """Answers when all of these have ended, or when the time is over."""
    here = call.server
    chosen = await here.selector.ids(call.caller, Select(ids=ids))
    for job in chosen if len(chosen) == 1 else ():
        await here.reader.job(job)
    call.waits()
    veil = call.veil
    return answers.Ends(jobs=[veil.ended(row) for row in await here.actions.wait(chosen, timeout_s)])


@routes.get("/jobs/{job}", Right.USER, NotFound)
async def show(call: Call, job: int) -> answers.JobShown:
    """One job."""
    return call.veil.job(await call.server.jobs.shown(job))


@routes.get("/jobs/{job}/spec", Right.OWN, NotFound)
async def asked_for(call: Call, job: int) -> answers.AskedFor:
    """A job as it was asked for, to ask for another like it; without its environment, but with its script."""
    row = await call.server.jobs.own(call.caller, job, "what was asked")
    return answers.AskedFor(spec=msgspec.structs.replace(row.decoded(), sweep=None, point=None))


@routes.get("/jobs/{job}/env", Right.OWN, NotFound, scope=SUBMIT)
async def environment(call: Call, job: int) -> answers.Environment:
    """A job's environment, for its owner."""
    return answers.Environment(env=await call.server.jobs.environment(call.caller, job))


@routes.get("/jobs/{job}/why", Right.USER, NotFound)
async def why(call: Call, job: int) -> answers.Why:
    """Every reason why a job waits, until when probably, and what would start now."""
    view = await call.server.jobs.why(job)
    return call.veil.why(view, (await call.server.reader.job(job)).user)


@routes.post("/jobs/actions", Right.OWN, NotFound, Conflict, Impossible, OverQuota, scope=SUBMIT)
async def act(call: Call, body: ActionBody) -> answers.Acted:
    """Do something to the selected jobs, each for itself."""
    who, here = call.caller, call.server
    owner = body.changes.get("user")
    accounts = await call.accounts([owner]) if isinstance(owner, str) else {}
    signal = body.signal.removeprefix("SIG") if body.signal else None
    how = (body.changes, body.grace_s, signal, body.position, body.gpu_ids, who.home, accounts)
    return await here.actions.act(who, Act(who.name, body.action, [], *how), body.select)
