"""What the live feed sends: the whole state of a dashboard, what changed of it, and why it ends."""

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import UNSET, UnsetType

from roost.answers.gpus import CpuSlots, Foreign, GpuFacts, GpuJob
from roost.answers.jobs import BriefJob
from roost.answers.nodes import Node
from roost.answers.settings import Switch
from roost.answers.users import Notice
from roost.answers.values import Time


class TileJob(GpuJob, kw_only=True):
    """A job on a GPU, and since when."""

    since: Time


class Tile(GpuFacts, kw_only=True):
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


class Whole(msgspec.Struct, kw_only=True):
    """What is sent whole when it has changed; `queue`, `running` and `ended` are ids."""

    at: Time
    server: LiveServer
    scheduling: Switch
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


class LiveState(Whole, kw_only=True):
    """All that a dashboard shows: the head of the queue, what runs, what ended lately, and all of those jobs in brief."""

    gpus: list[Tile]
    jobs: list[BriefJob]


def partial(kind: type[msgspec.Struct], name: str, *always: str) -> type[msgspec.Struct]:
    """A struct with the same fields, each of which may be absent, but for some that are there always."""
    fields = [
        (field.name, field.type) if field.name in always else (field.name, field.type | UnsetType, UNSET)
        for field in msgspec.structs.fields(kind)
    ]
    about = {"__doc__": f"What changed of a {kind.__name__}."}
    return msgspec.defstruct(name, fields, kw_only=True, namespace=about, module=__name__)


if TYPE_CHECKING:  # for a type checker they have all fields; a reader checks for UNSET

    class TilePart(Tile): ...

    class BriefPart(BriefJob): ...

    class WholePart(Whole): ...
else:
    TilePart = partial(Tile, "TilePart")
    BriefPart = partial(BriefJob, "BriefPart", "id")
    WholePart = partial(Whole, "WholePart", "at")


class LiveChange(WholePart, kw_only=True):
    """What changed: `gpus` by UUID and only the fields that did; `many`: more than that happened to jobs.

    `jobs`: all of a job that was not shown before; else its id and what changed of it.
    """

    gpus: dict[str, TilePart] | UnsetType = UNSET
    gpu_set: list[Tile] | UnsetType = UNSET
    jobs: list[BriefPart] | UnsetType = UNSET
    removed: list[int] | UnsetType = UNSET
    many: Literal[True] | UnsetType = UNSET
    settings: Literal[True] | UnsetType = UNSET
    users: Literal[True] | UnsetType = UNSET


class LiveBye(msgspec.Struct):
    """Why nothing more comes."""

    reason: Annotated[str, msgspec.Meta(extra_json_schema={"enum": ["locked", "expired", "ended", "shutdown"]})]
