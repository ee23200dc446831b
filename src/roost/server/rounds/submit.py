"""Submitting: all are checked before any is queued, and the impossible is refused at once. A dry run asks the same code."""

from hashlib import blake2b

import msgspec

from roost.answers import reasons as reason_answers
from roost.answers.jobs import Submitted, Would
from roost.core import events as ev
from roost.core.cluster import NO_CONDITIONS
from roost.core.errors import BadRequest, Impossible, NotPermitted, RoostError
from roost.core.estimates.forecast import Supposed
from roost.core.model import RANK_STEP, Conditions, Job, Request
from roost.core.plan.placement import Space, impossible, no_such_node
from roost.core.plan.planner import condition_reasons, effective, explain
from roost.core.reasons import Ahead, Reason
from roost.core.spec import JobSpec, check, check_env, default_name, display_command
from roost.server.clock import parse_time_ms
from roost.server.rounds.commands import Ask, Submit
from roost.server.rounds.quotas import check_rooms
from roost.server.rounds.turn import Turn
from roost.store import reads
from roost.store.store import pack_env
from roost.store.writes import EnvRef, KeptEnv, NewEnv, NewJob


def submit(turn: Turn, command: Submit) -> Submitted:
    """Queue the jobs, all or none; twice under one key is once. Answers with the ids."""
    if (ids := made_before(turn, command)) is not None:
        return Submitted(ids, None)
    owners: set[str | None] = set()
    for i, spec in enumerate(command.jobs):
        check_no_point(spec, i)
        if spec.user not in owners:
            check_owner(command, spec, i)
            owners.add(spec.user)
        if spec.prefer_nodes:
            check_preferred(turn, spec, i)
    envs = kept_envs(turn, command)
    parts = [checked(turn, command, i, spec, envs) for i, spec in enumerate(command.jobs)]
    check_rooms(turn, [spec.user or command.actor for spec, *_ in parts])
    remember_key(turn, command, len(parts))
    return Submitted([queue_job(turn, command, *part) for part in parts], None)


def made_before(turn: Turn, command: Submit) -> list[int] | None:
    """The ids that were made under that key of that user; None when it is new."""
    key = _key(command)
    if key is None or (made := turn.submissions.get(key) or turn.read(reads.submission, key)) is None:
        return None
    return list(range(made[0], made[0] + made[1]))


def remember_key(turn: Turn, command: Submit, count: int) -> None:
    """Keep that the next so many ids are made under that key."""
    if (key := _key(command)) is not None and count:
        turn.submissions[key] = (turn.last_job + 1, count)


def _key(command: Submit) -> str | None:
    """The key as it is kept: another user's same key is another key."""
    return None if command.key is None else f"{command.actor}:{command.key}"


def check_owner(command: Submit | Ask, spec: JobSpec, index: int | None = None) -> None:
    """Raise when somebody who is no administrator submits a job for another."""
    if spec.user not in (None, command.actor) and not command.by.is_admin:
        raise NotPermitted(
            f"only an administrator submits jobs for {spec.user}", "leave out --owner: the job is yours then", index
        )
    if isinstance(command, Submit) and not command.by.may_run_as(command.owner(spec).account):
        raise NotPermitted(
            "this job would run as the server's own account, which is not yours",
            "root, on the machine itself, may do that",
            index,
        )


def check_no_point(spec: JobSpec, index: int | None = None) -> None:
    """Raise when somebody calls a job a point of a sweep: only the server does, when it makes the sweep."""
    if spec.sweep is not None or spec.point is not None:
        raise BadRequest("sweep and point are set by the server", "POST /sweeps makes a sweep", index)


def check_preferred(turn: Turn, spec: JobSpec, index: int | None = None) -> None:
    """Raise when somebody prefers a node that is not there: a slip of the pen. One that goes later is no matter."""
    if (missing := no_such_node(turn.cluster, spec.prefer_nodes)) is not None:
        raise Impossible(missing, index=index)


Checked = tuple[JobSpec, Request, Conditions, EnvRef | None]


def checked(turn: Turn, command: Submit, index: int, spec: JobSpec, envs: list[NewEnv]) -> Checked:
    """A spec that may be queued, with its parts; raises naming its position."""
    check(spec, index, turn.sound)
    try:
        _check_priority(turn, command, spec)
        request = spec.request()
        if (never := why_never(turn, request)) is not None:
            raise never
        begin_ms = parse_time_ms(spec.begin_at) if spec.begin_at else None
        conditions = _open_conditions(turn, spec.conditions(begin_ms))
        env, ref = spec.env, None
        if isinstance(env, int):
            if not 0 <= env < len(envs):
                raise BadRequest(f"env {env} names none of the {len(envs)} environments sent")
            ref = envs[env]
        elif env is not None:
            ref = _kept_env(turn, env)
        if spec.cwd is None:
            spec = msgspec.structs.replace(spec, cwd=command.home)
        return spec, request, conditions, ref
    except RoostError as error:
        error.index = index
        raise


def _check_priority(turn: Turn, command: Submit, spec: JobSpec) -> None:
    most = int(turn.cluster.number("job.max_priority"))
    if spec.priority > most and not command.by.is_admin:
        raise NotPermitted(f"a priority above {most:,} is for administrators (job.max_priority), not {spec.priority:,}")


def why_never(turn: Turn, request: Request) -> RoostError | None:
    """Why such a request can never run; looked up once a round."""
    if request not in turn.never:
        found = impossible(turn.cluster, request)
        turn.never[request] = Impossible(found) if found else None
    return turn.never[request]


def _open_conditions(turn: Turn, conditions: Conditions) -> Conditions:
    """What is still to wait for; refuses what can never come."""
    if conditions == NO_CONDITIONS:
        return NO_CONDITIONS
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


def kept_envs(turn: Turn, command: Submit) -> list[NewEnv]:
    """The environments that were sent beside the jobs, checked: `check` sees only the jobs."""
    for env in command.envs:
        check_env(env)
    return [_kept_env(turn, env) for env in command.envs]


def _kept_env(turn: Turn, env: dict[str, str]) -> NewEnv:
    """Have the environment kept; equal ones are kept once."""
    packed = pack_env(env)
    digest = blake2b(packed, digest_size=16).hexdigest()
    turn.envs[digest] = packed
    return NewEnv(digest)


def queue_job(
    turn: Turn, command: Submit, spec: JobSpec, request: Request, conditions: Conditions, env: EnvRef | None
) -> int:
    """Queue a checked job; its id."""
    job_id, owner = turn.next_id(), command.owner(spec)
    if owner.account != command.by.account and owner.user != command.actor and not isinstance(env, KeptEnv):
        env = None  # a job for another account starts from that account's login: nothing of the submitter's leaks into it
    job = Job(job_id, turn.shaped(owner, spec, request), job_id * RANK_STEP, turn.now_ms)
    turn.new[job_id] = kept(spec, env, command.actor if command.actor != owner.user else None)
    turn.record(ev.Submitted(job_id, turn.now_ms, job, conditions, spec.hold))
    return job_id


def kept(spec: JobSpec, env: EnvRef | None, submitter: str | None = None) -> NewJob:
    """A spec as the store keeps it: without the environment."""
    name = spec.name or default_name(spec)
    bare = msgspec.structs.replace(spec, env=None) if spec.env is not None else spec
    return NewJob(name, msgspec.json.encode(bare), tuple(dict.fromkeys(spec.labels)), env, submitter, display_command(spec))


class Planned(msgspec.Struct):
    """What would become of jobs; `supposed` are those that would wait, by position."""

    jobs: list[Would]
    supposed: dict[int, Supposed]


def ask(turn: Turn, command: Ask) -> Planned:
    """What would happen, from the same code that decides."""
    answers: list[Would] = []
    starting: dict[int, Request] = {}
    supposed: dict[int, Supposed] = {}
    submit = Submit(command.actor, command.jobs, by=command.by)
    for i, spec in enumerate(command.jobs):
        check_no_point(spec, i)
        check_owner(command, spec, i)
        check_preferred(turn, spec, i)
        _, request, conditions, _ = checked(turn, submit, i, msgspec.structs.replace(spec, env=None), [])
        job = Job(0, turn.shaped(submit.owner(spec), spec, request), (turn.last_job + 1) * RANK_STEP, turn.now_ms)
        waits = _waits(turn, job, conditions, spec.hold)
        answers.append(Would(would="wait", gpus=[], reasons=[reason_answers.shown(r) for r in waits or ()]))
        if waits is None:
            starting[i] = effective(turn.cluster, job.shape)
        else:
            supposed[i] = Supposed(job, conditions, spec.hold)
    check_rooms(turn, [spec.user or command.actor for spec in command.jobs])
    _place_all(turn, starting, answers)
    return Planned(answers, supposed)


def _waits(turn: Turn, job: Job, conditions: Conditions, hold: bool) -> list[Reason] | None:
    """Why it would wait; None when it would start."""
    cluster = turn.cluster
    own = condition_reasons(cluster, job, conditions, hold, turn.now_ms)
    place = Space.of(cluster).find(effective(cluster, job.shape))
    waits = [r for r in explain(cluster, job, turn.now_ms, own=own) if not isinstance(r, Ahead)]
    return waits if waits or place is None else None


def _place_all(turn: Turn, starting: dict[int, Request], answers: list[Would]) -> None:
    """Where each would start, one after the other: what the first ones take, the later ones do not have."""
    space, given = Space.of(turn.cluster), 0
    for i, request in starting.items():
        if (place := space.find(request)) is None:
            answers[i].reasons = [reason_answers.shown(Ahead(jobs=given))]
            continue
        given += 1
        space.give(turn.last_job + given, request, place)
        nodes, node_of = turn.cluster.nodes, turn.cluster.node_of
        gpus = [nodes[node_of[u]].gpus[u].index for u in place.gpus]
        answers[i] = Would(would="start", node=place.node, gpus=gpus, reasons=[])
    space.take_back()
