"""When a waiting job will probably start, what is ahead of it, who holds what it lacks, what would start now.

A twin of the cluster is made in the loop, which is quick; all else is thought out on it in a thread. What was foretold, of
jobs that somebody asked about and of a few others, is held against what then happens: so the answers learn how far off they
are. Nothing of it is stored: a new server learns again.
"""

import asyncio
from collections.abc import Callable

import msgspec

from roost.answers import jobs as answers
from roost.core import events as ev
from roost.core.cluster import NO_CONDITIONS, Cluster
from roost.core.estimates.alternatives import Instead, instead
from roost.core.estimates.forecast import Forecast, Misses, Supposed, run_ahead, run_end_ms, twin
from roost.core.estimates.queue_ahead import Queue, ahead_of
from roost.core.model import Job
from roost.core.plan.planner import explain
from roost.core.predictions import Outlook
from roost.core.reasons import Holder, Reason
from roost.server.clock import rfc3339

EVERY_MS = 30_000
"""How often a job is foretold that nobody asked about."""
SOON_S = 1.0
MAX_HOLDERS = 50


class JobForecast(msgspec.Struct, frozen=True):
    """All that can be said of a waiting job besides its reasons."""

    forecast: Forecast
    ahead: Queue
    holders: list[answers.Holding]
    instead: tuple[Instead, ...]
    outlook: Outlook
    has_learned: bool


def foresee(spent: Cluster, job: Job, now_ms: int) -> JobForecast:
    """Think it out on a twin that nobody needs any longer."""
    reasons = explain(spent, job, now_ms)
    return JobForecast(
        ahead=ahead_of(spent, job, now_ms),
        holders=_holding(spent, reasons, now_ms),
        instead=tuple(instead(spent, job, now_ms)),
        outlook=spent.learned.outlook(job.shape),
        has_learned=spent.learned.ended > 0,
        forecast=run_ahead(spent, job.id, now_ms),  # last: it leaves the twin in another time
    )


def _holding(cluster: Cluster, reasons: tuple[Reason, ...], now_ms: int) -> list[answers.Holding]:
    """Who holds what is missing, those first that will probably be gone first."""
    named: dict[int, Holder] = {h.job: h for reason in reasons for h in getattr(reason, "holders", ())}
    active = {job: cluster.active[job] for job in named if job in cluster.active}
    ends_ms = sorted((run_end_ms(cluster, one, now_ms), job) for job, one in active.items())
    return [
        answers.Holding(
            job=job,
            user=named[job].user,
            state=named[job].state,
            since=rfc3339(active[job].since_ms),
            probably_until=rfc3339(end_ms),
        )
        for end_ms, job in ends_ms[:MAX_HOLDERS]
    ]


class JobForecasts:
    """Forecasts, and how far off they were."""

    def __init__(self, cluster: Callable[[], Cluster], clock: Callable[[], int]) -> None:
        self._cluster, self._clock = cluster, clock
        self.misses = Misses()
        self._next: int | None = None
        self._sampled_ms = 0
        self._task: asyncio.Task[None] | None = None

    async def waiting(self, job: int) -> answers.Estimate | None:
        """What can be said of that job; None when it does not wait."""
        if (found := self._cluster().jobs.get(job)) is None:
            return None
        foreseen = await self._foreseen(found)
        self._remember(job, foreseen.forecast)
        return self._view(foreseen)

    async def supposed(self, asked: Supposed) -> answers.Estimate:
        """The same for a job that does not exist."""
        return self._view(await self._foreseen(asked.job, asked))

    async def _foreseen(self, job: Job, asked: Supposed | None = None) -> JobForecast:
        now_ms, other = self._clock(), twin(self._cluster(), job.id)
        if asked is not None:
            other.apply(ev.Submitted(job.id, now_ms, job, asked.conditions, asked.held))
        return await asyncio.to_thread(foresee, other, job, now_ms)

    def watch(self, event: ev.Event) -> None:
        """Hold what happens against what was foretold, and now and then foretell a job that just came."""
        if isinstance(event, ev.StartIntended):
            self.misses.started(event.id, event.at_ms)
        elif isinstance(event, ev.Submitted):
            is_due = event.at_ms - self._sampled_ms >= EVERY_MS and self._next is None
            if is_due and not event.held and event.conditions == NO_CONDITIONS:
                self._next = event.id
                asyncio.get_running_loop().call_later(SOON_S, self._sample)
        elif isinstance(event, (ev.Ended, ev.JobHeld, ev.Moved, ev.Edited)):
            self.misses.forget(event.id)

    def _sample(self) -> None:
        """Foretell the job that was chosen, unless it has started meanwhile."""
        job, self._next = self._next, None
        if job is not None and job in self._cluster().open:
            self._sampled_ms = self._clock()
            self._task = asyncio.create_task(self._foretell(job))

    async def _foretell(self, job: int) -> None:
        now_ms, other = self._clock(), twin(self._cluster(), job)
        self._remember(job, await asyncio.to_thread(run_ahead, other, job, now_ms))

    def _remember(self, job: int, said: Forecast) -> None:
        if job in self._cluster().open:
            self.misses.say(job, said)

    # -- as it is shown ---------------------------------------------------------------------------------------------

    def _view(self, seen: JobForecast) -> answers.Estimate:
        return answers.Estimate(
            ahead=seen.ahead,
            holders=seen.holders,
            eta=self._eta_view(seen),
            not_before=_not_before(seen.forecast),
            instead=seen.instead,
            predicted_run_s=round(seen.outlook.typical_s),
            predicted_from=_source(seen.outlook),
        )

    def _eta_view(self, seen: JobForecast) -> answers.Eta | None:
        eta, asked_ms = self.misses.eta(seen.forecast), seen.forecast.asked_ms
        if eta is None:
            return None
        return answers.Eta(
            p50_at=rfc3339(eta.p50_ms),
            p90_at=rfc3339(eta.p90_ms),
            p50_s=(eta.p50_ms - asked_ms) // 1000,
            p90_s=(eta.p90_ms - asked_ms) // 1000,
            basis=_trust(seen.has_learned, eta.checked),
        )


def _not_before(forecast: Forecast) -> str | None:
    """How far it was looked ahead for a start that is not in sight."""
    is_seen = forecast.start_ms is not None or forecast.looked_ms <= forecast.asked_ms
    return None if is_seen else rfc3339(forecast.looked_ms)


_GUESS = "a guess: no run has ended here yet"


def _source(outlook: Outlook) -> str:
    """`14 earlier runs like it`, `120 earlier runs of everyone`."""
    runs = f"{outlook.runs} earlier run{'s' * (outlook.runs != 1)}"
    words = {
        "runs like it": f"{runs} like it",
        "runs of the same command": f"{runs} of the same command",
        "the user's runs of that size": f"{runs} of that size by the same user",
        "the user's runs": f"{runs} by the same user",
        "everyone": f"{runs} of everyone",
    }
    return words.get(outlook.source, _GUESS)


def _trust(has_learned: bool, checked: int) -> str:
    if not has_learned:
        return _GUESS
    if not checked:
        return "how long earlier runs took"
    return f"how long earlier runs took, and how far off {checked} earlier estimate{'s were' if checked > 1 else ' was'}"
