"""What people may ask, each as a value, and what comes of it. No I/O: a command becomes events, messages and an answer."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Any

import msgspec

from roost.core import events as ev
from roost.core.cluster import NO_CONDITIONS, Node
from roost.core.errors import BadRequest, Conflict, Impossible, NotFound, RoostError
from roost.core.model import RANK_STEP, Conditions, Gpu, GpuRules, Job, Request
from roost.core.placement import Place, Space, impossible, is_named
from roost.core.plan import explain, own_reasons
from roost.core.policy import POLICIES
from roost.core.reasons import Reason, as_data
from roost.core.settings import BadSetting
from roost.core.settings import check as check_setting
from roost.core.spec import JobSpec, changed, check, check_env, default_name
from roost.core.states import ACTIVE, Change, Outcome, State, is_allowed
from roost.server.clock import parse_time_ms
from roost.server.turn import StartRun, Turn, moved
from roost.store.store import pack_env
from roost.store.writes import NewJob


class Command(msgspec.Struct, frozen=True):
    """Something asked of the controller, by somebody."""

    actor: str


class Submit(Command, frozen=True):
    """Queue these jobs, all or none. Answers with their ids."""

    jobs: list[JobSpec]
    envs: list[dict[str, str]] = []
    home: str = "/"
    key: str | None = None
    """Twice under one key is once: a client whose answer was lost asks again."""


class Act(Command, frozen=True):
    """Do that to these jobs, each for itself. Answers with what was done and what was not, and why."""

    action: str
    ids: list[int]
    changes: dict[str, Any] = {}
    grace_s: int | None = None
    signal: str | None = None
    position: int | None = None
    gpu_ids: list[str] = []
    home: str = "/"


class RuleGpus(Command, frozen=True):
    """Disable, drain, rename GPUs, or change their slots."""

    action: str
    gpus: list[str]
    slots: int | None = None
    alias: str | None = None


class Drain(Command, frozen=True):
    """Let nothing new start on these nodes or GPUs, or open them again."""

    targets: list[str]
    undrain: bool = False


class Change_(Command, frozen=True, tag="set"):
    """Change settings, all or none."""

    values: dict[str, Any]


class SwitchScheduling(Command, frozen=True):
    paused: bool


class Ask(Command, frozen=True):
    """Would these start? Nothing is queued."""

    jobs: list[JobSpec]


def obey(turn: Turn, command: Command) -> Any:
    """Carry out a command inside a round. Raises `RoostError`, having recorded nothing, when it is refused."""
    return _OBEY[type(command)](turn, command)


# -- submitting -----------------------------------------------------------------------------------------------------


def _submit(turn: Turn, command: Submit) -> dict[str, Any]:
    if command.key is not None:
        made = turn.submissions.get(command.key) or turn.memory.submission(command.key)
        if made is not None:
            return {"ids": list(range(made[0], made[0] + made[1]))}
    envs = [_kept_env(turn, env) for env in command.envs]
    checked = [_checked(turn, command, i, spec, envs) for i, spec in enumerate(command.jobs)]
    if command.key is not None:
        turn.submissions[command.key] = (turn.last_job + 1, len(checked))
    return {"ids": [_queue(turn, command.actor, *parts) for parts in checked]}


Checked = tuple[JobSpec, Request, Conditions, str | None]


def _checked(turn: Turn, command: Submit, index: int, spec: JobSpec, envs: list[str]) -> Checked:
    """A spec that may be queued, with its parts; raises naming its position."""
    check(spec, index)
    try:
        request = spec.request()
        if (never := _never(turn, request)) is not None:
            raise never
        begin_ms = parse_time_ms(spec.begin_at) if spec.begin_at else None
        conditions = _open_conditions(turn, spec.conditions(begin_ms))
        env, digest = spec.env, None
        if isinstance(env, int):
            if not 0 <= env < len(envs):
                raise BadRequest(f"env {env} names none of the {len(envs)} environments sent")
            digest = envs[env]
        elif env is not None:
            digest = _kept_env(turn, env)
        if spec.cwd is None:
            spec = msgspec.structs.replace(spec, cwd=command.home)
        return spec, request, conditions, digest
    except RoostError as error:
        error.index = index
        raise


def _never(turn: Turn, request: Request) -> RoostError | None:
    """Why such a request can never run; looked up once a round."""
    if request not in turn.never:
        found = impossible(turn.cluster, request)
        turn.never[request] = Impossible(found.message, found.hint) if found else None
    return turn.never[request]


def _open_conditions(turn: Turn, conditions: Conditions) -> Conditions:
    """What is still to wait for; refuses what can never come."""
    left = []
    for dependency in conditions.after:
        if not turn.exists(dependency.job):
            raise Impossible(f"there is no job {dependency.job} to wait for", "roost ls --all")
        outcome = turn.outcome_of(dependency.job)
        if outcome is None:
            left.append(dependency)
        elif not dependency.is_met_by(outcome):
            raise Impossible(
                f"job {dependency.job} has already ended as {outcome.value}: that will never be a {dependency.wants}"
            )
    begin_ms = conditions.begin_ms
    if begin_ms is not None and begin_ms <= turn.now_ms:
        begin_ms = None
    return Conditions(tuple(left), begin_ms)


def _kept_env(turn: Turn, env: dict[str, str]) -> str:
    """The digest under which the environment is kept; equal ones are kept once."""
    check_env(env)
    packed = pack_env(env)
    digest = blake2b(packed, digest_size=16).hexdigest()
    turn.envs[digest] = packed
    return digest


def _queue(turn: Turn, user: str, spec: JobSpec, request: Request, conditions: Conditions, env: str | None) -> int:
    job_id = turn.next_id()
    job = Job(job_id, turn.shaped(user, spec.priority, request), job_id * RANK_STEP, turn.now_ms)
    turn.new[job_id] = kept(spec, env)
    turn.record(ev.Submitted(job_id, turn.now_ms, job, conditions, spec.hold))
    return job_id


def kept(spec: JobSpec, env: str | None) -> NewJob:
    """A spec as the store keeps it: without the environment."""
    name = spec.name or default_name(spec)
    bare = msgspec.structs.replace(spec, env=None) if spec.env is not None else spec
    return NewJob(name, msgspec.json.encode(bare), tuple(dict.fromkeys(spec.labels)), env)


def _ask(turn: Turn, command: Ask) -> dict[str, Any]:
    """What would happen, from the same code that decides."""
    answers = []
    for i, spec in enumerate(command.jobs):
        _, request, conditions, _ = _checked(
            turn, Submit(command.actor, command.jobs), i, msgspec.structs.replace(spec, env=None), []
        )
        job = Job(0, turn.shaped(command.actor, spec.priority, request), turn.last_job * RANK_STEP, turn.now_ms)
        answers.append(_would(turn, job, request, conditions, spec.hold))
    return {"jobs": answers}


def _would(turn: Turn, job: Job, request: Request, conditions: Conditions, hold: bool) -> dict[str, Any]:
    cluster = turn.cluster
    cluster.conditions[0] = conditions
    if hold:
        cluster.held.add(0)
    try:
        own = list(own_reasons(cluster, job, turn.now_ms))
        place = Space(cluster).place(request)
        waits: list[Reason] = (
            list(explain(cluster, job, turn.now_ms)) if own or cluster.is_paused or not isinstance(place, Place) else []
        )
    finally:
        del cluster.conditions[0]
        cluster.held.discard(0)
    if waits or not isinstance(place, Place):
        return {"would": "wait", "gpus": [], "reasons": [as_data(r) for r in waits]}
    gpus = cluster.nodes[place.node].gpus
    return {"would": "start", "node": place.node, "gpus": [gpus[u].index for u in place.gpus], "reasons": []}


# -- acting on jobs -------------------------------------------------------------------------------------------------


class _Skip(Exception):
    """That job is left as it is; the reason says why."""

    def __init__(self, reason: str, code: str = "conflict") -> None:
        super().__init__(reason)
        self.code = code


def _act(turn: Turn, command: Act) -> dict[str, Any]:
    action = ACTIONS.get(command.action)
    if action is None:
        raise BadRequest(f"no action named {command.action!r}; known: {', '.join(ACTIONS)}")
    done: list[int] = []
    skipped: list[dict[str, Any]] = []
    answer: dict[str, Any] = {"done": done, "skipped": skipped}
    for job in command.ids:
        try:
            made = action(turn, job, command)
            done.append(job)
            if made is not None:
                answer.setdefault("ids", []).append(made)
        except _Skip as skip:
            skipped.append({"id": job, "code": skip.code, "reason": str(skip)})
        except RoostError as error:
            if len(command.ids) == 1:
                raise
            skipped.append({"id": job, "code": error.code, "reason": error.message})
    return answer


def _known(turn: Turn, job: int) -> State:
    state = turn.cluster.state_of(job)
    if state is None:
        if not turn.exists(job):
            raise _Skip(f"there is no job {job}", "not_found")
        return State.ENDED
    return state


def _kill(turn: Turn, job: int, command: Act) -> None:
    state = _known(turn, job)
    if state is State.ENDED:
        raise _Skip("it has already ended")
    if command.signal is not None:
        if state not in ACTIVE:
            raise _Skip(f"it is {state.value}: there is no process to signal")
        active = turn.cluster.active[job]
        turn.send(active.node, "signal", run=active.run, signal=command.signal)
        return
    _stop(turn, job, state, "kill", command)


def _stop(turn: Turn, job: int, state: State, why: str, command: Act) -> None:
    """End it: a waiting job at once, a running one when nothing of it is left."""
    if state in ACTIVE:
        active = turn.cluster.active[job]
        turn.record(ev.StopAsked(job, turn.now_ms, why), command.actor)
        grace = own_grace_ms(turn, job) if command.grace_s is None else command.grace_s * 1000
        turn.send(active.node, "stop", run=active.run, why=why, grace_ms=grace)
    else:
        turn.end(ev.Ended(job, turn.now_ms, Outcome.KILLED, None, "ended before it started"), command.actor)


def own_grace_ms(turn: Turn, job: int) -> int:
    """The time between TERM and KILL that the job asked for, else that of the settings."""
    spec, _ = _spec_of(turn, job)
    return 1000 * (spec.grace_s if spec.grace_s is not None else int(turn.cluster.number("job.grace_s")))


def _pause(turn: Turn, job: int, command: Act) -> None:
    state = _known(turn, job)
    if state is State.PAUSED:
        raise _Skip("it is already paused")
    if not is_allowed(state, Change.PAUSE):
        raise _Skip(
            f"it is {state.value}: only a running job can be paused"
            + (" (`roost hold` keeps a queued one)" * (state is State.QUEUED))
        )
    active = turn.cluster.active[job]
    turn.record(ev.Paused(job, turn.now_ms), command.actor)
    turn.send(active.node, "pause", run=active.run)


def _resume(turn: Turn, job: int, command: Act) -> None:
    state = _known(turn, job)
    if not is_allowed(state, Change.RESUME):
        raise _Skip(
            f"it is {state.value}: only a paused job can be resumed"
            + (" (`roost release` frees a held one)" * (state is State.HELD))
        )
    active = turn.cluster.active[job]
    turn.record(ev.Resumed(job, turn.now_ms), command.actor)
    turn.send(active.node, "resume", run=active.run)


def _hold(turn: Turn, job: int, command: Act) -> None:
    state = _known(turn, job)
    if state is State.HELD:
        raise _Skip("it is already held")
    if not is_allowed(state, Change.HOLD):
        raise _Skip(f"it is {state.value}: only a queued job can be held")
    turn.record(ev.JobHeld(job, turn.now_ms), command.actor)


def _release(turn: Turn, job: int, command: Act) -> None:
    state = _known(turn, job)
    if not is_allowed(state, Change.RELEASE):
        raise _Skip(f"it is {state.value}: only a held job can be released")
    turn.record(ev.Released(job, turn.now_ms), command.actor)


def _rerun(turn: Turn, job: int, command: Act) -> None:
    state = _known(turn, job)
    if state is not State.ENDED:
        raise _Skip(f"it is {state.value}: only an ended job can be run again (`roost clone` makes a new one)")
    row = turn.row(job)
    outcome = turn.outcome_of(job)
    if row is None or outcome is None or row.outcome is None:
        raise _Skip("it ended this very moment: try again")
    request = turn.interned.request(row.request)
    if (never := _never(turn, request)) is not None:
        raise _Skip(never.message, never.code)
    rank = turn.last_job * RANK_STEP + turn.now_ms % (RANK_STEP // 2)
    again = Job(job, turn.shaped(row.user, row.priority, request), rank, row.submitted_ms, row.attempts)
    turn.record(ev.Rerun(job, turn.now_ms, again, Conditions(), outcome), command.actor)


def _rm(turn: Turn, job: int, command: Act) -> None:
    state = _known(turn, job)
    if state in ACTIVE:
        _stop(turn, job, state, "rm", command)
        return
    if state is not State.ENDED:
        _stop(turn, job, state, "rm", command)
    remove(turn, job, command.actor)


def _forget(turn: Turn, job: int, command: Act) -> None:
    """Archived: the job goes, what it wrote stays."""
    if _known(turn, job) is not State.ENDED:
        raise _Skip("only an ended job can be archived")
    _drop(turn, job, command.actor)


def _drop(turn: Turn, job: int, actor: str | None) -> int:
    row, outcome = turn.row(job), turn.outcome_of(job)
    turn.record(ev.Removed(job, turn.now_ms, outcome or Outcome.KILLED), actor)
    turn.ended.pop(job, None)
    turn.removed.add(job)
    return row.attempts if row else 0


def remove(turn: Turn, job: int, actor: str | None) -> None:
    """Forget an ended job, its attempts and their directories."""
    attempts = _drop(turn, job, actor)
    runs = [f"{job}.{n}" for n in range(1, attempts + 1)]
    if runs:
        for node in turn.cluster.nodes:
            turn.send(node, "remove", runs=runs)


def _move(turn: Turn, job: int, command: Act) -> None:
    """To that place of the whole queue; it takes on the priority that rules there."""
    if _known(turn, job) not in (State.QUEUED, State.HELD):
        raise _Skip("only a waiting job has a place in the queue")
    if command.position is None or command.position < 0:
        raise BadRequest("move needs a position: 0 is the front")
    this = turn.cluster.jobs[job]
    others = [entry for entry in turn.memory.queue_head(command.position + 2) if entry[0] != job]
    others = [e for e in others if e[0] in turn.cluster.jobs][: command.position + 1]
    before = (
        others[command.position - 1]
        if 0 < command.position <= len(others)
        else (others[-1] if command.position and others else None)
    )
    behind = others[command.position] if command.position < len(others) else None
    priority, rank = _between(before, behind, this)
    turn.record(
        ev.Moved(job, turn.now_ms, moved(this, turn.shaped(this.shape.user, priority, this.shape.request), rank)),
        command.actor,
    )


def _between(before: tuple[int, int, int] | None, behind: tuple[int, int, int] | None, this: Job) -> tuple[int, int]:
    if before is None and behind is None:
        return this.shape.priority, this.rank
    if before is None and behind is not None:
        return behind[1], behind[2] - RANK_STEP
    assert before is not None
    if behind is None or behind[1] != before[1]:
        return before[1], before[2] + (RANK_STEP >> 8)
    if behind[2] - before[2] < 2:
        raise _Skip("there is no room left between these two: move to a neighbouring place")
    return before[1], (before[2] + behind[2]) // 2


def _start(turn: Turn, job: int, command: Act) -> None:
    """Force a start: past the order, holds, times and a paused scheduler; on the emptiest GPUs when none is free."""
    state = _known(turn, job)
    if not is_allowed(state, Change.INTEND):
        raise _Skip(f"it is {state.value}: only a waiting job can be started")
    waiting = turn.cluster.jobs[job]
    request = waiting.shape.request
    if command.gpu_ids:
        request = msgspec.structs.replace(
            request, gpu_ids=tuple(command.gpu_ids), gpus=max(request.gpus, len(command.gpu_ids))
        )
    if (never := impossible(turn.cluster, request)) is not None:
        raise _Skip(never.message, "impossible")
    place = Space(turn.cluster).place(request)
    if not isinstance(place, Place):
        place = _forced(turn, request)
    intend(turn, waiting, place, command.actor)


def _forced(turn: Turn, request: Request) -> Place:
    """The GPUs that are emptiest, whoever holds them."""
    space = Space(turn.cluster)
    for _, node in sorted(turn.cluster.nodes.items()):
        if not node.attached:
            continue
        usable = [g for g in node.gpus.values() if _may_be_forced(turn, node, g, request)]
        if len(usable) >= request.gpus:
            usable.sort(key=lambda g: (-space.free_mib(g), len(space.claims(g.uuid)), g.index))
            return Place(node.name, tuple(g.uuid for g in usable[: request.gpus]))
    raise _Skip("no node that could run it can be reached now")


def _may_be_forced(turn: Turn, node: Node, gpu: Gpu, request: Request) -> bool:
    """Named when names were given; never one that is disabled or does not work."""
    seen = turn.cluster.seen.get(gpu.uuid)
    if turn.cluster.rules_of(gpu.uuid).disabled or (seen is not None and seen.fault is not None):
        return False
    return not request.gpu_ids or is_named(turn.cluster, node, gpu, request.gpu_ids)


def intend(turn: Turn, job: Job, place: Place, actor: str | None = None) -> None:
    """Record that the job will start there. The node is told after the commit, under this attempt."""
    attempt = job.attempts + 1
    gpus = turn.cluster.nodes[place.node].gpus
    indices = tuple(gpus[uuid].index for uuid in place.gpus)
    turn.record(ev.StartIntended(job.id, turn.now_ms, attempt, place.node, place.gpus, indices), actor)
    turn.starts.append(StartRun(place.node, job.id, attempt))


def _edit(turn: Turn, job: int, command: Act) -> None:
    if _known(turn, job) not in (State.QUEUED, State.HELD):
        raise _Skip("only a waiting job can be edited (`roost clone` makes a new one)")
    spec, env = _spec_of(turn, job)
    this = turn.cluster.jobs[job]
    spec, request, conditions, digest = _edited(turn, _without_met(turn, job, spec), command)
    if _leads_to(turn, conditions, job):
        raise Impossible(f"job {job} would wait for itself", f"roost why {job}")
    shape = turn.shaped(this.shape.user, spec.priority, request)
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


def _clone(turn: Turn, job: int, command: Act) -> int:
    is_held = _known(turn, job) is State.HELD
    spec, env = _spec_of(turn, job)
    spec, request, conditions, digest = _edited(
        turn, msgspec.structs.replace(spec, after=(), after_any=(), after_fail=(), begin_at=None, hold=is_held), command
    )
    return _queue(turn, command.actor, spec, request, conditions, digest or env)


def _spec_of(turn: Turn, job: int) -> tuple[JobSpec, str | None]:
    if job in turn.new:
        return msgspec.json.decode(turn.new[job].spec, type=JobSpec), turn.new[job].env
    row = turn.row(job)
    if row is None:
        raise _Skip(f"there is no job {job}", "not_found")
    spec = row.decoded()
    if row.priority != spec.priority:
        spec = msgspec.structs.replace(spec, priority=row.priority)
    return spec, f"#{row.env}" if row.env is not None else None


def _edited(turn: Turn, spec: JobSpec, command: Act) -> Checked:
    try:
        spec = changed(spec, command.changes)
    except (msgspec.ValidationError, TypeError) as error:
        raise BadRequest(str(error)) from None
    return _checked(turn, Submit(command.actor, [], [], command.home), 0, spec, [])


ACTIONS: dict[str, Callable[[Turn, int, Act], int | None]] = {
    "kill": _kill,
    "pause": _pause,
    "resume": _resume,
    "hold": _hold,
    "release": _release,
    "rerun": _rerun,
    "rm": _rm,
    "forget": _forget,
    "move": _move,
    "start": _start,
    "edit": _edit,
    "clone": _clone,
}


# -- the box --------------------------------------------------------------------------------------------------------


def _rule_gpus(turn: Turn, command: RuleGpus) -> dict[str, Any]:
    changes: dict[str, Callable[[GpuRules], GpuRules]] = {
        "disable": lambda r: msgspec.structs.replace(r, disabled=True),
        "enable": lambda r: msgspec.structs.replace(r, disabled=False),
        "drain": lambda r: msgspec.structs.replace(r, drained=True),
        "undrain": lambda r: msgspec.structs.replace(r, drained=False),
        "release": lambda r: msgspec.structs.replace(r, disabled=False, drained=False),
        "set": lambda r: _set_rules(r, command),
    }
    if command.action not in changes:
        raise BadRequest(f"no action named {command.action!r}; known: {', '.join(changes)}")
    uuids = [uuid for name in command.gpus for uuid in _gpus_named(turn, name)]
    if command.alias and len(uuids) != 1:
        raise BadRequest("a name is for one GPU")
    if command.action == "set":
        _check_rules(turn, command)
    for uuid in uuids:
        turn.record(ev.GpuRuled(uuid, changes[command.action](turn.cluster.rules_of(uuid))), command.actor)
    return {"done": uuids}


def _set_rules(rules: GpuRules, command: RuleGpus) -> GpuRules:
    if command.slots is not None:
        rules = msgspec.structs.replace(rules, slots=command.slots)
    if command.alias is not None:
        rules = msgspec.structs.replace(rules, alias=command.alias or None)
    return rules


def _check_rules(turn: Turn, command: RuleGpus) -> None:
    if command.slots is not None and not 1 <= command.slots <= 1000:
        raise BadRequest(f"slots must lie between 1 and 1,000, not {command.slots}")
    if command.alias and (command.alias.isdigit() or "," in command.alias or not command.alias.isprintable()):
        raise BadRequest(f"not a name for a GPU: {command.alias!r}")
    taken = {rules.alias for rules in turn.cluster.rules.values()}
    if command.alias and command.alias in taken:
        raise Conflict(f"a GPU named {command.alias} is there already")


def _gpus_named(turn: Turn, name: str) -> list[str]:
    every = name == "all"
    found = [gpu.uuid for node, gpu in turn.cluster.gpus() if every or is_named(turn.cluster, node, gpu, (name,))]
    if not found:
        raise NotFound(f"there is no GPU {name}", "roost gpus")
    return found


def _drain(turn: Turn, command: Drain) -> dict[str, Any]:
    nodes = [target for target in command.targets if target in turn.cluster.nodes]
    gpus = [uuid for target in command.targets if target not in nodes for uuid in _gpus_named(turn, target)]
    for node in nodes:
        turn.record(ev.NodeDrained(node, not command.undrain), command.actor)
    for uuid in gpus:
        rules = msgspec.structs.replace(turn.cluster.rules_of(uuid), drained=not command.undrain)
        turn.record(ev.GpuRuled(uuid, rules), command.actor)
    return {"done": [*nodes, *gpus]}


def _set(turn: Turn, command: Change_) -> dict[str, Any]:
    try:
        values = {key: check_setting(key, value) for key, value in command.values.items()}
    except BadSetting as error:
        raise BadRequest(str(error), "roost set") from None
    policy = values.get("policy")
    if policy is not None and policy not in POLICIES:
        raise BadRequest(f"no policy named {policy!r}; there are: {', '.join(POLICIES)}")
    for key, value in values.items():
        turn.record(ev.SettingChanged(key, value), command.actor)
        if key == "node.sample_ms":
            for node in turn.cluster.nodes:
                turn.send(node, "configure", sample_ms=value)
    return {"done": values}


def _switch(turn: Turn, command: SwitchScheduling) -> dict[str, Any]:
    turn.record(ev.SchedulingSwitched(command.paused), command.actor)
    return {"paused": command.paused}


_OBEY: dict[type[Command], Callable[[Turn, Any], Any]] = {
    Submit: _submit,
    Ask: _ask,
    Act: _act,
    RuleGpus: _rule_gpus,
    Drain: _drain,
    Change_: _set,
    SwitchScheduling: _switch,
}
