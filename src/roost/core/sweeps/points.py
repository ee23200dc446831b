"""A sweep: one job, many points. From a design to its jobs, all checked, none queued. Pure."""

import posixpath
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import msgspec

from roost.core.errors import BadRequest
from roost.core.spec import JobSpec, default_name
from roost.core.sweeps import parameters
from roost.core.sweeps.expressions import Condition, number_or_text
from roost.core.sweeps.parameters import FILLED_BY_NODE, Given, Random, Values
from roost.core.sweeps.templates import filled, filled_argv, filled_line, names_in

MAX_POINTS = 10_000
MAX_CANDIDATES = 100_000
"""Points before `where` filters them."""

Point = dict[str, str | None]
Texts = str | list[Given]


class Design(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a sweep is made of; kept with it, so that it can be extended."""

    job: JobSpec
    """The job with names in braces; its environment is not kept here."""
    params: dict[str, Texts] = {}
    """By name: `1e-3,1e-4`, `0..4`, `log:1e-5..1e-2`, or a list of values."""
    points: list[dict[str, Given]] = []
    """Rows of a table; each is combined with every value of the parameters."""
    where: str | None = None
    dir: str | None = None
    samples: int | None = None
    seed: int = 0


def expanded(design: Design) -> list[JobSpec]:
    """The jobs of a sweep, in order, each with its point; raises `BadRequest`."""
    names = parameter_names(design)
    _check_braces(design, names)
    found = list(dict.fromkeys(tuple(point.items()) for point in _wanted(design, names)))
    if not found:
        raise BadRequest("points.none_left" if design.where else "points.none")
    if len(found) > MAX_POINTS:
        raise BadRequest("points.too_many", count=len(found), most=MAX_POINTS)
    jobs = [job_of(design, dict(point)) for point in found]
    check_directories(design, jobs)
    return jobs


def parameter_names(design: Design) -> list[str]:
    """Every parameter, those of the rows first."""
    names = list(dict.fromkeys(name for row in design.points for name in row))
    for name in (*names, *design.params):
        parameters.check_name(name)
    twice = [name for name in names if name in design.params]
    if twice:
        raise BadRequest("points.column_and_parameter", name=twice[0])
    names += design.params
    upper: dict[str, str] = {}
    for name in names:
        if (first := upper.setdefault(name.upper(), name)) != name:
            raise BadRequest("points.same_variable", first=first, second=name, variable=f"ROOST_PARAM_{name.upper()}")
    if not names:
        raise BadRequest("points.no_parameters")
    return names


def unused(design: Design) -> list[str]:
    """Parameters that neither the command nor the script names: the job finds them only in its environment."""
    texts = [text for _, text in _texts(design)] + [design.job.script or ""]
    used = {name for text in texts for name in names_in(text)}
    whole = " ".join(texts)
    return [name for name in parameter_names(design) if name not in used and f"ROOST_PARAM_{name.upper()}" not in whole]


def job_of(design: Design, point: Point) -> JobSpec:
    """The job of one point."""
    job = design.job
    command = filled_line(job.command, point) if isinstance(job.command, str) else filled_argv(job.command, point)
    changes: dict[str, Any] = {"command": command, "point": point, "fill": job.fill or _has_node_names(job)}
    for key in ("name", "stdout", "stderr"):
        if (text := getattr(job, key)) is not None:
            changes[key] = filled(text, point)
    if design.dir is not None:
        changes["cwd"] = posixpath.normpath(posixpath.join(job.cwd or "/", filled(design.dir, point)))
    return msgspec.structs.replace(job, **changes)


def check_directories(design: Design, jobs: list[JobSpec]) -> None:
    """Raise when two points would use the same directory."""
    if design.dir is None:
        return
    seen: dict[str | None, Mapping[str, Any] | None] = {}
    for job in jobs:
        if seen.setdefault(job.cwd, job.point) is not job.point:
            raise BadRequest("points.shared_directory", path=job.cwd)


def extended(design: Design, more: Design) -> tuple[Design, Design]:
    """What `more` adds to a sweep: the design of the further points, and that of the whole from now on.

    A parameter that is given again takes only the new values, every other one keeps all of its values. New parameters are
    refused: existing points would have no value for them.
    """
    known = parameter_names(design)
    for name in (*more.params, *(name for row in more.points for name in row)):
        if name not in known:
            raise BadRequest("points.no_such_parameter", name=name, known=known)
    further = msgspec.structs.replace(
        design,
        params={**design.params, **more.params},
        points=more.points or design.points,
        where=more.where or design.where,
        samples=more.samples or design.samples,
    )
    whole = msgspec.structs.replace(
        further,
        params={name: _joined(name, design.params[name], further.params[name]) for name in further.params},
        points=[*design.points, *more.points],
        where=design.where,
    )
    return further, whole


def sweep_name(design: Design) -> str:
    """Its name as it was given, else after the command."""
    return design.job.name or default_name(design.job)


def command_text(design: Design) -> str:
    """The command with its names in braces, in one line, for people."""
    command = design.job.command
    if isinstance(command, str):
        return command
    return " ".join(f"'{word}'" if not word or any(c.isspace() for c in word) else word for word in command)


def _joined(name: str, old: Texts, new: Texts) -> Texts:
    """Both, each value once; random values are replaced."""
    first, second = _values(name, old), _values(name, new)
    if old == new or isinstance(first, Random) or isinstance(second, Random):
        return new
    return list(dict.fromkeys((*first, *second)))


def _values(name: str, given: Texts) -> Values | Random:
    return parameters.parse(name, given) if isinstance(given, str) else parameters.spelled(name, given)


def _wanted(design: Design, names: list[str]) -> Iterator[Point]:
    """The points for which `where` holds."""
    condition = Condition(design.where, names) if design.where is not None else None
    for point in _candidates(design):
        if condition is None or condition.holds({name: number_or_text(value) for name, value in point.items()}):
            yield point


def _candidates(design: Design) -> Iterator[Point]:
    known = {name: _values(name, given) for name, given in design.params.items()}
    grid = {name: values for name, values in known.items() if not isinstance(values, Random)}
    random = {name: values for name, values in known.items() if isinstance(values, Random)}
    rows = _rows(design)
    samples = _samples(design, random)
    count = len(rows) * len(samples)
    for values in grid.values():
        count *= len(values)
        if count > MAX_CANDIDATES:
            raise BadRequest("points.too_many_candidates", most=MAX_CANDIDATES)
    for row in rows:
        for chosen in product(*grid.values()):
            for drawn in samples:
                point = {**row, **dict(zip(grid, chosen, strict=True)), **drawn}
                yield {name: point[name] for name in (*row, *design.params)}


def _rows(design: Design) -> list[Point]:
    if not design.points:
        return [{}]
    names = tuple(design.points[0])
    rows: list[Point] = []
    for i, row in enumerate(design.points):
        if set(row) != set(names):
            raise BadRequest("points.row_differs", index=i, row=i + 1)
        rows.append({name: parameters.spelled(name, [row[name]])[0] for name in names})
    return rows


def _samples(design: Design, random: Mapping[str, Random]) -> list[Point]:
    if not random:
        if design.samples is not None:
            raise BadRequest("points.samples_without_random")
        return [{}]
    if design.samples is None:
        raise BadRequest("points.samples_missing", name=next(iter(random)))
    if not 1 <= design.samples <= MAX_CANDIDATES:
        raise BadRequest("points.samples_out_of_range", most=MAX_CANDIDATES, value=design.samples)
    return [
        {name: values.drawn(name, sample, design.seed) for name, values in random.items()}
        for sample in range(design.samples)
    ]


def _texts(design: Design) -> Iterator[tuple[str | None, str]]:
    """The texts in which names in braces are filled in, each with its option; None: the command."""
    job = design.job
    for text in [job.command] if isinstance(job.command, str) else job.command:
        yield None, text
    for option, named in (("--dir", design.dir), ("--name", job.name), ("--output", job.stdout), ("--error", job.stderr)):
        if named is not None:
            yield option, named


def _check_braces(design: Design, names: list[str]) -> None:
    for option, text in _texts(design):
        for name in names_in(text):
            if name in names or (option is None and name in FILLED_BY_NODE):
                continue
            if option is None:
                raise BadRequest("points.braces_in_command", name=name, known=names)
            raise BadRequest("points.braces_in_option", option=option, name=name, known=names)


def _has_node_names(job: JobSpec) -> bool:
    words = [job.command] if isinstance(job.command, str) else job.command
    return any(name in FILLED_BY_NODE for word in words for name in names_in(word))
