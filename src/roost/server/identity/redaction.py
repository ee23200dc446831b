"""Private mode: hides parts of other users' jobs from users who are not administrators. Pure: answers in, answers out."""

from typing import Any, TypeVar

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from roost.answers.gpus import Foreign, Gpus
from roost.answers.history import Run
from roost.answers.jobs import BriefJob, BriefPage, DryRun, End, HiddenEvent, Job, JobPage, JobShown, Why
from roost.answers.live import Tile
from roost.answers.reasons import Reason, text_of
from roost.answers.sweeps import Sweep, SweepShown
from roost.core import events as ev
from roost.core.events import JobEvent
from roost.core.model import Process
from roost.core.reasons import with_commands_hidden
from roost.messages import from_column, plain
from roost.server.identity.people import Caller
from roost.store.rows import Filter, JobRow

HIDDEN = "(private)"
NOBODY = "?"
_BRIEF: dict[str, Any] = {"name": HIDDEN, "command_line": HIDDEN, "error": None, "labels": ()}
_WHOLE: dict[str, Any] = _BRIEF | {
    "command": [],
    **dict.fromkeys(("desc", "cwd", "stdout", "stderr", "point", "retry"), None),
}
J = TypeVar("J", bound=Job)
B = TypeVar("B", bound=BriefJob)
T = TypeVar("T", bound=Tile)
P = TypeVar("P", Process, Foreign)


SEEN_BY_ALL = (
    *(ev.JobEvent, ev.SettingChanged, ev.SchedulingSwitched, ev.GpuRuled, ev.UserRuled, ev.GroupLimited),
    *(ev.NodeRemoved, ev.NodeDrained, ev.NodeSeen),
)
"""About what everybody is shown. How nodes are reached, and whose files and runs are left there, is for administrators."""


def may_see(user: str, is_admin: bool, event: ev.Event) -> bool:
    """Whether that user is told of the event at all."""
    return is_admin or isinstance(event, SEEN_BY_ALL) or (isinstance(event, ev.LoginSet) and event.user == user)


class Redaction:
    """What one caller is shown."""

    def __init__(self, caller: Caller, is_private: bool) -> None:
        self._name = caller.name
        self.is_down = is_private and not caller.is_admin

    @property
    def viewer(self) -> str | None:
        """The user whose labels alone are shown; None: everyone's."""
        return self._name if self.is_down else None

    def hides(self, user: str | None) -> bool:
        """Whether what that user does is hidden."""
        return self.is_down and user != self._name

    def job(self, job: J) -> J:
        """A whole job."""
        if not self.is_down:
            return job
        job = replace(job, reasons=[self._reason(reason) for reason in job.reasons])
        if job.user == self._name:
            return job
        more: dict[str, Any] = {"story": [], "results": {}} if isinstance(job, JobShown) else {}
        return replace(job, attempts=[replace(attempt, error=None) for attempt in job.attempts], **_WHOLE, **more)

    def page(self, page: JobPage | BriefPage) -> JobPage | BriefPage:
        """A page of a listing."""
        if not self.is_down:
            return page
        if isinstance(page, BriefPage):
            return replace(page, jobs=[self.brief(job, job.user) for job in page.jobs])
        return replace(page, jobs=[self.job(job) for job in page.jobs])

    def brief(self, job: B, user: str) -> B:
        """A job in brief, or a part of that."""
        if not self.is_down:
            return job
        if job.reason:
            job = replace(job, reason=self._reason(job.reason))
        if user == self._name:
            return job
        return replace(job, **{key: value for key, value in _BRIEF.items() if getattr(job, key) is not UNSET})

    def gpus(self, every: Gpus) -> Gpus:
        """Every GPU: the jobs and processes on it."""
        return replace(every, gpus=[replace(gpu, **self._on(gpu)) for gpu in every.gpus]) if self.is_down else every

    def tile(self, gpu: T) -> T:
        """A GPU of a dashboard, or a part of one."""
        return replace(gpu, **self._on(gpu)) if self.is_down else gpu

    def _on(self, gpu: Any) -> dict[str, Any]:
        """What is on a GPU, as far as that is in it."""
        shut: dict[str, Any] = {}
        if gpu.jobs:
            shut["jobs"] = [replace(job, name=HIDDEN) if self.hides(job.user) else job for job in gpu.jobs]
        if gpu.procs:
            shut["procs"] = [self._process(process) for process in gpu.procs]
        return shut

    def _process(self, process: P) -> P:
        return replace(process, command=HIDDEN) if self.hides(process.user) else process

    def _reason(self, reason: Reason) -> Reason:
        """A reason names processes: what they run is their users' own business."""
        if not reason.procs:
            return reason
        hidden = {process.pid for process in reason.procs if self.hides(process.user)}
        text = with_commands_hidden(reason.text, hidden, HIDDEN)
        return replace(reason, text=text, procs=tuple(self._process(process) for process in reason.procs))

    def why(self, why: Why, user: str) -> Why:
        """Why a job waits. Of other users' jobs, only that they do."""
        if not self.is_down:
            return why
        if self.hides(user):
            return replace(why, reasons=[], text=plain(HIDDEN))
        reasons = [self._reason(reason) for reason in why.reasons]
        return replace(why, reasons=reasons, text=text_of(reasons) if reasons else why.text)

    def dry_run(self, answer: DryRun) -> DryRun:
        """When jobs would start: the reasons name other users' processes."""
        if not self.is_down:
            return answer
        return DryRun([replace(job, reasons=[self._reason(reason) for reason in job.reasons]) for job in answer.jobs])

    def ended(self, row: JobRow) -> End:
        """The state of a job that was waited for, or how it ended."""
        error = None if self.hides(row.user) else from_column(row.error)
        return End(id=row.id, state=row.state, outcome=row.outcome, exit_code=row.exit_code, error=error)

    def filter(self, wanted: Filter) -> Filter:
        """The filter without what the caller may not know: labels and names of other users' jobs are hidden."""
        if not self.is_down:
            return wanted
        wanted = replace(wanted, viewer=self._name)
        if not wanted.labels:
            return wanted
        users = tuple(user for user in wanted.users if user == self._name) if wanted.users else (self._name,)
        return replace(wanted, users=users or (NOBODY,))

    def event(self, event: JobEvent, user: str | None) -> JobEvent | HiddenEvent:
        """Something that happened to a job."""
        return msgspec.convert(msgspec.to_builtins(event), HiddenEvent) if self.hides(user) else event

    def sweep(self, sweep: Sweep) -> Sweep:
        """A sweep without its points."""
        return replace(sweep, name=HIDDEN) if self.hides(sweep.user) else sweep

    def sweep_shown(self, sweep: SweepShown) -> SweepShown:
        """A sweep with its points."""
        if not self.hides(sweep.user):
            return sweep
        return replace(sweep, name=HIDDEN, command_line=HIDDEN, where=None, dir=None, params=[], keys=[], points=[])

    def run(self, run: Run) -> Run:
        """A run that ended, of the history."""
        return replace(run, work=HIDDEN) if self.hides(run.user) else run
