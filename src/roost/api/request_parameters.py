"""What may stand in a path or a query, each with its limits: decoding and the OpenAPI document read the same."""

import inspect
import types
from collections.abc import Mapping, Set
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from urllib.parse import parse_qsl

import msgspec
from msgspec import Meta

from roost.core.errors import BadRequest
from roost.core.users import MAX_NAME, NAME_PATTERN
from roost.server.views.selection import IDS_PATTERN, MAX_SEARCH, NAMES, SEARCH_PATTERN
from roost.store.listing import CURSOR_PATTERN, SORTS

MAX_PAGE = 10_000
MAX_WEEKS = 520
MAX_NUMBER = 1 << 53
"""The largest whole number that every reader of JSON keeps exactly."""
_STATES = "|".join(sorted(NAMES))


def documented(**schema: Any) -> Meta:
    """A limit for the document only: the code checks it elsewhere, with a better message."""
    return Meta(extra_json_schema=schema)


UserName = Annotated[str, documented(pattern=NAME_PATTERN, maxLength=MAX_NAME)]
TargetId = Annotated[int, Meta(ge=1, le=MAX_NUMBER)]
Ids = Annotated[str, Meta(description="12, 10-20, 12,15, @ (my last), @~2, all"), documented(pattern=IDS_PATTERN)]
SomeIds = Annotated[str, Meta(min_length=1), documented(pattern=IDS_PATTERN)]
States = Annotated[str, Meta(description="states and outcomes"), documented(pattern=f"^,*(({_STATES})(,+|$))*$")]
Listed = Annotated[str, Meta(description="several are separated by commas")]
Search = Annotated[
    str,
    Meta(description="a number, or a part of name, command line, user or label; case does not matter"),
    documented(pattern=SEARCH_PATTERN, maxLength=MAX_SEARCH),
]
Node = Annotated[str, Meta(description="where the last attempt was")] | None
Sort = Annotated[
    str,
    Meta(description="`queue`: active, then waiting in queue order, then ended, the latest first; - from the other end"),
    documented(enum=list(SORTS)),
]
Skip = Annotated[int, Meta(ge=0, le=100_000, description="how many to skip, where there is no cursor")]
Limit = Annotated[int, Meta(ge=1, le=MAX_PAGE)]
JobCursor = Annotated[str, Meta(description="`next` of the last page"), documented(pattern=CURSOR_PATTERN)] | None
RowCursor = Annotated[int, Meta(ge=1, le=MAX_NUMBER, description="`next` of the last page")] | None
Since = Annotated[str, Meta(min_length=1), documented(format="date-time")] | None
Seconds = Annotated[float, Meta(ge=0, le=10**9)] | None
Attempt = Annotated[int, Meta(ge=0, le=MAX_NUMBER)] | None
Offset = Annotated[int, Meta(ge=-MAX_NUMBER, le=MAX_NUMBER, description="a negative one counts from the end")]
Lines = Annotated[int, Meta(ge=0, le=MAX_NUMBER, description="only that many last lines")] | None
LogLines = Annotated[int, Meta(ge=0, le=100_000)]
Scope = Annotated[str, Meta(description="cluster, node:NAME or gpu:UUID"), documented(pattern="^(cluster|(node|gpu):.+)$")]
LanguageName = Literal["en", "zh"]
SpanName = Literal["hour", "day", "week", "month", "year"]
Weeks = Annotated[int, Meta(ge=1, le=MAX_WEEKS, description="how many weeks back, this one included")]
OneUser = Annotated[str, Meta(description="this user only"), documented(pattern=NAME_PATTERN, maxLength=MAX_NAME)] | None


_MUST_BE = {int: "request.whole_number", float: "request.number", bool: "request.true_or_false"}


class Parameter(msgspec.Struct, frozen=True):
    """One of them: its type without None, and its default; `inspect.Parameter.empty` where it is required."""

    name: str
    kind: Any
    default: Any
    is_in_path: bool

    @property
    def is_required(self) -> bool:
        """Whether it must be given."""
        return self.default is inspect.Parameter.empty

    def schema(self) -> dict[str, Any]:
        """What it may be, for the document."""
        found = msgspec.json.schema(self.kind)
        return found if self.is_required or self.default is None else {**found, "default": self.default}

    def wrong(self, value: str) -> BadRequest:
        """What does not fit, in one line."""
        kind, limits = self.kind, {}
        if get_origin(kind) is Annotated:
            kind, *metas = get_args(kind)
            limits = {name: bound for meta in metas for name in ("ge", "le") if (bound := getattr(meta, name)) is not None}
        shown = value[:100]
        try:
            number = float(value)
        except ValueError:
            number = None
        if number is not None and number < limits.get("ge", number):
            return BadRequest("request.least", name=self.name, least=limits["ge"], value=shown)
        if number is not None and number > limits.get("le", number):
            return BadRequest("request.most", name=self.name, most=limits["le"], value=shown)
        if get_origin(kind) is Literal:
            return BadRequest("request.choice", name=self.name, choices=get_args(kind), value=repr(shown))
        return BadRequest(_MUST_BE.get(kind, "request.empty"), name=self.name, value=repr(shown))


class Parameters:
    """The parameters of one route. With `is_strict` an unknown one in the query is refused: a typo must not be ignored.

    What stands in the address of a page is its own business.
    """

    def __init__(self, named: Mapping[str, tuple[Any, Any]], in_path: Set[str], is_strict: bool) -> None:
        self.every = [Parameter(name, _bare(kind), default, name in in_path) for name, (kind, default) in named.items()]
        self._by_name = {one.name: one for one in self.every}
        self._in_query = {one.name for one in self.every if not one.is_in_path}
        self._is_strict = is_strict
        fields = [(one.name, one.kind) if one.is_required else (one.name, one.kind, one.default) for one in self.every]
        self._kind = msgspec.defstruct("Given", fields, kw_only=True)

    def read(self, in_path: dict[str, str], query: bytes) -> dict[str, Any]:
        """Every parameter with its value; `BadRequest` says in one line what does not fit."""
        if not query and not self._by_name:
            return {}
        given = {**in_path, **self._query(query)} if query else in_path
        try:
            return msgspec.structs.asdict(msgspec.convert(given, self._kind, strict=False))
        except msgspec.ValidationError as error:
            name = str(error).rpartition("`$.")[2].rstrip("`")
            if name in self._by_name:
                raise self._by_name[name].wrong(given[name]) from None
            missing = next(one.name for one in self.every if one.is_required and one.name not in given)
            raise BadRequest("request.required", name=missing) from None

    def _query(self, query: bytes) -> dict[str, str]:
        found: dict[str, str] = {}
        for key, value in parse_qsl(query.decode("latin-1"), keep_blank_values=True):
            if key not in self._in_query:
                if not self._is_strict:
                    continue
                code = "request.unknown_parameter" if self._in_query else "request.no_parameters"
                raise BadRequest(code, name=repr(key[:100]), known=sorted(self._in_query))
            if key in found and self._is_strict:
                raise BadRequest("request.twice", name=key)
            found[key] = value
        return found


def _bare(kind: Any) -> Any:
    """The type without None: there is no null in a query, what is left out has its default."""
    if get_origin(kind) not in (Union, types.UnionType):
        return kind
    (found,) = [one for one in get_args(kind) if one is not type(None)]
    return found
