"""Changing what waits: its place in the queue, what it asks for, or that it waits at all."""

import msgspec

from roost.core import events as ev
from roost.core.cluster import NO_CONDITIONS
from roost.core.errors import BadRequest, Impossible
from roost.core.model import RANK_STEP, Conditions, Gpu, Job, Request
from roost.core.nodes import Node
from roost.core.plan.placement import Place, Space, impossible, is_named
from roost.core.plan.planner import account_closed, own_reasons
from roost.core.plan.retries import MAX_PAUSE_MS
from roost.core.spec import JobSpec, changed
from roost.core.states import Change, State, is_allowed
from roost.server.clock import parse_time_ms
from roost.server.rounds.actions import Skip, known, spec_of
from roost.server.rounds.commands import Act, Submit
from roost.server.rounds.quotas import check_room
from roost.server.rounds.submit import Checked, check_owner, check_preferred, checked, kept, queue_job
from roost.server.rounds.turn import Owner, StartRun, Turn, moved
from roost.store import reads

MAX_PLACES = 1_000_000_000


def move(turn: Turn, job: int, command: Act) -> None:
    """To that place of the whole queue; it takes on the priority that rules there."""
    if known(turn, job) not in (State.QUEUED, State.HELD):
        raise Skip("only a waiting job has a place in the queue")
    if command.position is None or not 0 <= command.position <= MAX_PLACES:
        raise BadRequest(f"move needs a position from 0, the front, to {MAX_PLACES:,}")
    this = turn.cluster.jobs[job]
    others = [entry for entry in turn.read(reads.queue_head, command.position + 2) if entry[0] != job]
    others = [e for e in others if e[0] in turn.cluster.jobs][: command.position + 1]
    before = others[min(command.position, len(others)) - 1] if command.position and others else None
    behind = others[command.position] if command.position < len(others) else None
    priority, rank = _between(before, behind, this)
    turn.record(ev.Moved(job, turn.now_ms, moved(this, turn.reshaped(this.shape, priority=priority), rank)), command.actor)


def _between(before: tuple[int, int, int] | None, behind: tuple[int, int, int] | None, this: Job) -> tuple[int, int]:
    if before is None and behind is None:
        return this.shape.priority, this.rank
    if before is None and behind is not None:
        return behind[1], behind[2] - RANK_STEP
    assert before is not None
    if behind is None or behind[1] != before[1]:
        return before[1], before[2] + (RANK_STEP >> 8)
    if behind[2] - before[2] < 2:
        raise Skip("there is no room left between these two: move to a neighbouring place")
    return before[1], (before[2] + behind[2]) // 2


def force_start(turn: Turn, job: int, command: Act) -> None:
    """Force a start: past the order, holds, times and a paused scheduler; on the emptiest GPUs when none is free."""
    state = known(turn, job)
    if not is_allowed(state, Change.INTEND):
        raise Skip(f"it is {state.value}: only a waiting job can be started")
    waiting = turn.cluster.jobs[job]
    if turn.cluster.recall.doubts(job):
        raise Skip(next(own_reasons(turn.cluster, waiting, turn.now_ms)).text(), "recalling")
    request = waiting.shape.request
    if (closed := account_closed(turn.cluster, waiting.shape)) is not None:
        raise Skip(closed.text(), "account_closed")
    if command.gpu_ids:
        gpus = max(request.gpus, len(command.gpu_ids))
        request = msgspec.structs.replace(request, gpu_ids=tuple(command.gpu_ids), gpus=gpus)
    if (never := impossible(turn.cluster, request)) is not None:
        raise Skip(str(never), "impossible")
    place = Space(turn.cluster).place(request)
    if not isinstance(place, Place):
        place = _forced(turn, request)
    intend(turn, waiting, place, command.actor)


def _forced(turn: Turn, request: Request) -> Place:
    """The GPUs with the most room, also those that others use."""
    space = Space(turn.cluster)
    for _, node in sorted(turn.cluster.nodes.items()):
        if not node.attached or (request.nodes and node.name not in request.nodes):
            continue
        usable = [g for g in node.gpus.values() if _may_be_forced(turn, node, g, request)]
        if len(usable) >= request.gpus:
            usable.sort(key=lambda g: (-space.free_mib(g), len(space.claims(g.uuid)), g.index))
            return Place(node.name, tuple(g.uuid for g in usable[: request.gpus]))
    raise Skip("no node that could run it can be reached now")


def _may_be_forced(turn: Turn, node: Node, gpu: Gpu, request: Request) -> bool:
    """Named when names were given, and as was asked; never one that is disabled, does not work or is another Roost's."""
    seen = turn.cluster.seen.get(gpu.uuid)
    if turn.cluster.rules_of(gpu.uuid).disabled or (seen is not None and (seen.fault or seen.claimed_by)):
        return False
    if gpu.mem_mib < (request.min_gpu_mem_mib or 0):
        return False
    if request.models and not any(model.lower() in gpu.model.lower() for model in request.models):
        return False
    return not request.gpu_ids or is_named(turn.cluster, node, gpu, request.gpu_ids)


def edit(turn: Turn, job: int, command: Act) -> None:
    """Change what it asks or runs; its age stays."""
    if known(turn, job) not in (State.QUEUED, State.HELD):
        raise Skip("only a waiting job can be edited (`roost clone` makes a new one)")
    if "user" in command.changes:
        raise BadRequest("whose job it is cannot be changed", f"roost clone {job} --owner NAME")
    spec, env = spec_of(turn, job)
    this = turn.cluster.jobs[job]
    asked = spec.request()
    spec, request, conditions, digest = _edited(turn, _without_met(turn, job, spec), command)
    if request == asked:  # a retry that is to be alone stays so, unless the change is about GPUs
        request = this.shape.request
    if _leads_to(turn, conditions, job):
        raise Impossible(f"job {job} would wait for itself", f"roost why {job}")
    shape = turn.shaped(Owner(this.shape.user, this.shape.account), spec, request)
    turn.new[job] = kept(spec, digest or env)
    turn.record(ev.Edited(job, turn.now_ms, moved(this, shape, this.rank), conditions), command.actor)


def _without_met(turn: Turn, job: int, spec: JobSpec) -> JobSpec:
    """The spec without the dependencies that were met: those jobs may be gone, or run again."""
    waits = {d.job for d in turn.cluster.conditions.get(job, NO_CONDITIONS).after}
    left = {name: tuple(j for j in getattr(spec, name) if j in waits) for name in ("after", "after_any", "after_fail")}
    return msgspec.structs.replace(spec, **left)


def _leads_to(turn: Turn, conditions: Conditions, job: int) -> bool:
    """Whether what is waited for waits, directly or by others, for that job."""
    ahead, seen = [d.job for d in conditions.after], set[int]()
    while ahead:
        other = ahead.pop()
        if other == job:
            return True
        if other not in seen:
            seen.add(other)
            ahead += [d.job for d in turn.cluster.conditions.get(other, NO_CONDITIONS).after]
    return False


def clone(turn: Turn, job: int, command: Act) -> int:
    """Queue a copy with changes; answers with its id."""
    is_held = known(turn, job) is State.HELD
    spec, env = spec_of(turn, job)
    owner = turn.owner(job)
    assert owner is not None
    accounts = {command.actor: command.by.account, owner.user: owner.account, **command.accounts}
    asked = Submit(command.actor, [], [], command.home, accounts=accounts, by=command.by)
    # A copy belongs to the owner of the job, also when an administrator makes it.
    spec = msgspec.structs.replace(spec, user=owner.user if owner.user != command.actor else None)
    spec, request, conditions, digest = _edited(
        turn,
        msgspec.structs.replace(spec, after=(), after_any=(), after_fail=(), begin_at=None, hold=is_held, sweep=None),
        command,
    )
    check_owner(asked, spec)
    if asked.owner(spec) != owner and digest is None:
        env = None  # nobody is given another's environment
    check_room(turn, asked.owner(spec).user)
    return queue_job(turn, asked, spec, request, conditions, digest or env)


def _edited(turn: Turn, spec: JobSpec, command: Act) -> Checked:
    if not command.changes.keys().isdisjoint(("sweep", "point")):
        raise BadRequest("sweep and point are set by the server")
    try:
        spec = changed(spec, command.changes)
    except (msgspec.ValidationError, TypeError) as error:
        raise BadRequest(str(error)) from None
    if "prefer_nodes" in command.changes:
        check_preferred(turn, spec)
    return checked(turn, Submit(command.actor, [], [], command.home, by=command.by), 0, spec, [])


def intend(turn: Turn, job: Job, place: Place, actor: str | None = None, granted_mib: int | None = None) -> None:
    """Record that the job will start there. The node is told after the commit, under this attempt."""
    attempt = job.attempts + 1
    gpus = turn.cluster.nodes[place.node].gpus
    indices = tuple(gpus[uuid].index for uuid in place.gpus)
    rest = (indices, granted_mib, turn.nonce())
    turn.record(ev.StartIntended(job.id, turn.now_ms, attempt, place.node, place.gpus, *rest), actor)
    turn.starts.append(StartRun(place.node, job.id, attempt))


def shorten_pauses(turn: Turn) -> None:
    """After a start: a pause before a further attempt is no longer than any may be, though the clock was set back since.

    A time that a person named stays.
    """
    last_ms, cluster = turn.now_ms + MAX_PAUSE_MS, turn.cluster
    for job, conditions in list(cluster.conditions.items()):
        begin_ms = conditions.begin_ms
        if begin_ms is None or begin_ms <= last_ms or not cluster.jobs[job].attempts:
            continue
        row = turn.row(job)
        named = row.decoded().begin_at if row is not None else None
        if named is None or parse_time_ms(named) != begin_ms:
            turn.record(ev.PauseShortened(job, last_ms))
