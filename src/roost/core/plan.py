"""What starts now, and where; and for what does not, why. Functions of values: the same cluster gives the same answer."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify, heappop, heappush

import msgspec

from roost.core.cluster import NO_CONDITIONS, Cluster
from roost.core.model import Job, Request
from roost.core.placement import Place, Space
from roost.core.policy import Key, find
from roost.core.reasons import Ahead, Held, NotBefore, Reason, Refusal, SchedulingPaused, WaitsForJob
from roost.core.states import State

Head = tuple[tuple[int, ...], Job, Iterator[Job]]


class Start(msgspec.Struct, frozen=True):
    """A job and where it will run."""

    job: Job
    place: Place


def plan(cluster: Cluster, now_ms: int, limit: int = 256) -> list[Start]:
    """Choose what starts: heads of lines in the policy's order, whatever fits.

    One shape has one answer: a line whose head does not fit is done for this round, and so is every line that asks the same.
    At most `limit` starts, so that a round stays short; the next follows at once.
    """
    if cluster.is_paused or not cluster.lines:
        return []
    space = Space(cluster)
    full = {kind: space.is_full(of_gpus=kind) for kind in (True, False)}
    if all(full.values()):
        return []
    key = find(str(cluster.settings["policy"]))
    heads = _heads(cluster, key, now_ms)
    starts: list[Start] = []
    refused: set[Request] = set()
    while heads and len(starts) < limit:
        _, job, followers = heappop(heads)
        request = job.shape.request
        if full[request.gpus > 0] or request in refused:
            continue
        found = space.place(request)
        if isinstance(found, Refusal):
            refused.add(request)
            continue
        space.give(job.id, request, found)
        starts.append(Start(job, found))
        full[request.gpus > 0] = space.is_full(of_gpus=request.gpus > 0)
        if all(full.values()):
            break
        if (follower := next(followers, None)) is not None:
            heappush(heads, (key(follower, cluster, now_ms), follower, followers))
    return starts


def _heads(cluster: Cluster, key: Key, now_ms: int) -> list[Head]:
    heads: list[Head] = []
    for line in cluster.lines.values():
        followers = cluster.in_line(line)
        if (job := next(followers, None)) is not None:
            heads.append((key(job, cluster, now_ms), job, followers))
    heapify(heads)
    return heads


def explain(cluster: Cluster, job: Job, now_ms: int, place: int | None = None) -> tuple[Reason, ...]:
    """Every reason why a waiting job does not start now, its own first, then what it lacks.

    `place` is how many jobs stand before it in the queue, for the case that it would fit; None when that is not known.
    """
    reasons: list[Reason] = list(own_reasons(cluster, job, now_ms))
    if cluster.is_paused:
        reasons.append(SchedulingPaused())
    found = Space(cluster).place(job.shape.request)
    if isinstance(found, Refusal):
        reasons.extend(found.reasons)
    elif not reasons:
        reasons.append(Ahead(jobs=place))
    return tuple(reasons)


def own_reasons(cluster: Cluster, job: Job, now_ms: int) -> Iterator[Reason]:
    """What keeps this job that has nothing to do with resources."""
    if job.id in cluster.held:
        yield Held()
    conditions = cluster.conditions.get(job.id, NO_CONDITIONS)
    for dependency in conditions.after:
        state = cluster.state_of(dependency.job) or State.ENDED
        yield WaitsForJob(job=dependency.job, wants=dependency.wants, state=state.value)
    if conditions.begin_ms is not None and conditions.begin_ms > now_ms:
        left_s = -(-(conditions.begin_ms - now_ms) // 1000)
        yield NotBefore(begin_ms=conditions.begin_ms, left_s=left_s, attempts=job.attempts)
