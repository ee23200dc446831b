"""Ending, holding, pausing, preempting, rerunning and removing jobs: what cannot be done to one job says why."""

import msgspec

from roost.core import events as ev
from roost.core.accounts import SERVER_ACCOUNT
from roost.core.errors import NotPermitted, TryLater
from roost.core.model import RANK_STEP, Conditions, Job, Stop, StopKind
from roost.core.nodes import channel
from roost.core.plan.planner import may_preempt
from roost.core.plan.retries import PREEMPT
from roost.core.spec import JobSpec
from roost.core.states import ACTIVE, Change, Outcome, State, is_allowed
from roost.messages import span
from roost.server.rounds.commands import Act, Command
from roost.server.rounds.file_removal import leave
from roost.server.rounds.orphans import At
from roost.server.rounds.quotas import check_room
from roost.server.rounds.start_errors import told
from roost.server.rounds.submit import why_never
from roost.server.rounds.turn import Turn
from roost.store import reads
from roost.store.load import shape_of
from roost.store.writes import EnvRef, KeptEnv


class Skip(Exception):
    """That job is left as it is; the reason says why."""

    def __init__(self, reason: str, code: str = "conflict") -> None:
        super().__init__(reason)
        self.code = code


def known(turn: Turn, job: int) -> State:
    """The state of a job that exists; skips one that does not."""
    state = turn.cluster.state_of(job)
    if state is None:
        if not turn.exists(job):
            raise Skip(f"there is no job {job}", "not_found")
        return State.ENDED
    return state


def check_own(turn: Turn, command: Command, job: int) -> None:
    """Raise unless it is the asker's job, or they may act on all; only the server's own account changes what runs as it.

    Says nothing of a job that is not there.
    """
    owner = turn.owner(job)
    if owner is None:
        return
    if command.by.is_admin:
        is_change = isinstance(command, Act) and command.action in ("edit", "clone")
        if is_change and owner.account == SERVER_ACCOUNT != command.by.account:
            raise NotPermitted(f"job {job} runs as the server's own account", "only that account may change what runs as it")
    elif owner.user != command.by.name:
        raise NotPermitted(f"job {job} is {owner.user}'s", "only its owner and administrators may do that")
    elif owner.account != command.by.account:
        raise NotPermitted(f"job {job} runs as another account", "only administrators can do this")


def is_away(turn: Turn, job: int) -> bool:
    """Whether it is active on a node that cannot be reached: what it is told now, it hears when the node is back."""
    active = turn.cluster.active.get(job)
    return active is not None and not turn.cluster.nodes[active.node].attached


def kill(turn: Turn, job: int, command: Act) -> None:
    """End it, or with a signal only send that."""
    state = known(turn, job)
    if state is State.ENDED:
        raise Skip("it has already ended")
    if command.signal is not None:
        if state not in ACTIVE:
            raise Skip(f"it is {state.value}: there is no process to signal")
        active = turn.cluster.active[job]
        if is_away(turn, job):
            raise TryLater(
                f"{active.node} cannot be reached: job {job} was sent no signal", f"roost node show {active.node}"
            )
        turn.tell(active, "signal", signal=command.signal)
        return
    _stop(turn, job, state, StopKind.KILL, command)


def _stop(turn: Turn, job: int, state: State, why: StopKind, command: Act) -> None:
    """End it: a waiting job at once, a running one when nothing of it is left."""
    if state in ACTIVE:
        active = turn.cluster.active[job]
        turn.record(ev.StopAsked(job, turn.now_ms, Stop(why)), command.actor)
        grace = own_grace_ms(turn, job) if command.grace_s is None else command.grace_s * 1000
        turn.tell(active, "stop", why=why.value, grace_ms=grace)
    else:
        turn.end(ev.Ended(job, turn.now_ms, Outcome.KILLED, None, told("attempt.ended_before_start")), command.actor)


def own_grace_ms(turn: Turn, job: int) -> int:
    """The time between TERM and KILL that the job asked for, else that of the settings."""
    spec, _ = spec_of(turn, job)
    return 1000 * (spec.grace_s if spec.grace_s is not None else int(turn.cluster.number("job.grace_s")))


def pause(turn: Turn, job: int, command: Act) -> None:
    """Freeze it; it keeps its GPUs."""
    state = known(turn, job)
    if state is State.PAUSED:
        raise Skip("it is already paused")
    if not is_allowed(state, Change.PAUSE):
        raise Skip(
            f"it is {state.value}: only a running job can be paused"
            + (" (`roost hold` keeps a queued one)" * (state is State.QUEUED))
        )
    active = turn.cluster.active[job]
    turn.record(ev.Paused(job, turn.now_ms), command.actor)
    turn.tell(active, "pause")


def resume(turn: Turn, job: int, command: Act) -> None:
    """Let it go on."""
    state = known(turn, job)
    if not is_allowed(state, Change.RESUME):
        raise Skip(
            f"it is {state.value}: only a paused job can be resumed"
            + (" (`roost release` frees a held one)" * (state is State.HELD))
        )
    active = turn.cluster.active[job]
    turn.record(ev.Resumed(job, turn.now_ms), command.actor)
    turn.tell(active, "resume")


def hold(turn: Turn, job: int, command: Act) -> None:
    """Keep it from starting."""
    state = known(turn, job)
    if state is State.HELD:
        raise Skip("it is already held")
    if not is_allowed(state, Change.HOLD):
        raise Skip(f"it is {state.value}: only a queued job can be held")
    turn.record(ev.JobHeld(job, turn.now_ms), command.actor)


def release(turn: Turn, job: int, command: Act) -> None:
    """Let it wait for resources again."""
    state = known(turn, job)
    if not is_allowed(state, Change.RELEASE):
        raise Skip(f"it is {state.value}: only a held job can be released")
    turn.record(ev.Released(job, turn.now_ms), command.actor)


def make_room(turn: Turn, job: int, for_job: int | None, actor: str | None = None) -> None:
    """Ask that running job to make room, for another if one is named; it then waits again. `may_preempt` must hold."""
    active = turn.cluster.active[job]
    turn.record(ev.StopAsked(job, turn.now_ms, Stop(StopKind.PREEMPT, for_job)), actor)
    turn.tell(active, "stop", why=PREEMPT, grace_ms=own_grace_ms(turn, job))


def preempt(turn: Turn, job: int, command: Act) -> None:
    """The same, asked by a person."""
    state = known(turn, job)
    if state is not State.RUNNING:
        raise Skip(f"it is {state.value}: only a running job can make room")
    active = turn.cluster.active[job]
    if not active.job.shape.preemptible:
        raise Skip("it was not submitted as --preemptible")
    if not may_preempt(turn.cluster, active, turn.now_ms):
        least_s = int(turn.cluster.number("preempt.min_run_s"))
        raise Skip(f"it has not run for {span(least_s)} yet (setting preempt.min_run_s)")
    make_room(turn, job, None, command.actor)


def rerun(turn: Turn, job: int, command: Act) -> None:
    """Put an ended job back into the queue, for a further attempt."""
    state = known(turn, job)
    if state is not State.ENDED:
        raise Skip(f"it is {state.value}: only an ended job can be run again (`roost clone` makes a new one)")
    row = turn.row(job)
    outcome = turn.outcome_of(job)
    if row is None or outcome is None or row.outcome is None:
        raise Skip("it ended this very moment: try again")
    request = row.decoded().request()  # what the user asked, whatever a retry has made of it
    if (never := why_never(turn, request)) is not None:
        raise Skip(never.message, never.code)
    check_room(turn, row.user)
    rank = turn.last_job * RANK_STEP + turn.now_ms % (RANK_STEP // 2)
    shape = turn.reshaped(shape_of(row, turn.interned), request=request)
    again = Job(job, shape, rank, row.submitted_ms, row.attempts)
    turn.record(ev.Rerun(job, turn.now_ms, again, Conditions(), outcome), command.actor)


def rm(turn: Turn, job: int, command: Act) -> None:
    """Forget it; what runs is ended first."""
    state = known(turn, job)
    if state is not State.ENDED:
        _stop(turn, job, state, StopKind.REMOVE, command)
    if state not in ACTIVE:
        remove(turn, job, command.actor)


def forget(turn: Turn, job: int, command: Act) -> None:
    """Archived: the job goes with all its files, for its line in the archive has them."""
    if known(turn, job) is not State.ENDED:
        raise Skip("only an ended job can be archived")
    remove(turn, job, command.actor)


def remove(turn: Turn, job: int, actor: str | None) -> None:
    """Forget an ended job, its attempts and their directories."""
    owner, row, outcome = turn.owner(job), turn.row(job), turn.outcome_of(job)
    turn.record(ev.Removed(job, turn.now_ms, outcome or Outcome.KILLED), actor)
    turn.ended.pop(job, None)
    turn.removed.add(job)
    runs = [f"{job}.{n}" for n in range(1, row.attempts + 1)] if row else []
    for node in sorted(turn.read(reads.places, job)) if runs else ():
        if owner is not None and node in turn.cluster.nodes:
            leave(turn, At(node, channel(turn.cluster, node, owner.user, owner.account)), runs)


def spec_of(turn: Turn, job: int) -> tuple[JobSpec, EnvRef | None]:
    """What the job asks for, and which environment is kept for it."""
    if job in turn.new:
        return msgspec.json.decode(turn.new[job].spec, type=JobSpec), turn.new[job].env
    row = turn.row(job)
    if row is None:
        raise Skip(f"there is no job {job}", "not_found")
    spec = row.decoded()
    if row.priority != spec.priority:
        spec = msgspec.structs.replace(spec, priority=row.priority)
    return spec, KeptEnv(row.env) if row.env is not None else None
