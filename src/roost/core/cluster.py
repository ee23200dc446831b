"""The cluster as the scheduler sees it: what waits, what runs, what there is, who holds it.

Changed by `apply(event)` alone, in the server and in the simulator alike. Indexed so that a step costs by what changed, not
by the length of the queue: jobs of one shape wait in one line, and only the heads of lines are ever looked at.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from typing import Any, get_type_hints

import msgspec

from roost.core import events as ev
from roost.core.accounts import Account
from roost.core.model import (
    AbandonedHold,
    Active,
    Claim,
    Conditions,
    Gpu,
    GpuRules,
    Job,
    NodeHold,
    Recall,
    Request,
    Shape,
    UserRules,
)
from roost.core.nodes import ALL, Machines
from roost.core.predictions import Learned, Ran
from roost.core.settings import DEFAULTS, Value
from roost.core.states import Change, Outcome, RefusedChange, State, after

NO_CONDITIONS = Conditions()
ANYBODY = UserRules()


class Line(msgspec.Struct, eq=False):
    """The waiting jobs of one shape, first come first. Those that left are dropped when they come to the head."""

    shape: Shape
    heap: list[tuple[int, int]] = []


class Cluster(Machines):
    """All that is not ended, and all that there is to run it on."""

    def __init__(self) -> None:
        super().__init__()
        self.jobs: dict[int, Job] = {}
        self.queued_by: Counter[str] = Counter()
        self.held: set[int] = set()
        self.open: set[int] = set()
        self.conditions: dict[int, Conditions] = {}
        self.dependents: dict[int, list[int]] = {}
        self.later: list[tuple[int, int]] = []
        self.ready: dict[int, int] = {}
        """Since when a job could start, where that is later than its submit: it was held, or waited for something."""
        self.lines: dict[Shape, Line] = {}
        self.asking: dict[Request, dict[Shape, Line]] = {}
        """The same lines, by what they ask for: one answer serves them all."""
        self.active: dict[int, Active] = {}
        self.gpus_of: Counter[str] = Counter()
        self.runs_of: Counter[str] = Counter()
        self.runs_in: Counter[int] = Counter()
        """GPUs and jobs that a user has, and jobs that a sweep has, from the intent to start until nothing is left."""
        self.served: Counter[str] = Counter()
        """Users by when they were last given something: the number of that start among all."""
        self.starts = 0
        self.yielding: set[int] = set()
        """Jobs that have GPUs and would make room for others."""
        self.present: set[str] = set()
        """Users with a job that waits or runs."""
        self.claims: dict[str, dict[int, Claim]] = {}
        self.users: dict[str, UserRules] = {}
        self.groups: dict[int, int] = {}
        self.settings: dict[str, Value] = dict(DEFAULTS)
        self.account_states: dict[Account, str] | None = None
        """`open`, or why nothing of a UNIX account may start; nor may it while that is unknown. None: nobody asks."""
        self.is_paused = False
        self.counts: Counter[str] = Counter()
        self.recall = Recall(0)
        self.learned = Learned()
        self.node_hold: NodeHold | None = None
        self.allowance = 0.0
        """GPU seconds that may stand idle on held nodes; grows with time, by a small part of the cluster."""
        self.savings = 0.0
        """What the allowance could not take, for jobs that have waited longest."""
        self.allowance_ms: int | None = None
        self.hold_again_ms = 0
        self.abandoned_holds: dict[int, AbandonedHold] = {}
        """The last hold for a job that was abandoned, and what it had cost."""
        self.index: Any = None
        """What a plan remembers of this cluster from the last one; never part of an answer."""

    # -- looking ----------------------------------------------------------------------------------------------------

    def state_of(self, job: int) -> State | None:
        """The job's state, or None when it has ended or never was."""
        if (running := self.active.get(job)) is not None:
            return running.state
        if job in self.jobs:
            return State.HELD if job in self.held else State.QUEUED
        return None

    def find(self, job: int) -> Job | None:
        """The job, waiting or active."""
        if (running := self.active.get(job)) is not None:
            return running.job
        return self.jobs.get(job)

    def in_line(self, line: Line) -> Iterator[Job]:
        """The jobs of a line that may start, in order, without touching it: walks the heap from its top."""
        heap, last = line.heap, None
        frontier = [(heap[0], 0)] if heap else []
        while frontier:
            entry, i = heappop(frontier)
            for child in (2 * i + 1, 2 * i + 2):
                if child < len(heap):
                    heappush(frontier, (heap[child], child))
            if entry != last and (job := self._standing(line, entry)) is not None:
                yield job
            last = entry

    def _standing(self, line: Line, entry: tuple[int, int]) -> Job | None:
        """The job behind an entry of a line, unless it has left, moved or changed since."""
        rank, job_id = entry
        job = self.jobs.get(job_id)
        if job is None or job_id not in self.open or job.rank != rank or job.shape != line.shape:
            return None
        return job

    def user(self, name: str) -> UserRules:
        """What an administrator said about that user."""
        return self.users.get(name, ANYBODY)

    def number(self, key: str) -> float:
        """A numeric setting."""
        value = self.settings[key]
        assert isinstance(value, (int, float))
        return value

    def ready_ms(self, job: Job) -> int:
        """Since when it could start, as far as it is its own business."""
        return self.ready.get(job.id, job.submitted_ms)

    def next_begin_ms(self) -> int | None:
        """When the next `--begin` time comes."""
        return self.later[0][0] if self.later else None

    # -- changing ---------------------------------------------------------------------------------------------------

    def apply(self, event: ev.Event) -> None:
        """Take in what happened. Raises `RefusedChange`, having changed nothing, when it cannot have happened."""
        _APPLY[type(event)](self, event)

    def restore(self, active: Active) -> None:
        """Take in a job that had an attempt when the last server ended."""
        self.active[active.job.id] = active
        self._claim(active)
        self.counts[active.state] += 1

    def serve(self, user: str) -> None:
        """Note that this user was given something, after all others that were."""
        self.starts += 1
        self.served[user] = self.starts

    def ran(self, event: ev.Ended | ev.Requeued) -> Ran | None:
        """What an end teaches; None when nothing ran. To be asked before it is applied."""
        active = self.active.get(event.id)
        if active is None or active.pid is None or event.outcome in _TEACHES_NOTHING:
            return None
        started_ms = event.usage.started_ms or active.since_ms
        shape, waited_s = active.job.shape, max(0, started_ms - self.ready_ms(active.job)) / 1000
        return Ran(
            shape.user,
            shape.work,
            shape.request.gpus,
            shape.limit_s,
            waited_s if active.attempt == 1 else None,
            max(0, event.at_ms - started_ms) / 1000,
            event.usage.peak_mem_mib,
        )

    def _learn(self, event: ev.Ended | ev.Requeued) -> None:
        if (ran := self.ran(event)) is not None:
            self.learned.take(ran)

    def _submitted(self, e: ev.Submitted) -> None:
        self._wait(e.job, e.conditions, e.held)
        self.counts[State.HELD if e.held else State.QUEUED] += 1

    def _rerun(self, e: ev.Rerun) -> None:
        if self.find(e.id) is not None:
            raise RefusedChange(e.id, self.state_of(e.id) or State.ENDED, Change.RERUN)
        self.ready[e.id] = e.at_ms
        self._wait(e.job, e.conditions, held=False)
        self._count(State.ENDED, State.QUEUED)
        self.counts[e.was] -= 1

    def _wait(self, job: Job, conditions: Conditions, held: bool) -> None:
        if job.id not in self.jobs:  # an edited one is there already
            self.queued_by[job.shape.user] += 1
            self.present.add(job.shape.user)
        self.jobs[job.id] = job
        if held:
            self.held.add(job.id)
        if conditions != NO_CONDITIONS:
            self.conditions[job.id] = conditions
            for dependency in conditions.after:
                self.dependents.setdefault(dependency.job, []).append(job.id)
            if conditions.begin_ms is not None:
                heappush(self.later, (conditions.begin_ms, job.id))
        self._open_if_free(job)

    def _open_if_free(self, job: Job) -> None:
        """Put a job into its line when neither a person, nor another job, nor the time keeps it."""
        if job.id in self.held or job.id in self.conditions or self.recall.doubts(job.id):
            self.open.discard(job.id)
            return
        line = self.lines.get(job.shape)
        if line is None:
            line = self.lines[job.shape] = Line(job.shape)
            self.asking.setdefault(job.shape.request, {})[job.shape] = line
        self.open.add(job.id)
        heappush(line.heap, (job.rank, job.id))

    def _held(self, e: ev.JobHeld) -> None:
        after(e.id, self._state(e.id), Change.HOLD)
        self.held.add(e.id)
        self.open.discard(e.id)
        self._tidy(self.jobs[e.id].shape)
        self._count(State.QUEUED, State.HELD)

    def _released(self, e: ev.Released) -> None:
        after(e.id, self._state(e.id), Change.RELEASE)
        self.held.discard(e.id)
        self.ready[e.id] = e.at_ms
        self._open_if_free(self.jobs[e.id])
        self._count(State.HELD, State.QUEUED)

    def _moved(self, e: ev.Moved) -> None:
        if e.id not in self.jobs:
            raise RefusedChange(e.id, self._state(e.id), Change.HOLD)
        before = self.jobs[e.id]
        if e.job.rank > before.rank:
            self.ready[e.id] = e.at_ms  # one that is moved back begins to wait anew
        self.jobs[e.id] = e.job
        self._open_if_free(e.job)
        self._tidy(before.shape)

    def _edited(self, e: ev.Edited) -> None:
        if e.id not in self.jobs:
            raise RefusedChange(e.id, self._state(e.id), Change.HOLD)
        old = self.jobs[e.id].shape
        self._drop_conditions(e.id)
        self._wait(e.job, e.conditions, e.id in self.held)
        self._tidy(old)

    def _start_intended(self, e: ev.StartIntended) -> None:
        after(e.id, self._state(e.id), Change.INTEND)
        waited_ms = e.at_ms - self.ready_ms(self.jobs[e.id])
        if e.attempt == 1:
            self.learned.waited(max(0, waited_ms) / 1000)
        job = self._leave_queue(e.id, State.STARTING)
        job = Job(job.id, job.shape, job.rank, job.submitted_ms, e.attempt)
        how = {"granted_mib": e.granted_mib, "nonce": e.nonce}
        self.active[e.id] = Active(job, State.STARTING, e.attempt, e.node, e.gpus, e.at_ms, **how)  # type: ignore[arg-type]
        self.abandoned_holds.pop(e.id, None)
        self.serve(job.shape.user)
        self._claim(self.active[e.id])

    def _started(self, e: ev.Started) -> None:
        active = self._active(e.id, Change.START)
        state = active.state if active.state is State.STOPPING else after(e.id, active.state, Change.START)
        self._become(active, state, since_ms=e.at_ms, pid=e.pid)

    def _start_refused(self, e: ev.StartRefused) -> None:
        active = self._active(e.id, Change.REFUSE)
        after(e.id, active.state, Change.REFUSE)
        self._back_to_queue(active, active.job, e.again_ms)

    def _paused(self, e: ev.Paused) -> None:
        active = self._active(e.id, Change.PAUSE)
        self._become(active, after(e.id, active.state, Change.PAUSE))

    def _resumed(self, e: ev.Resumed) -> None:
        active = self._active(e.id, Change.RESUME)
        self._become(active, after(e.id, active.state, Change.RESUME))

    def _stop_asked(self, e: ev.StopAsked) -> None:
        active = self._active(e.id, Change.STOP)
        self._become(active, after(e.id, active.state, Change.STOP), stop=e.why.after(active.stop))

    def _ended(self, e: ev.Ended) -> None:
        state = self._state(e.id)
        after(e.id, state, Change.END)
        self._learn(e)
        self.ready.pop(e.id, None)
        self.abandoned_holds.pop(e.id, None)
        if (active := self.active.pop(e.id, None)) is not None:
            self._release(active)
            self._count(state, State.ENDED)
        else:
            self._leave_queue(e.id, State.ENDED)
        self.counts[e.outcome] += 1
        for waiting in self.dependents.pop(e.id, ()):
            self._dependency_ended(waiting, e.id, e.outcome, e.at_ms)

    def _requeued(self, e: ev.Requeued) -> None:
        active = self._active(e.id, Change.REQUEUE)
        after(e.id, active.state, Change.REQUEUE)
        self._learn(e)
        self._back_to_queue(active, e.job, e.again_ms)

    def _back_to_queue(self, active: Active, job: Job, again_ms: int) -> None:
        self._release(active)
        del self.active[job.id]
        self._wait(job, Conditions((), again_ms), held=False)
        self._count(active.state, State.QUEUED)

    def _dependency_ended(self, waiting: int, ended: int, outcome: Outcome, at_ms: int) -> None:
        """Strike out what is met. What can never be met stays: `doomed` names it and the server ends that job."""
        conditions = self.conditions.get(waiting)
        if conditions is None:
            return
        left = tuple(d for d in conditions.after if d.job != ended or not d.is_met_by(outcome))
        self._set_conditions(waiting, Conditions(left, conditions.begin_ms), at_ms)

    def _removed(self, e: ev.Removed) -> None:
        self.counts[State.ENDED] -= 1
        self.counts[e.was] -= 1

    def _setting_changed(self, e: ev.SettingChanged) -> None:
        self.settings[e.key] = e.value
        self.touched.add(ALL)

    def _scheduling_switched(self, e: ev.SchedulingSwitched) -> None:
        self.is_paused = e.paused

    def _gpu_ruled(self, e: ev.GpuRuled) -> None:
        self.rules[e.uuid] = e.rules
        self.touched.add(self.node_of.get(e.uuid, ALL))
        self._claim_again(e.uuid)

    def _user_ruled(self, e: ev.UserRuled) -> None:
        if e.rules == ANYBODY:
            self.users.pop(e.user, None)
        else:
            self.users[e.user] = e.rules

    def _group_limited(self, e: ev.GroupLimited) -> None:
        if e.max_running is None:
            self.groups.pop(e.group, None)
        else:
            self.groups[e.group] = e.max_running

    def _recalled(self, e: ev.Recalled) -> None:
        was, self.recall = self.recall, e.recall
        for job in [job for job in self.jobs.values() if was.doubts(job.id) != e.recall.doubts(job.id)]:
            self._open_if_free(job)
            self._tidy(job.shape)

    def _node_seen(self, e: ev.NodeSeen) -> None:
        super()._node_seen(e)
        for uuid in self.node(e.node).gpus:
            self._claim_again(uuid)

    def _measured(self, e: ev.Measured) -> None:
        pass  # for those who watch: nothing is placed by it

    def _accounts_known(self, e: ev.AccountsKnown) -> None:
        self.account_states = e.states

    def _time_came(self, e: ev.TimeCame) -> None:
        self._let_in(e.now_ms)
        while self.later and self.later[0][0] <= e.now_ms:
            begin_ms, job = heappop(self.later)
            conditions = self.conditions.get(job)
            if conditions is not None and conditions.begin_ms == begin_ms:
                self._set_conditions(job, Conditions(conditions.after, None), begin_ms)

    def _pause_shortened(self, e: ev.PauseShortened) -> None:
        self._pause_until(e.job, e.begin_ms)

    def _pause_until(self, job: int, begin_ms: int) -> None:
        self.conditions[job] = Conditions(self.conditions[job].after, begin_ms)
        heappush(self.later, (begin_ms, job))

    def _clock_stepped(self, e: ev.ClockStepped) -> None:
        """A pause before a further attempt is as long as before; a `begin` time is what people's clocks say."""
        self._shift_clock(e.by_ms)
        for job, conditions in list(self.conditions.items()):
            if conditions.begin_ms is not None and self.jobs[job].attempts:
                self._pause_until(job, conditions.begin_ms + e.by_ms)
        if (hold := self.node_hold) is not None:
            moved = {name: getattr(hold, name) + e.by_ms for name in ("since_ms", "chosen_ms", "until_ms")}
            self.node_hold = msgspec.structs.replace(hold, **moved)
        self.allowance_ms = None if self.allowance_ms is None else self.allowance_ms + e.by_ms
        self.hold_again_ms += e.by_ms

    def _hold_changed(self, e: ev.HoldChanged) -> None:
        if e.abandoned is not None:
            self.abandoned_holds[e.abandoned] = AbandonedHold(e.now_ms, e.in_vain)
        self.node_hold, self.allowance, self.savings = e.hold, e.allowance, e.savings
        self.allowance_ms, self.hold_again_ms = e.now_ms, e.again_ms

    # -- the parts of a change --------------------------------------------------------------------------------------

    def _state(self, job: int) -> State:
        return self.state_of(job) or State.ENDED

    def _active(self, job: int, change: Change) -> Active:
        if (active := self.active.get(job)) is None:
            raise RefusedChange(job, self._state(job), change)
        return active

    def _become(self, active: Active, state: State, **changed: Any) -> None:
        self._count(active.state, state)
        self.active[active.job.id] = msgspec.structs.replace(active, state=state, **changed)

    def _leave_queue(self, job_id: int, to: State) -> Job:
        self._count(self._state(job_id), to)
        job = self.jobs.pop(job_id)
        self.queued_by[job.shape.user] -= 1
        self._may_be_gone(job.shape.user)
        self.open.discard(job_id)
        self.held.discard(job_id)
        self._drop_conditions(job_id)
        self._tidy(job.shape)
        return job

    def _tidy(self, shape: Shape) -> None:
        """Take what has left off the head of its line, and an empty line away."""
        if (line := self.lines.get(shape)) is None:
            return
        while line.heap and self._standing(line, line.heap[0]) is None:
            heappop(line.heap)
        if not line.heap:
            del self.lines[shape]
            del (alike := self.asking[shape.request])[shape]
            if not alike:
                del self.asking[shape.request]

    def _set_conditions(self, job: int, conditions: Conditions, at_ms: int) -> None:
        if conditions != NO_CONDITIONS:
            self.conditions[job] = conditions
        elif self.conditions.pop(job, None) is not None:
            if self.jobs[job].attempts == 0:
                self.ready[job] = at_ms
            self._open_if_free(self.jobs[job])

    def _drop_conditions(self, job: int) -> None:
        conditions = self.conditions.pop(job, None)
        for dependency in conditions.after if conditions else ():
            if job in (waiting := self.dependents.get(dependency.job, [])):
                waiting.remove(job)

    def _claim(self, active: Active) -> None:
        self._count_held(active, 1)
        for uuid in active.gpus:
            claims = self.claims.setdefault(uuid, {})
            claims[active.job.id] = self._claim_on(uuid, active)
            self.touched.add(self.node_of.get(uuid, active.node))

    def _count_held(self, active: Active, sign: int) -> None:
        """Count what a job has, or no longer has."""
        shape = active.job.shape
        self.gpus_of[shape.user] += sign * len(active.gpus)
        self.runs_of[shape.user] += sign
        if shape.group:
            self.runs_in[shape.group] += sign
        if shape.preemptible:
            (self.yielding.add if sign > 0 else self.yielding.discard)(active.job.id)
        self.present.add(shape.user)
        self._may_be_gone(shape.user)
        if not active.gpus:
            self.node(active.node).cpu_used += sign
            self.touched.add(active.node)

    def _may_be_gone(self, user: str) -> None:
        if not self.queued_by[user] and not self.runs_of[user]:
            self.present.discard(user)

    def _claim_on(self, uuid: str, active: Active) -> Claim:
        gpu = self.node(self.node_of.get(uuid, active.node)).gpus.get(uuid)
        return claim(active.job.id, active.request, gpu, self.rules_of(uuid))

    def _claim_again(self, uuid: str) -> None:
        """Slots or memory of a GPU changed: what running jobs hold of it is counted anew."""
        for job in list(self.claims.get(uuid, ())):
            active = self.active[job]
            self.claims[uuid][job] = self._claim_on(uuid, active)

    def _release(self, active: Active) -> None:
        self._count_held(active, -1)
        for uuid in active.gpus:
            self.touched.add(self.node_of.get(uuid, active.node))
            claims = self.claims[uuid]
            del claims[active.job.id]
            if not claims:
                del self.claims[uuid]

    def _count(self, old: State, new: State) -> None:
        self.counts[old] -= 1
        self.counts[new] += 1


def claim(job: int, request: Request, gpu: Gpu | None, rules: GpuRules) -> Claim:
    """What that request takes of that GPU: memory alone when it shares, all of it when exclusive, else one slot."""
    total = gpu.mem_mib if gpu else 0
    if request.mem_mib is not None:
        return Claim(job, 0, request.mem_mib)
    if request.exclusive:
        return Claim(job, rules.slots, total)
    return Claim(job, 1, total // rules.slots)


_TEACHES_NOTHING = frozenset({Outcome.CANNOT_START, Outcome.LOST})


def _appliers() -> dict[type[ev.Event], Callable[[Cluster, Any], None]]:
    """The method that takes in each event: the one whose parameter `e` is of its type."""
    methods = [getattr(Cluster, name) for name in dir(Cluster)]
    return {get_type_hints(m)["e"]: m for m in methods if "e" in getattr(m, "__annotations__", ())}


_APPLY = _appliers()
