"""GPUs with what is on them, and the room for jobs without one."""

from typing import Annotated

import msgspec

from roost.answers.users import Notice
from roost.answers.values import StateName, Versioned

GPU_STATES = ["free", "used", "foreign", "claimed", "drained", "disabled", "fault", "unknown", "unreachable"]


class GpuJob(msgspec.Struct, kw_only=True):
    """A job on a GPU."""

    id: int
    user: str
    name: str
    state: StateName
    mem_mib: int


class Foreign(msgspec.Struct, kw_only=True):
    """A process on a GPU that is not Roost's."""

    pid: int
    user: str | None
    command: str | None
    mem_mib: int | None


class GpuProcess(Foreign, kw_only=True):
    """A process on a GPU."""

    job: int | None


class GpuFacts(msgspec.Struct, kw_only=True):
    """What is known of a GPU. `drained` and `disabled` are about itself, whatever is ruled about its node."""

    uuid: str
    index: int
    node: str
    alias: str | None
    model: str
    mig: bool
    mem_mib: int
    mem_used_mib: int | None
    mem_reserved_mib: int
    mem_free_mib: int
    util: int | None
    temp_c: int | None
    power_w: float | None
    slots: int
    drained: bool
    disabled: bool
    state: Annotated[str, msgspec.Meta(extra_json_schema={"enum": GPU_STATES})]
    reason: str | None


class Gpu(GpuFacts, kw_only=True):
    """A GPU with what is on it."""

    jobs: list[GpuJob]
    procs: list[GpuProcess]


class CpuSlots(msgspec.Struct):
    """Room for jobs without a GPU."""

    slots: int
    used: int


class Gpus(Versioned):
    """Every GPU."""

    gpus: list[Gpu]
    cpu: CpuSlots
    notice: Notice | None


class Done(msgspec.Struct):
    """What it was done to: UUIDs of GPUs, names of nodes."""

    done: list[str]
