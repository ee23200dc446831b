"""A sweep: one job, many points. From what was asked to the jobs of it, all checked, none queued. Pure."""

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
"""How many points are looked at before `where` has its say."""

Point = dict[str, str | None]
Texts = str | list[Given]


class Design(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a sweep is made of; kept with it, so that it can be extended."""

    job: JobSpec
    """The job with names in braces; its environment is not kept here."""
    params: dict[str, Texts] = {}
    """By name: `1e-3,1e-4`, `0..4`, `log:1e-5..1e-2`, or a list of values."""
    points: list[dict[str, Given]] = []
    """Rows that were given whole, of a table say; each is combined with every value of the parameters."""
    where: str | None = None
    dir: str | None = None
    samples: int | None = None
    seed: int = 0


def expanded(design: Design) -> list[JobSpec]:
    """The jobs of a sweep, in order, each with its point; raises `BadRequest` in one line."""
    names = parameter_names(design)
    _check_braces(design, names)
    found = list(dict.fromkeys(tuple(point.items()) for point in _wanted(design, names)))
    if not found:
        raise BadRequest("no point is left" if design.where else "the sweep has no points", "-p lr=1e-3,1e-4")
    if len(found) > MAX_POINTS:
        raise BadRequest(f"the sweep has {len(found):,} points, at most {MAX_POINTS:,} are taken", "--where leaves some out")
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
        raise BadRequest(f"{twice[0]} is a column of the table and a parameter too: choose one")
    names += design.params
    upper: dict[str, str] = {}
    for name in names:
        if upper.setdefault(name.upper(), name) != name:
            raise BadRequest(f"{upper[name.upper()]} and {name} would both be ROOST_PARAM_{name.upper()}")
    if not names:
        raise BadRequest("a sweep needs a parameter", "-p lr=1e-3,1e-4")
    return names


def unused(design: Design) -> list[str]:
    """Parameters that stand nowhere, in braces or as a variable: the job finds them in its environment alone."""
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
    """Raise when two points would work in one directory."""
    if design.dir is None:
        return
    seen: dict[str | None, Mapping[str, Any] | None] = {}
    for job in jobs:
        if seen.setdefault(job.cwd, job.point) is not job.point:
            raise BadRequest(
                f"two points would share the directory {job.cwd}", "name every parameter in --dir: runs/{lr}-{seed}"
            )


def extended(design: Design, more: Design) -> tuple[Design, Design]:
    """What `more` adds to a sweep: the design of the further points, and that of the whole from now on.

    A parameter that is given anew takes only the new values, all others all that they have had. New parameters are refused:
    the points that are there would have no value for them.
    """
    known = parameter_names(design)
    for name in (*more.params, *(name for row in more.points for name in row)):
        if name not in known:
            raise BadRequest(f"the sweep has no parameter {name}", f"there are: {', '.join(known)}")
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
    """What people call it: as they said, else after the command."""
    return design.job.name or default_name(design.job)


def command_text(design: Design) -> str:
    """The command with its names in braces, in one line, for people."""
    command = design.job.command
    if isinstance(command, str):
        return command
    return " ".join(f"'{word}'" if not word or any(c.isspace() for c in word) else word for word in command)


def _joined(name: str, old: Texts, new: Texts) -> Texts:
    """Both, each value once; what is drawn by chance is replaced."""
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
            raise BadRequest(f"the sweep has more than {MAX_CANDIDATES:,} points", "fewer values, or fewer parameters")
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
            raise BadRequest(f"row {i + 1} of the table does not name the same parameters as the first", index=i)
        rows.append({name: parameters.spelled(name, [row[name]])[0] for name in names})
    return rows


def _samples(design: Design, random: Mapping[str, Random]) -> list[Point]:
    if not random:
        if design.samples is not None:
            raise BadRequest("--samples is for parameters that are drawn by chance", "-p lr=log:1e-5..1e-2")
        return [{}]
    if design.samples is None:
        raise BadRequest(f"how many values of {next(iter(random))}?", "--samples 20")
    if not 1 <= design.samples <= MAX_CANDIDATES:
        raise BadRequest(f"samples must lie between 1 and {MAX_CANDIDATES:,}, not {design.samples:,}")
    return [
        {name: values.drawn(name, sample, design.seed) for name, values in random.items()}
        for sample in range(design.samples)
    ]


def _texts(design: Design) -> Iterator[tuple[str, str]]:
    """Where names in braces are filled in, and the text there."""
    job = design.job
    for text in [job.command] if isinstance(job.command, str) else job.command:
        yield "the command", text
    for where, named in (("--dir", design.dir), ("--name", job.name), ("--output", job.stdout), ("--error", job.stderr)):
        if named is not None:
            yield where, named


def _check_braces(design: Design, names: list[str]) -> None:
    for where, text in _texts(design):
        for name in names_in(text):
            if name not in names and not (where == "the command" and name in FILLED_BY_NODE):
                raise BadRequest(
                    f"{where} has {{{name}}}, which is no parameter (there are: {', '.join(names)})",
                    f"-p {name}=…, or {{{{{name}}}}} for the braces themselves",
                )


def _has_node_names(job: JobSpec) -> bool:
    words = [job.command] if isinstance(job.command, str) else job.command
    return any(name in FILLED_BY_NODE for word in words for name in names_in(word))
