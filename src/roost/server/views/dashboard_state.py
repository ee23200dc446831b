"""All that a dashboard shows, as one value; what changed between two of them; and what of it somebody may see.

Pure but for the clock in it. A change that is applied to the picture before it gives the picture after it: a test says so.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from roost.core.cluster import Cluster
from roost.core.plan.placement import Space
from roost.server.clock import rfc3339
from roost.server.identity.redaction import Veil
from roost.server.views.job_views import gpu_view

Json = dict[str, Any]
COLUMNS = ("queue", "running", "ended")
FOREIGN = ("pid", "user", "command", "mem_mib")


class Picture(msgspec.Struct, frozen=True):
    """What is to be seen at one moment."""

    whole: Json
    """What is told whole when it has changed: counts, nodes, the ids of the queue, the notice, …"""
    gpus: dict[str, Json]
    """By UUID, in their order."""
    jobs: dict[int, Json]
    """The brief rows of all jobs that are in one of the columns."""
    settings: Mapping[str, Any]
    users: Any
    """What was ruled about people: told is only that it changed."""


class Others(msgspec.Struct, frozen=True):
    """What happened to jobs since the last picture, those that are in no column of it as well."""

    jobs: Mapping[int, Json] = {}
    """Their brief rows."""
    removed: Collection[int] = ()
    is_many: bool = False
    """More happened than is told here."""


def tile(cluster: Cluster, space: Space, node: str, uuid: str, names: Mapping[int, str]) -> Json:
    """One GPU for a page: foreign processes only, and whose the memory is."""
    view = gpu_view(cluster, space, node, cluster.nodes[node].gpus[uuid], dict(names))
    for job in view["jobs"]:
        job["since"] = rfc3339(cluster.active[job["id"]].since_ms)
    seen = view["mem_used_mib"] is not None
    foreign = [process for process in view["procs"] if process["job"] is None]
    roosts = sum(process["mem_mib"] or 0 for process in view["procs"] if process["job"] is not None)
    view["procs"] = [{key: process[key] for key in FOREIGN} for process in foreign]
    view["mem_roost_mib"] = roosts if seen else None
    view["mem_foreign_mib"] = sum(process["mem_mib"] or 0 for process in foreign) if seen else None
    return view


def state_of(picture: Picture) -> Json:
    """The whole picture, as it is told to somebody who has just come."""
    return {**picture.whole, "gpus": list(picture.gpus.values()), "jobs": list(picture.jobs.values())}


def change_of(old: Picture, new: Picture, others: Others) -> Json:
    """What changed; empty when nothing did. `at` is not a change."""
    change = {key: value for key, value in new.whole.items() if key != "at" and old.whole.get(key) != value}
    if list(old.gpus) != list(new.gpus):
        change["gpu_set"] = list(new.gpus.values())
    elif parts := {uuid: part for uuid, gpu in new.gpus.items() if (part := _part(old.gpus[uuid], gpu))}:
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
    return {"at": new.whole["at"], **change} if change else {}


def calmed(before: Json | None, row: Json) -> Json:
    """A row as it is told: how long a job waits for a time is said again when a tenth of that is over, not every second."""
    was, now = (before or {}).get("reason"), row["reason"]
    if was is None or now is None or (was["code"], now["code"]) != ("not_before", "not_before"):
        return row
    is_same = was["begin_ms"] == now["begin_ms"] and was["left_s"] - now["left_s"] < was["left_s"] / 10
    return {**row, "reason": was} if is_same else row


def _part(old: Json, new: Json) -> Json:
    return {key: value for key, value in new.items() if old[key] != value}


def _rows(old: Picture, new: Picture, others: Others) -> list[Json]:
    """Of jobs that were in the last picture what changed, of all others everything."""
    rows = []
    for number, row in {**others.jobs, **new.jobs}.items():
        before = old.jobs.get(number)
        if before is None:
            rows.append(row)
        elif before is not row and (part := _part(before, row)):
            rows.append({"id": number, **part})
    return rows


# -- for those who may not see everything ---------------------------------------------------------------------------


def veiled_state(veil: Veil, state: Json) -> Json:
    """The state as somebody may see it."""
    gpus = [veil.tile(gpu) for gpu in state["gpus"]]
    return {**state, "gpus": gpus, "jobs": [veil.brief(job, job["user"]) for job in state["jobs"]]}


def veiled_change(veil: Veil, change: Json, owners: Mapping[int, str]) -> Json:
    """A change as somebody may see it; `owners` is whose the jobs in it are."""
    shut: Json = {}
    if "gpus" in change:
        shut["gpus"] = {uuid: veil.tile(part) for uuid, part in change["gpus"].items()}
    if "gpu_set" in change:
        shut["gpu_set"] = [veil.tile(gpu) for gpu in change["gpu_set"]]
    if "jobs" in change:
        shut["jobs"] = [veil.brief(row, owners[row["id"]]) for row in change["jobs"]]
    return {**change, **shut}


def people_in(change: Json, owners: Mapping[int, str]) -> set[str]:
    """Whose work shows in a change: to all others it looks the same under the veil."""
    found = {owners[row["id"]] for row in change.get("jobs", ())}
    tiles = [*change.get("gpus", {}).values(), *change.get("gpu_set", ())]
    for part in tiles:
        found.update(job["user"] for job in part.get("jobs", ()))
        found.update(process["user"] for process in part.get("procs", ()))
    for row in change.get("jobs", ()):
        found.update(process["user"] for process in (row.get("reason") or {}).get("procs", ()))
    return found
