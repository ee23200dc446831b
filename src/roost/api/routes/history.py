"""Routes about what was: runs that ended, samples for plots, what users have used."""

from roost.answers.history import History, JobSamples, Run, Samples, UsageByWeek
from roost.api.calls import Call
from roost.api.edge.authentication import Right
from roost.api.request_parameters import Attempt, Limit, OneUser, RowCursor, Scope, Since, SpanName, Weeks
from roost.api.route_table import Routes
from roost.core.errors import BadRequest, NotFound
from roost.server.clock import parse_time_ms, rfc3339
from roost.store import reads
from roost.store.rows import HistoryRow

routes = Routes("history")


@routes.get("/history", Right.USER)
async def history(call: Call, since: Since = None, limit: Limit = 1000, cursor: RowCursor = None) -> History:
    """A page of runs that ended, the newest first: what a replay of the installation's own past is made from."""
    rows = await call.server.reader.read(reads.history, parse_time_ms(since) if since else 0, limit + 1, cursor)
    following = rows[limit - 1].id if len(rows) > limit else None
    veil = call.veil
    return History(history=[veil.run(_run(row)) for row in rows[:limit]], next=following)


def _run(row: HistoryRow) -> Run:
    return Run(
        job=row.job,
        user=row.user,
        work=row.work,
        gpus=row.gpus,
        outcome=row.outcome,
        submitted_at=rfc3339(row.submitted_ms),
        started_at=rfc3339(row.started_ms),
        ended_at=rfc3339(row.ended_ms),
    )


@routes.get("/samples", Right.USER, NotFound)
async def samples(call: Call, scope: Scope = "cluster", span: SpanName = "hour") -> Samples:
    """What a GPU, a node or the cluster did, in steps over a span of time that ends now."""
    kind, _, name = scope.partition(":")
    if scope != "cluster" and (kind not in ("node", "gpu") or not name):
        raise BadRequest("request.scope", scope=repr(scope[:100]))
    return await call.server.past.samples(scope, span)


@routes.get("/jobs/{job}/samples", Right.USER, NotFound)
async def job_samples(call: Call, job: int, attempt: Attempt = None) -> JobSamples:
    """What the GPUs of a job did and what memory it had, over the life of its last attempt, or of another."""
    return await call.server.past.job(call.caller, job, attempt)


@routes.get("/usage", Right.USER, NotFound)
async def usage(call: Call, weeks: Weeks = 4, user: OneUser = None) -> UsageByWeek:
    """GPU hours per week and user, what runs now included."""
    return await call.server.past.usage(call.caller, weeks, user)
