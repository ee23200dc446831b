"""What happens to runs: they begin, end, leave children behind, are adopted, time out.

Every end goes one way: the job's own process ends, then nothing is left, then `exited`.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Set

from roost.node.claims.claims import Claims
from roost.node.protocol import CANNOT_START, REFUSED, TIME, Message
from roost.node.runs import adoption, exit_status, run_dir
from roost.node.runs.adoption import Source
from roost.node.runs.job_reports import Reports
from roost.node.runs.processes import Members
from roost.node.runs.run import ENDED, ENDING, RUNNING, STARTING, Run
from roost.node.runs.run_dir import Record
from roost.node.runs.run_log import limit_logs
from roost.node.runs.runner import Runners
from roost.node.runs.time_limits import Limits
from roost.node.state_dir import active_runs
from roost.node.system.cgroup import Cgroups
from roost.node.system.event_loop import READABLE, Loop
from roost.node.system.host import boot_ms, wall_ms
from roost.node.system.procfs import ProcessId, read_stat, watch

# Children that a job left behind when it ended by itself get this long between TERM and KILL.
_LEFTOVER_GRACE_MS = 2_000
_FIRST_LOOK_S = 0.01
# A wrapper that a dead daemon had just started: how long until it must have told its pid.
_PATIENCE_MS = 2_000
_LONGEST_LOOK_S = 0.2


class Death(NamedTuple):
    """A child that ended, as wait4 tells it."""

    pid: int
    status: int
    usage: Any


@dataclass(eq=False)
class Lifecycle:
    """Every run that the server has not yet told us to forget."""

    loop: Loop
    source: Source
    cgroups: Optional[Cgroups]
    claims: Claims
    runners: Optional[Runners]
    own_children: Set[int]
    reports: Reports
    send: Callable[[Message], None]
    on_end: Callable[[Run], None]
    runs: Dict[str, Run] = field(default_factory=dict)
    last_oom_kills: Optional[int] = None

    def __post_init__(self) -> None:
        self._by_wrapper: Dict[int, Run] = {}
        self._by_main: Dict[int, Run] = {}
        self._ending: Dict[str, Run] = {}
        self.members = Members(self.runs, self.own_children, self.cgroups)
        self.limits = Limits(self.loop, self._warn, self._time_is_up)

    @property
    def is_busy(self) -> bool:
        """Whether any run has not ended."""
        return any(run.phase != ENDED for run in self.runs.values())

    def keepers(self) -> Set[int]:
        """The wrappers in cgroups of runs that have not ended."""
        return {run.keeper for run in self.runs.values() if run.keeper is not None and run.phase != ENDED}

    def path(self, name: str) -> str:
        """The run's directory."""
        return self.source.state.run(name)

    def read_record(self, name: str) -> Optional[Record]:
        """The record of a run whose end is acknowledged; None when it never began."""
        trace = run_dir.read_trace(self.source.state, name)
        return trace.record if trace is not None else None

    def report(self) -> List[Message]:
        """What is known of every run, for `hello`."""
        messages = (run.greeting() for run in self.runs.values())
        return [message for message in messages if message is not None]

    def beginning(self) -> List[Message]:
        """Runs of which nothing else can be said yet, for `hello`."""
        return [run.promise() for run in self.runs.values() if run.phase == STARTING]

    def answer(self, run: Run) -> None:
        """Say what is known of the run; nothing yet while it is just starting."""
        message = run.message()
        if message is not None:
            self.reports.tell(run)
            self.send(message)

    # -- beginning

    def add(self, run: Run, wrapper_pid: int) -> None:
        """A wrapper was started for this run, or a runner was given it."""
        run.wrapper, run.session = (wrapper_pid, 0), wrapper_pid
        is_inside = self.cgroups is not None and self.cgroups.is_roots
        if is_inside or (self.runners is not None and self.runners.is_runner(wrapper_pid)):
            run.keeper = wrapper_pid
        run.oom_kills = self.last_oom_kills
        self.runs[run.name] = self._by_wrapper[wrapper_pid] = run

    def could_not_start(self, run: Run, reason: str) -> None:
        """The run fails alone, with the reason."""
        run.why, run.error = CANNOT_START, reason
        self.runs[run.name] = run
        with contextlib.suppress(OSError):
            run_dir.write_problem(self.source.state, run.name, {"why": CANNOT_START, "error": reason, "nonce": run.nonce})
        self._finish(run)

    def noticed(self, name: str, pid: int) -> None:
        """A wrapper says that its job's own process is there."""
        run = self.runs.get(name)
        if run is not None and run.phase == STARTING and not run.is_adopted:
            self._runs_now(run, pid, wall_ms())
            if run.keeper is not None and self.runners is not None:
                self.runners.has_begun(run.keeper)

    def noticed_end(self, name: str, status: int) -> None:
        """A runner says that its job's own process has ended, and how."""
        run = self.runs.get(name)
        if run is None or run.keeper is None or self.runners is None or run.phase not in (STARTING, RUNNING):
            return
        if run.phase == STARTING or run.used_ms(boot_ms()) >= exit_status.ACCOUNTING_FROM_MS:
            self.runners.retire(run.keeper)  # it ends with the job's status, and tells what the job has used
            return
        self._by_wrapper.pop(run.keeper, None)
        run.wrapper = None
        run.cpu_ms = self.runners.cpu_used_ms(run.keeper)
        self._main_ended(run, status)

    def _runs_now(self, run: Run, main_pid: int, at_ms: int) -> None:
        run.main_pid, run.started_ms, run.phase = main_pid, at_ms, RUNNING
        self.limits.set(run)
        self.answer(run)
        if run.stop_why is not None:  # asked for before there was anything to stop
            self.terminate(run)

    # -- adoption

    def adopt(self, name: str) -> Optional[Run]:
        """Take over a run from its files; None when it never began."""
        run = adoption.read_run(self.source, name)
        if run is None:
            return None
        self.runs[name] = run
        if run.phase != ENDED:
            self._adopt_claims(run)
        else:
            limit_logs(run)
            self.reports.finish(run)
        if run.phase == STARTING:
            self._await_beginning(run, boot_ms() + _PATIENCE_MS)
        elif run.phase == RUNNING:
            self._take_over(run)
        return run

    def adopt_all(self) -> None:
        """Take over what an earlier daemon left. What never began is left out: the server asks again."""
        for name in active_runs(self.source.state):
            self.adopt(name)

    def _adopt_claims(self, run: Run) -> None:
        """What an earlier daemon claimed for it, the run's own processes hold."""
        if run.record is not None and run.record.gpus:
            pids = [run.wrapper[0]] if run.wrapper is not None else []
            pids += [run.main_pid] if run.main_pid is not None else []
            self.claims.adopt(run.name, run.record.gpus, pids)

    def _take_over(self, run: Run) -> None:
        # A wrapper that has noted the status has nothing left to do, even where it was stopped and never leaves.
        self._watch(run.wrapper if run.status is None else None, lambda: self._without_wrapper(run, {}))
        if run.phase != RUNNING:
            return
        self.limits.set(run)
        if run.stop_why is not None:
            self.terminate(run)
            self.kill_at(run, run.kill_boot_ms or boot_ms())

    def _await_beginning(self, run: Run, until_boot_ms: int) -> None:
        """The daemon before us died while this wrapper was starting: its notice went nowhere, its trace tells."""
        fresh = adoption.read_run(self.source, run.name)
        if fresh is not None and fresh.phase == RUNNING and self.runs.get(run.name) is run:
            self.adopt(run.name)
            self.answer(self.runs[run.name])
        elif fresh is not None and fresh.wrapper is None and boot_ms() >= until_boot_ms:
            self._main_ended(run, None)
        else:
            self.loop.after(_FIRST_LOOK_S, lambda: self._await_beginning(run, until_boot_ms))

    # -- deaths

    def reap(self, before_deaths: Callable[[], None]) -> None:
        """Collect every child that ended; `before_deaths` reads the notices, which are older than the deaths."""
        deaths = list(_wait_all())
        before_deaths()
        orphans = {death.pid: death for death in deaths if death.pid not in self._by_wrapper}
        for death in deaths:
            run = self._by_wrapper.pop(death.pid, None)
            self._keeper_ended(run, death.pid)
            if run is not None and run.phase != ENDED:
                self._wrapper_ended(run, death, orphans)
        for death in orphans.values():
            run = self._by_main.pop(death.pid, None)
            if run is not None:
                self._main_ended(run, exit_status.from_wait(death.status))
            self.own_children.discard(death.pid)
        for run in list(self._ending.values()):
            self._finish_if_empty(run)

    def _keeper_ended(self, run: Optional[Run], pid: int) -> None:
        runner = self.runners.ended(pid) if self.runners is not None else None
        if run is not None:
            run.keeper, run.is_peak_known = None, runner is None or runner.uses == 1

    def _wrapper_ended(self, run: Run, death: Death, orphans: Dict[int, Death]) -> None:
        run.wrapper = None
        run.cpu_ms, peak_rss_mib = exit_status.usage_of(death.usage)
        run.peak_rss_mib = peak_rss_mib if run.is_peak_known else None
        if os.WIFSIGNALED(death.status):
            self._wrapper_was_killed(run, death.pid, orphans)
        elif run.phase == STARTING:
            self.could_not_start(run, f"the shell could not start it (status {exit_status.from_wait(death.status)})")
        else:
            self._main_ended(run, exit_status.from_wait(death.status))

    def _wrapper_was_killed(self, run: Run, pid: int, orphans: Dict[int, Death]) -> None:
        """By somebody outside, or by itself: another wrapper has this run, or the disk is full."""
        trace = run_dir.read_trace(self.source.state, run.name)
        if trace is not None and trace.wrapper_pid not in (None, pid):
            self.adopt(run.name)
        elif trace is None or trace.record is None or (run.phase == STARTING and trace.main_pid is None):
            self._refuse(run, "its record could not be written: is there no space on the disk of the state directory?")
        else:
            self._without_wrapper(run, orphans)

    def _refuse(self, run: Run, reason: str) -> None:
        """Nothing of it ran, and that is our fault and not the job's: it may be tried again under another name."""
        self.runs.pop(run.name, None)
        self.limits.clear(run)
        if run.kill_timer is not None:
            run.kill_timer.cancel()
        if run.cgroup is not None:
            self.members.remove_cgroup(run.cgroup)
        run_dir.erase(self.source.state, run.name)
        self.claims.release(run.name)
        self.send({"op": REFUSED, "run": run.name, "nonce": run.nonce, "reason": reason})

    def _without_wrapper(self, run: Run, orphans: Dict[int, Death]) -> None:
        """No wrapper any more. What it noted is true; else only the job's own process can tell how it ends."""
        run.wrapper = None
        trace = run_dir.read_trace(self.source.state, run.name)
        if trace is None or trace.status is not None or trace.main_pid is None:
            self._main_ended(run, trace.status if trace else None, trace.at_ms if trace else None)
            return
        run.main_pid, run.is_unnoted = trace.main_pid, True
        now = read_stat(trace.main_pid)
        if trace.main_pid in orphans:
            self._main_ended(run, exit_status.from_wait(orphans[trace.main_pid].status))
        elif now is not None and now.ppid == os.getpid():
            self._by_main[trace.main_pid] = run  # the subreaper's reward: wait4 will tell
        elif now is not None and trace.main_pid in self.members.pids(run):
            self._watch(now.id, lambda: self._main_ended(run, None))
        else:
            self._main_ended(run, None)

    def _watch(self, process: Optional[ProcessId], then: Callable[[], None]) -> None:
        """Call `then` when that process, no child of ours, has ended; at once if it has."""
        fd = watch(process) if process is not None else None
        if fd is None:
            then()
            return
        pidfd = fd

        def ended(_: int) -> None:
            self.loop.unwatch(pidfd)
            os.close(pidfd)
            then()

        self.loop.watch(pidfd, READABLE, ended)

    # -- the end

    def _main_ended(self, run: Run, status: Optional[int], at_ms: Optional[int] = None) -> None:
        """The job's own process has ended. The GPU is given out again only when nothing of the run is left, so what
        it left behind is ended too, and `exited` carries the status of the job's own process."""
        if run.phase in (ENDING, ENDED):
            return
        run.status, run.at_ms = status, at_ms
        exit_status.account(run)
        if not self.members.has_any(run):
            self._finish(run)
            return
        run.phase = ENDING
        self._ending[run.name] = run
        self.terminate(run)  # also those that were born while the others were told
        if run.stop_why is None:
            self.kill_at(run, boot_ms() + _LEFTOVER_GRACE_MS)
        self._look_again(run, _FIRST_LOOK_S)

    def _look_again(self, run: Run, after_s: float) -> None:
        """Orphans that are not our children end without a signal to us: look, ever less often."""

        def look() -> None:
            self._finish_if_empty(run)
            if run.phase == ENDING:
                self._look_again(run, min(after_s * 2, _LONGEST_LOOK_S))

        self.loop.after(after_s, look)

    def _finish_if_empty(self, run: Run) -> None:
        if run.phase == ENDING:
            exit_status.account(run)
            if not self.members.has_any(run):
                self._finish(run)

    def _finish(self, run: Run) -> None:
        run.phase = ENDED
        run.at_ms = run.at_ms or wall_ms()
        exit_status.judge(run)
        if run.is_unnoted and run.status is not None:  # nobody else will: its wrapper is dead, and we may die too
            with contextlib.suppress(OSError):
                run_dir.note_status(self.source.state, run.name, run.status)
        self.limits.clear(run)
        if run.kill_timer is not None:
            run.kill_timer.cancel()
        was_clean = self._ending.pop(run.name, None) is None and run.stop_why is None
        self.claims.release(run.name)  # before the answer: the next job may come at once
        limit_logs(run)  # before the answer: who hears of the end may copy the log
        self.reports.finish(run)
        self.answer(run)
        self.on_end(run)
        if run.keeper is not None and self.runners is not None:
            self.runners.give_back(run.keeper) if was_clean else self.runners.retire(run.keeper)
            run.keeper = None

    # -- stopping

    def stop(self, run: Run, why: str, grace_ms: int) -> None:
        """TERM now, KILL after the grace; again with a shorter grace to hurry it up."""
        kill_boot_ms = boot_ms() + grace_ms
        is_first = run.stop_why is None
        if is_first:
            run.stop_why = why
            self.limits.clear(run)
        if is_first or run.kill_boot_ms is None or kill_boot_ms < run.kill_boot_ms:
            run.kill_boot_ms = kill_boot_ms
            _note(run, "stop", {"why": run.stop_why, "kill_boot_ms": kill_boot_ms})
        if is_first and run.phase != STARTING:
            self.terminate(run)
        self.kill_at(run, run.kill_boot_ms or kill_boot_ms)

    def terminate(self, run: Run) -> None:
        """TERM to every process, once; a frozen one must thaw to hear it."""
        self.members.terminate(run)
        if run.is_paused:
            run.paused_since = None
            self.members.freeze(run, False)

    def kill_at(self, run: Run, at_boot_ms: int) -> None:
        """KILL then, and again until nothing is left."""
        if run.kill_timer is not None:
            run.kill_timer.cancel()
        run.kill_timer = self.loop.after(max(0, at_boot_ms - boot_ms()) / 1000, lambda: self._kill(run, _FIRST_LOOK_S))

    def _kill(self, run: Run, again_s: float) -> None:
        if run.phase == ENDED:
            return
        run.was_killed = True
        self.members.kill(run)
        later = min(again_s * 2, 1.0)
        run.kill_timer = self.loop.after(again_s, lambda: self._kill(run, later))

    def _warn(self, run: Run) -> None:
        _note(run, "warned", {"at_boot_ms": boot_ms()})
        if run.record is not None:
            self.members.warn(run, run.record.warn_signal)

    def _time_is_up(self, run: Run) -> None:
        self.stop(run, TIME, run.record.grace_ms if run.record else 0)


def _wait_all() -> Iterator[Death]:
    while True:
        try:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        yield Death(pid, status, usage)


def _note(run: Run, name: str, values: Dict[str, Any]) -> None:
    """Keep it for a later daemon. A full disk must not keep us from ending a run."""
    with contextlib.suppress(OSError):
        run_dir.note(run.path, name, values)
