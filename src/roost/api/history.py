"""The route about runs that ended: what a replay of the installation's own past is made from."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from roost.api.document import gives
from roost.api.job_answers import History
from roost.api.jobs import caller, service
from roost.api.parameters import Limit, RowCursor, Since
from roost.api.wire import JsonResponse
from roost.server.clock import parse_time_ms, rfc3339
from roost.store import reads
from roost.store.rows import HistoryRow

router = APIRouter(prefix="/api/v1", tags=["history"], default_response_class=JsonResponse)


@router.get("/history", openapi_extra=gives(History))
async def history(request: Request, since: Since = None, limit: Limit = 1000, cursor: RowCursor = None) -> Response:
    """A page of runs that ended, the newest first."""
    since_ms = parse_time_ms(since) if since else 0
    rows = await service(request).read(reads.history, since_ms, limit + 1, cursor)
    shown = rows[:limit]
    following = shown[-1].id if len(rows) > limit else None
    veil = service(request).veil(caller(request))
    return JsonResponse({"version": 1, "history": [veil.run(_view(row)) for row in shown], "next": following})


def _view(row: HistoryRow) -> dict[str, Any]:
    return {
        "job": row.job,
        "user": row.user,
        "work": row.work,
        "gpus": row.gpus,
        "outcome": row.outcome,
        "submitted_at": rfc3339(row.submitted_ms),
        "started_at": rfc3339(row.started_ms),
        "ended_at": rfc3339(row.ended_ms),
    }
