"""What the live feed tells, for the OpenAPI document. Values are made in `server/views/dashboard_state`."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from roost.api.answers import CpuSlots, GpuFacts, GpuJob, Notice
from roost.api.document import component
from roost.api.job_answers import BriefJob, Time
from roost.api.node_answers import Node


class TileJob(GpuJob):
    """A job on a GPU, and since when."""

    since: Time


class Foreign(msgspec.Struct):
    """A process on a GPU that is not Roost's."""

    pid: int
    user: str | None
    command: str | None
    mem_mib: int | None


class Tile(GpuFacts):
    """A GPU as a dashboard shows it; `mem_roost_mib` and `mem_foreign_mib` are what processes use."""

    mem_roost_mib: int | None
    mem_foreign_mib: int | None
    jobs: list[TileJob]
    procs: list[Foreign]


class LiveServer(msgspec.Struct):
    """The server; `boot` is another one after every start."""

    version: str
    since: Time
    boot: str


class LiveState(msgspec.Struct):
    """All that a dashboard shows: the head of the queue, what runs, what ended lately, and all of those jobs in brief."""

    at: Time
    server: LiveServer
    scheduling: Literal["on", "paused"]
    policy: str
    health: list[str]
    notice: Notice | None
    private: bool
    counts: dict[str, int]
    cpu: CpuSlots
    nodes: list[Node]
    queued_total: int
    queue: list[int]
    running: list[int]
    ended: list[int]
    gpus: list[Tile]
    jobs: list[BriefJob]


class JobPart(msgspec.Struct):
    """All of a job that was not shown before; else its id and what changed of it."""

    id: int


class LiveChange(msgspec.Struct, kw_only=True):
    """What changed: `gpus` by UUID and only the fields that did; `many`: more than that happened to jobs."""

    at: Time
    scheduling: Literal["on", "paused"] | UnsetType = UNSET
    policy: str | UnsetType = UNSET
    health: list[str] | UnsetType = UNSET
    notice: Notice | UnsetType | None = UNSET
    private: bool | UnsetType = UNSET
    counts: dict[str, int] | UnsetType = UNSET
    cpu: CpuSlots | UnsetType = UNSET
    nodes: list[Node] | UnsetType = UNSET
    queued_total: int | UnsetType = UNSET
    queue: list[int] | UnsetType = UNSET
    running: list[int] | UnsetType = UNSET
    ended: list[int] | UnsetType = UNSET
    gpus: dict[str, dict[str, Any]] | UnsetType = UNSET
    gpu_set: list[Tile] | UnsetType = UNSET
    jobs: list[JobPart] | UnsetType = UNSET
    removed: list[int] | UnsetType = UNSET
    many: Literal[True] | UnsetType = UNSET
    settings: Literal[True] | UnsetType = UNSET
    users: Literal[True] | UnsetType = UNSET


class LiveBye(msgspec.Struct):
    """Why nothing more comes."""

    reason: Literal["locked", "expired", "ended", "shutdown"]


def event_schema() -> dict[str, Any]:
    """One server-sent event, as those who read the document see it."""
    told = {"state": LiveState, "change": LiveChange, "bye": LiveBye}
    data = {"contentMediaType": "application/json", "contentSchema": {"anyOf": [component(kind) for kind in told.values()]}}
    return {
        "type": "object",
        "required": ["event", "data"],
        "properties": {
            "event": {"enum": list(told)},
            "data": {"type": "string", **data},
            "retry": {"type": "integer"},
        },
    }
