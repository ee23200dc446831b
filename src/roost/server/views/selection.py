"""Which jobs are meant: `12`, `10-20`, `12,15`, `@`, `@~2`, `all`, and by label, state or user."""

from typing import Annotated

import msgspec

from roost.core.errors import BadRequest
from roost.core.states import UNKNOWN, Outcome, State
from roost.store.listing import SORTS

HINT = "12, 10-20, 12,15, @ (my last), all"
MAX_IDS, MAX_RANGES = 30_000, 400
"""What a statement of the store can hold."""
_PART = "(@|@~[0-9]{1,9}|[0-9]{1,17}(-[0-9]{1,17})?)"
IDS_PATTERN = f"^([ ,]*(all|{_PART}([ ,]+{_PART})*)[ ,]*)?$"
"""What `parse_ids` takes, but for a range that runs backwards."""
MAX_SEARCH = 200
SEARCH_PATTERN = "^[^\\u0000]*$"
"""No job has a NUL in what a search looks in."""
NAMES = frozenset({*(s.value for s in State), *(o.value for o in Outcome), UNKNOWN})


class Select(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A selection as it comes over the API. Every given part must match."""

    ids: Annotated[str, msgspec.Meta(extra_json_schema={"pattern": IDS_PATTERN})] = ""
    labels: tuple[str, ...] = ()
    states: tuple[Annotated[str, msgspec.Meta(extra_json_schema={"enum": sorted(NAMES)})], ...] = ()
    user: str | None = None
    all: bool = False
    sweep: int | None = None
    node: str | None = None
    search: Annotated[str, msgspec.Meta(extra_json_schema={"pattern": SEARCH_PATTERN, "maxLength": MAX_SEARCH})] = ""
    """In its number, name, command line, user or labels."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all was said: that never means everything."""
        narrow = (self.ids, self.labels, self.states, self.user, self.all, self.sweep, self.node, self.search.strip())
        return not any(narrow)

    def state_names(self) -> tuple[str, ...]:
        """The states and outcomes, checked."""
        return check_states(self.states)


def check_states(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names, when each is a state or an outcome."""
    for name in names:
        if name not in NAMES:
            raise BadRequest(f"no state named {name!r}; known: {', '.join(sorted(NAMES))}")
    return names


def check_search(text: str) -> str:
    """The words that are looked for."""
    if len(text) > MAX_SEARCH or "\0" in text:
        raise BadRequest(f"a search has at most {MAX_SEARCH} characters, and no NUL", "--search resnet")
    return text.strip()


def check_sort(sort: str) -> str:
    """The order, when there is such a one."""
    if sort not in SORTS:
        raise BadRequest(f"no order named {sort[:40]!r}", f"one of {', '.join(SORTS)}")
    return sort


def parse_ids(text: str) -> list[tuple[int, int] | int]:
    """Ranges, both ends included, or how far back from the caller's last job; `all` is no restriction."""
    parts = [part for part in text.replace(" ", ",").split(",") if part]
    if parts == ["all"] or not text:
        return []
    if not parts or "all" in parts:
        raise BadRequest(f"not a selection of jobs: {text!r}", HINT)
    found = list(dict.fromkeys(_parse(part) for part in parts))
    spans = sum(isinstance(item, tuple) and item[0] != item[1] for item in found)
    if len(found) > MAX_IDS or spans > MAX_RANGES:
        raise BadRequest(f"{len(found):,} ids and ranges are too many", "name ranges, a label or a state instead")
    return found


def _parse(part: str) -> tuple[int, int] | int:
    if part == "@":
        return 0
    if part.startswith("@~") and part[2:].isdecimal() and len(part) <= 11:
        return int(part[2:])
    first, dash, last = part.partition("-")
    if first.isdecimal() and (not dash or last.isdecimal()) and max(len(first), len(last)) < 18:
        low, high = int(first), int(last) if dash else int(first)
        if low <= high:
            return low, high
    raise BadRequest(f"not a job: {part!r}", HINT)
