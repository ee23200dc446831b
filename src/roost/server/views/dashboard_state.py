"""All that a dashboard shows, as one value; what changed between two of them; and what of it somebody may see.

Pure but for the clock in it. A change that is applied to the picture before it gives the picture after it: a test says so.
"""

from collections.abc import Collection, Mapping
from typing import Any

import msgspec
from msgspec import UNSET
from msgspec.structs import asdict, replace

from roost.answers.gpus import Foreign
from roost.answers.jobs import BriefJob
from roost.answers.live import BriefPart, LiveChange, LiveState, Tile, TileJob, TilePart, Whole
from roost.core.cluster import Cluster
from roost.core.model import Gpu
from roost.core.plan.placement import Space
from roost.server.clock import rfc3339
from roost.server.identity.redaction import Redaction
from roost.server.views.job_views import gpu_facts, processes_on


class DashboardState(msgspec.Struct, frozen=True):
    """What is to be seen at one moment."""

    whole: Whole
    gpus: dict[str, Tile]
    """By UUID, in their order."""
    jobs: dict[int, BriefJob]
    """All jobs that are in one of the columns."""
    settings: Mapping[str, Any]
    users: Any
    """What was ruled about people: told is only that it changed."""


class Others(msgspec.Struct, frozen=True):
    """What happened to jobs since the last picture, those that are in no column of it as well."""

    jobs: Mapping[int, BriefJob] = {}
    removed: Collection[int] = ()
    is_many: bool = False
    """More happened than is told here."""


def tile(cluster: Cluster, space: Space, node: str, gpu: Gpu, names: Mapping[int, str]) -> Tile:
    """One GPU for a page: foreign processes only, and whose the memory is."""
    procs = processes_on(cluster, gpu)
    foreign, own = [p for p in procs if p.run is None], [p for p in procs if p.run is not None]
    facts = gpu_facts(cluster, space, node, gpu)
    is_seen = facts.mem_used_mib is not None
    return Tile(
        **asdict(facts),
        jobs=[_job_on(cluster, claim.job, claim.mem_mib, names) for claim in cluster.claims.get(gpu.uuid, {}).values()],
        procs=[Foreign(pid=p.pid, user=p.user, command=p.command, mem_mib=p.mem_mib) for p in foreign],
        mem_roost_mib=sum(p.mem_mib or 0 for p in own) if is_seen else None,
        mem_foreign_mib=sum(p.mem_mib or 0 for p in foreign) if is_seen else None,
    )


def _job_on(cluster: Cluster, job: int, mem_mib: int, names: Mapping[int, str]) -> TileJob:
    active = cluster.active[job]
    user, since = active.job.shape.user, rfc3339(active.since_ms)
    return TileJob(id=job, user=user, name=names.get(job, ""), state=active.state.value, mem_mib=mem_mib, since=since)


def state_of(picture: DashboardState) -> LiveState:
    """The whole picture, as it is told to somebody who has just come."""
    return LiveState(**asdict(picture.whole), gpus=list(picture.gpus.values()), jobs=list(picture.jobs.values()))


def change_of(old: DashboardState, new: DashboardState, others: Others) -> LiveChange | None:
    """What changed; None when nothing did. `at` is not a change."""
    change = _differences(old.whole, new.whole)
    change.pop("at", None)
    if list(old.gpus) != list(new.gpus):
        change["gpu_set"] = list(new.gpus.values())
    elif parts := {uuid: TilePart(**part) for uuid, gpu in new.gpus.items() if (part := _differences(old.gpus[uuid], gpu))}:
        change["gpus"] = parts
    if rows := _rows(old, new, others):
        change["jobs"] = rows
    if others.removed:
        change["removed"] = sorted(others.removed)
    if others.is_many:
        change["many"] = True
    if old.settings != new.settings:
        change["settings"] = True
    if old.users != new.users:
        change["users"] = True
    return LiveChange(at=new.whole.at, **change) if change else None


def calmed(before: BriefJob | None, row: BriefJob) -> BriefJob:
    """A row as it is told: how long a job waits for a time is said again when a tenth of that is over, not every second."""
    was, now = before.reason if before is not None else None, row.reason
    if was is None or now is None or was.begin_ms is UNSET or was.begin_ms != now.begin_ms:
        return row
    if was.code != now.code or was.left_s is UNSET or now.left_s is UNSET:
        return row
    return replace(row, reason=was) if was.left_s - now.left_s < was.left_s / 10 else row


def _differences(old: msgspec.Struct, new: msgspec.Struct) -> dict[str, Any]:
    """The fields of the new one that differ, by name."""
    if old == new:
        return {}
    return {name: value for name in new.__struct_fields__ if (value := getattr(new, name)) != getattr(old, name)}


def _rows(old: DashboardState, new: DashboardState, others: Others) -> list[BriefPart]:
    """Of jobs that were in the last picture what changed, of all others everything."""
    rows = []
    for number, row in {**others.jobs, **new.jobs}.items():
        before = old.jobs.get(number)
        if before is None:
            rows.append(BriefPart(**asdict(row)))
        elif before is not row and (part := _differences(before, row)):
            rows.append(BriefPart(id=number, **part))
    return rows


# -- for those who may not see everything ---------------------------------------------------------------------------


def veiled_state(veil: Redaction, state: LiveState) -> LiveState:
    """The state as somebody may see it."""
    gpus = [veil.tile(gpu) for gpu in state.gpus]
    return replace(state, gpus=gpus, jobs=[veil.brief(job, job.user) for job in state.jobs])


def veiled_change(veil: Redaction, change: LiveChange, owners: Mapping[int, str]) -> LiveChange:
    """A change as somebody may see it; `owners` is whose the jobs in it are."""
    shut: dict[str, Any] = {}
    if change.gpus is not UNSET:
        shut["gpus"] = {uuid: veil.tile(part) for uuid, part in change.gpus.items()}
    if change.gpu_set is not UNSET:
        shut["gpu_set"] = [veil.tile(gpu) for gpu in change.gpu_set]
    if change.jobs is not UNSET:
        shut["jobs"] = [veil.brief(row, owners[row.id]) for row in change.jobs]
    return replace(change, **shut)


def people_in(change: LiveChange, owners: Mapping[int, str]) -> set[str | None]:
    """Whose work shows in a change: to all others it looks the same under the veil."""
    jobs = change.jobs or ()
    found: set[str | None] = {owners[row.id] for row in jobs}
    for part in (*(change.gpus or {}).values(), *(change.gpu_set or ())):
        found.update(job.user for job in part.jobs or ())
        found.update(process.user for process in part.procs or ())
    for row in jobs:
        if row.reason:
            found.update(process.user for process in row.reason.procs or ())
    return found
