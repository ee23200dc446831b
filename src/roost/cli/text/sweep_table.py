"""The points of a sweep as a table that fits the screen: parameters, job, state, time, results. Pure.

Columns that do not fit are dropped, constant parameters first and the main results last.
"""

from datetime import datetime

from roost.cli.parse.options import Iterator, Json
from roost.cli.text.job_text import state_colour, state_text, time_text
from roost.cli.text.output import Cell, Column, Screen, clean, cut, table, width_of
from roost.messages.terminal import say

_NO_NUMBERS = ("nan", "inf", "-inf")
_WIDEST = 16
_NARROW_TITLE = 8


class Part:
    """A column of the table: its cells, and its kind: param, result, job, state or time."""

    def __init__(self, kind: str, name: str, cells: "list[str | Cell]", *, right: bool = False) -> None:
        self.kind = kind
        self.name = name
        self.cells = cells
        self.right = right
        self.texts = [cell.text if isinstance(cell, Cell) else clean(cell) for cell in cells]
        self.width = min(max(width_of(self.title), *map(width_of, self.texts)), _WIDEST)

    @property
    def title(self) -> str:
        """The column's title."""
        return clean(self.name.upper())

    @property
    def is_constant(self) -> bool:
        """Whether all points have the same value."""
        return len(self.texts) > 1 and len(set(self.texts)) == 1

    def narrow(self) -> None:
        """Limit the width to that of the values, even if the title is longer."""
        self.width = min(self.width, max(_NARROW_TITLE, *map(width_of, self.texts)))


def table_lines(sweep: Json, now: datetime, shown: Screen) -> "tuple[list[str], list[str]]":
    """The lines of the table, and the names of columns that did not fit."""
    if not sweep["points"]:
        return [say("shown.sweep_empty")], []
    parts = _parts(sweep, now)
    hidden = _hidden(parts, shown.width)
    kept = [part for part in parts if part not in hidden]
    columns = [Column(part.title, right=part.right, most=part.width) for part in kept]
    rows = [[part.cells[at] for part in kept] for at in range(len(sweep["points"]))]
    same = " ".join(
        f"{part.name}={part.texts[0]}" for part in parts if part in hidden and part.is_constant and part.kind != "state"
    )
    missing = [part.name for part in parts if part in hidden and not part.is_constant]
    return [*([cut(say("shown.all_with", values=same), shown.width)] if same else []), *table(columns, rows, shown)], missing


def value_text(value: object) -> str:
    """A parameter's value as text."""
    return "null" if value is None else str(value)


def result_text(value: object) -> str:
    """A result as text, with six digits."""
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else clean(value)


def _parts(sweep: Json, now: datetime) -> list[Part]:
    points = sweep["points"]
    parts = [Part("param", name, [value_text(each["point"].get(name)) for each in points]) for name in sweep["params"]]
    parts.append(Part("job", "job", [str(each["job"]) for each in points], right=True))
    parts.append(Part("state", "state", [Cell(state_text(each), state_colour(each)) for each in points]))
    parts.append(Part("time", "time", [_time(each, now) for each in points], right=True))
    for name in sweep["keys"]:
        values = [each["results"].get(name) for each in points]
        is_text = any(isinstance(value, str) and value not in _NO_NUMBERS for value in values)
        parts.append(Part("result", name, [result_text(value) for value in values], right=not is_text))
    return parts


def _time(point: Json, now: datetime) -> str:
    return "-" if point["state"] in ("queued", "held") else time_text(point, now)


def _hidden(parts: list[Part], width: int) -> list[Part]:
    """The columns to leave out so that the rest fits."""
    hidden: list[Part] = []
    for part in _least_wanted(parts):
        if _total(parts, hidden) <= width:
            break
        if part is None:
            for each in parts:
                each.narrow()
        else:
            hidden.append(part)
    return hidden


def _total(parts: list[Part], hidden: list[Part]) -> int:
    widths = [part.width for part in parts if part not in hidden]
    return sum(widths) + 2 * (len(widths) - 1)


def _least_wanted(parts: list[Part]) -> "Iterator[Part | None]":
    """The columns to drop, in order; None means: narrow the titles."""
    params = [part for part in parts if part.kind == "param"]
    varying = [part for part in params if not part.is_constant] or params[:1]
    results = [part for part in parts if part.kind == "result"]
    (state,) = [part for part in parts if part.kind == "state"]
    (time,) = [part for part in parts if part.kind == "time"]
    yield from (part for part in reversed(params) if part not in varying)
    yield None
    yield time
    if state.is_constant:
        yield state
    yield from (part for part in reversed(results[1:]) if part.is_constant)
    yield from reversed(varying[3:])
    yield from (part for part in reversed(results[3:]) if not part.is_constant)
    yield from reversed(varying[1:3])
    if not state.is_constant:
        yield state
    yield from (part for part in reversed(results[1:3]) if not part.is_constant)
