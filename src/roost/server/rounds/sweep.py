"""Sweeps: their points are queued all or none, extended by what is missing, limited; and jobs report their results."""

from collections.abc import Iterator
from typing import Any

import msgspec

from roost.answers.sweeps import PlannedPoint, ResultsKept, SweepLimited, SweepMade, SweepPlanned
from roost.core import events as ev
from roost.core import results
from roost.core.accounts import SERVER_ACCOUNT
from roost.core.errors import BadRequest, Conflict, NotFound, NotPermitted
from roost.core.results import MAX_KEYS
from roost.core.spec import JobSpec, display_command
from roost.core.sweeps.points import Design, check_directories, expanded, extended, sweep_name, unused
from roost.server.rounds.actions import check_own, spec_of
from roost.server.rounds.commands import Command, LimitSweep, MakeSweep, Report
from roost.server.rounds.quotas import check_rooms
from roost.server.rounds.submit import check_owner, check_preferred, checked, kept_envs, made_before, queue_job, remember_key
from roost.server.rounds.turn import Turn
from roost.store import reads
from roost.store.rows import ResultRow, SweepRow
from roost.store.writes import EnvRef, KeptEnv

MAX_RUNNING = 1_000_000


def make_sweep(turn: Turn, command: MakeSweep) -> SweepMade | SweepPlanned:
    """Queue the points, all or none; twice under one key is once. Answers with the sweep's id and those of its jobs."""
    check_limit(command.max_running)
    check_owner(command, command.design.job)
    if command.sweep is None:
        check_preferred(turn, command.design.job)
    if (ids := made_before(turn, command)) is not None:
        return SweepMade(sweep=_sweep_of(turn, ids[0]), ids=ids, unused=unused(command.design))
    envs = [] if command.dry_run else kept_envs(turn, command)
    number = command.sweep or turn.next_sweep()
    jobs, design, env = _further(turn, command) if command.sweep else (command.jobs, command.design, None)
    specs = [msgspec.structs.replace(job, sweep=number, env=None if command.dry_run else job.env) for job in jobs]
    parts = [checked(turn, command, i, spec, envs) for i, spec in enumerate(specs)]
    if command.dry_run:
        return SweepPlanned(points=[_planned(spec) for spec, *_ in parts], dir=design.dir, unused=unused(design))
    check_rooms(turn, [spec.user or command.actor for spec, *_ in parts])
    remember_key(turn, command, len(parts))
    if parts:
        _keep(turn, command, number, design)
    made = [queue_job(turn, command, spec, request, wait, own or env) for spec, request, wait, own in parts]
    return SweepMade(sweep=number, ids=made, unused=unused(design))


def expand(design: Design, into: Design | None = None) -> tuple[Design, list[JobSpec]]:
    """The design to be kept and the jobs, of a new sweep or of what is added `into` another. Too slow for a round."""
    if into is None:
        return design, expanded(design)
    further, whole = extended(into, design)
    return whole, expanded(further)


def limit_sweep(turn: Turn, command: LimitSweep) -> SweepLimited:
    """Change how many of its jobs may run at once; what runs, runs on."""
    check_limit(command.max_running)
    _own(turn, command, command.sweep)
    turn.record(ev.GroupLimited(command.sweep, command.max_running), command.actor)
    return SweepLimited(sweep=command.sweep, max_running=command.max_running)


def report(turn: Turn, command: Report) -> ResultsKept:
    """Keep what a job says of itself; the last word on a key stands, and an attempt that is over has no word."""
    values = results.check(command.results)
    if not turn.exists(command.job):
        raise NotFound(f"there is no job {command.job}", "roost ls --all")
    check_own(turn, command, command.job)
    keys = turn.reported(command.job).keys() | values.keys()
    if len(keys) > MAX_KEYS:
        raise BadRequest(f"job {command.job} would have {len(keys)} results, at most {MAX_KEYS} are kept")
    attempt = _last_attempt(turn, command.job)
    if command.attempt not in (None, attempt):
        raise Conflict(f"job {command.job} is at attempt {attempt}: what attempt {command.attempt} says is not taken")
    for key, value in values.items():
        turn.keep(ResultRow(command.job, key, msgspec.json.encode(value).decode(), attempt, turn.now_ms))
    return ResultsKept(id=command.job, results=values)


def check_limit(max_running: int | None) -> None:
    """Raise unless so many can run at once."""
    if max_running is not None and not 1 <= max_running <= MAX_RUNNING:
        raise BadRequest(
            f"max_running must be between 1 and {MAX_RUNNING:,}, not {max_running:,}", "use `none` for no limit"
        )


def _sweep_of(turn: Turn, job: int) -> int | None:
    """The sweep that a job is of; None when it is gone."""
    return spec_of(turn, job)[0].sweep if turn.exists(job) else None


def _further(turn: Turn, command: MakeSweep) -> tuple[list[JobSpec], Design, EnvRef | None]:
    """The jobs that a sweep does not have yet, its design from now on, and the environment of its jobs."""
    assert command.sweep is not None
    _own(turn, command, command.sweep)
    there = list(_points(turn, command.sweep))
    if not there:
        raise Conflict(
            f"the jobs of sweep {command.sweep} were removed, and their environment with them", "make a new sweep"
        )
    accounts = {job.account for job in turn.read(reads.jobs_of_sweep, command.sweep)}
    if accounts and accounts != {command.owner(command.design.job).account}:
        raise Conflict(f"sweep {command.sweep} runs as another account", "make a new sweep: this one's environment stays")
    points = [spec.point for spec, _ in there]
    known = {_key(point) for point in points}
    row = _known(turn, command.sweep)
    owner = row.user if row.user != command.actor else None  # what is added belongs to the owner of the sweep
    jobs = [msgspec.structs.replace(job, user=owner) for job in command.jobs]
    new = [job for job in jobs if _key(job.point) not in known]
    check_directories(command.design, [*(spec for spec, _ in there), *new])
    return new, command.design, there[-1][1]


def _points(turn: Turn, sweep: int) -> Iterator[tuple[JobSpec, EnvRef | None]]:
    """The jobs of a sweep that are there now, each with the environment that is kept for it."""
    for row in turn.read(reads.jobs_of_sweep, sweep):
        if row.id not in turn.removed:
            yield row.decoded(), KeptEnv(row.env) if row.env is not None else None
    for job in turn.new:
        if turn.exists(job) and (spec := spec_of(turn, job))[0].sweep == sweep:
            yield spec


def _key(point: Any) -> frozenset[tuple[str, str | None]]:
    return frozenset((point or {}).items())


def _known(turn: Turn, sweep: int) -> SweepRow:
    if (row := turn.sweep(sweep)) is None:
        raise NotFound(f"there is no sweep {sweep}", "roost sweep ls")
    return row


def _own(turn: Turn, command: Command, sweep: int) -> None:
    """Raise unless it is the caller's sweep, or they may act on all."""
    row = _known(turn, sweep)
    if command.by.is_admin:
        if isinstance(command, MakeSweep) and not command.by.may_run_as(command.accounts.get(row.user, SERVER_ACCOUNT)):
            raise NotPermitted(
                f"sweep {sweep} runs as the server's own account", "root, on the machine itself, may extend it"
            )
        return
    if row.user != command.by.name:
        raise NotPermitted(f"sweep {sweep} is {row.user}'s", "only its owner and administrators may change it")
    if any(job.account != command.by.account for job in turn.read(reads.jobs_of_sweep, sweep)):
        raise NotPermitted(f"sweep {sweep} runs as another account", "only administrators can change it")


def _keep(turn: Turn, command: MakeSweep, number: int, design: Design) -> None:
    bare = msgspec.structs.replace(design, job=msgspec.structs.replace(design.job, env=None))
    text = msgspec.json.encode(bare).decode()
    if (row := turn.sweep(number)) is not None:
        limit = turn.cluster.groups.get(number)
        turn.sweeps[number] = msgspec.structs.replace(row, design=text, max_running=limit)
        return
    turn.sweeps[number] = SweepRow(
        number, command.owner(design.job).user, sweep_name(design), turn.now_ms, command.max_running, text
    )
    if command.max_running is not None:
        turn.record(ev.GroupLimited(number, command.max_running), command.actor)


def _planned(spec: JobSpec) -> PlannedPoint:
    return PlannedPoint(spec.point, spec.command, display_command(spec), spec.cwd)


def _last_attempt(turn: Turn, job: int) -> int:
    if (active := turn.cluster.active.get(job)) is not None:
        return active.attempt
    row = turn.row(job)
    return row.attempts if row is not None else 0
