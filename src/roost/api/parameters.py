"""What may stand in a path or a query, each with its limits: the check and the OpenAPI document read the same."""

from __future__ import annotations

from typing import Annotated

from fastapi import HTTPException, Path, Query, Request

from roost.api.permissions import methods_at
from roost.core.errors import BadRequest
from roost.core.users import MAX_NAME, NAME_PATTERN
from roost.server.views.selection import IDS_PATTERN, MAX_SEARCH, NAMES, SEARCH_PATTERN
from roost.store.listing import CURSOR_PATTERN, SORTS

MAX_PAGE = 10_000
MOST = 1 << 53
"""The largest whole number that every reader of JSON keeps exactly."""
_STATES = "|".join(sorted(NAMES))

UserName = Annotated[str, Path(json_schema_extra={"pattern": NAME_PATTERN, "maxLength": MAX_NAME})]
TargetId = Annotated[int, Path(ge=1, le=MOST)]
Ids = Annotated[
    str, Query(json_schema_extra={"pattern": IDS_PATTERN}, description="12, 10-20, 12,15, @ (my last), @~2, all")
]
SomeIds = Annotated[str, Query(min_length=1, json_schema_extra={"pattern": IDS_PATTERN})]
States = Annotated[str, Query(json_schema_extra={"pattern": f"^,*(({_STATES})(,+|$))*$"}, description="states and outcomes")]
Listed = Annotated[str, Query(description="several are separated by commas")]
Search = Annotated[
    str,
    Query(
        json_schema_extra={"pattern": SEARCH_PATTERN, "maxLength": MAX_SEARCH},
        description="a number, or a part of name, command line, user or label; case does not matter",
    ),
]
Node = Annotated[str | None, Query(description="where the last attempt was")]
Sort = Annotated[
    str,
    Query(
        json_schema_extra={"enum": list(SORTS)},
        description="`queue`: active, then waiting in queue order, then ended, the latest first; - from the other end",
    ),
]
Skip = Annotated[int, Query(ge=0, le=100_000, description="so many are left out first, where there is no cursor")]
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE)]
JobCursor = Annotated[
    str | None, Query(json_schema_extra={"pattern": CURSOR_PATTERN}, description="`next` of the last page")
]
RowCursor = Annotated[int | None, Query(ge=1, le=MOST, description="`next` of the last page")]
Since = Annotated[str | None, Query(min_length=1, json_schema_extra={"format": "date-time"})]
Seconds = Annotated[float | None, Query(ge=0, le=10**9)]
Attempt = Annotated[int | None, Query(ge=0, le=MOST)]
Offset = Annotated[int, Query(ge=-MOST, le=MOST, description="a negative one counts from the end")]
Lines = Annotated[int | None, Query(ge=0, le=MOST, description="only the last so many lines")]


async def check_query(request: Request) -> None:
    """Raise when the query has what the route does not take, or the same twice: a slip of the pen must not be ignored.

    In the API, that is: what stands in the address of a page is its own business.
    """
    if not request.url.path.startswith("/api/"):
        return
    if request.method not in methods_at(request.url.path):  # a word that is a route of its own stood for a number
        raise HTTPException(405)
    known = {field.alias for field in request.scope["route"].dependant.query_params}
    named = [key for key, _ in request.query_params.multi_items()]
    for key in named:
        if key not in known:
            raise BadRequest(f"no parameter named {key[:100]!r}", f"known: {', '.join(sorted(known)) or 'none'}")
        if named.count(key) > 1:
            raise BadRequest(f"{key} is given twice")
