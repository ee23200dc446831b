"""What the node program's `check` printed, as values. It comes from another machine: anything may be in it.

Pure. A part that is missing or makes no sense is `Unknown`, with the words of it; the other parts stand.
"""

from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from roost.links.link import plain
from roost.messages import Message
from roost.messages import plain as plain_text

Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]
Load = Annotated[float, msgspec.Meta(ge=0, le=1e6)]
Device = Annotated[int, msgspec.Meta(ge=0)]
_DEEPEST = 6
_NOT_ENFORCED = ("off", "not_root", "no_cgroup", "unknown")


@dataclass(frozen=True, slots=True)
class Unknown:
    """No answer to one question, and why."""

    why: Message


class GpuFact(msgspec.Struct, frozen=True):
    """A device."""

    model: str
    mem_mib: Count
    mig: bool = False


class GpuFacts(msgspec.Struct, frozen=True):
    """What its driver says. `source`: through what (`nvml`, `nvidia-smi`, `sim`), None when there is no way to it."""

    source: str | None
    gpus: list[GpuFact]
    driver: str | None = None
    cards: Count = 0
    error: str | None = None


class DiskFacts(msgspec.Struct, frozen=True):
    """The file system of the state directory; `error`: why nothing can be written there."""

    path: str
    free_mib: Count
    free_inodes: Count | None = None
    error: str | None = None


class LogoutFacts(msgspec.Struct, frozen=True):
    """What logind does when the last session of this login ends."""

    systemd: bool
    kills: bool
    remove_ipc: bool


class Home(msgspec.Struct, frozen=True):
    """A home directory as one machine sees it (`roost.node.system.home_dir`)."""

    path: str
    exists: bool | None = None
    inode: Device | None = None
    ctime_ns: Device | None = None
    device: Device | None = None
    fs: str | None = None
    error: str | None = None


class AccountFacts(msgspec.Struct, frozen=True):
    """An account of that machine; `python`: one that it may run."""

    exists: bool
    uid: Count | None = None
    gid: Count | None = None
    home: Home | None = None
    python: str | None = None
    error: str | None = None


class _Base(msgspec.Struct, frozen=True, kw_only=True):
    python: str
    python_path: str
    uid: Count
    host: str
    boot: str
    cpus: Count
    load: Load
    began_ms: Count
    at_ms: Count
    accounts: dict[str, Any] = {}


class Facts(_Base, frozen=True, kw_only=True):
    """All of it."""

    login: str | Unknown | None
    gpus: GpuFacts | Unknown
    disk: DiskFacts | Unknown
    cgroups: bool | Unknown
    devices: str | Unknown
    logout: LogoutFacts | Unknown
    max_sessions: int | Unknown | None
    accounts: dict[str, AccountFacts | Unknown] = {}


def read_facts(told: Any) -> Facts | None:
    """The facts in what was printed; None when it is something else."""
    told = _clean(told)
    try:
        base = msgspec.convert(told, _Base)
    except msgspec.ValidationError:
        return None
    named = {name: getattr(base, name) for name in _Base.__struct_fields__ if name != "accounts"}
    return Facts(
        **named,
        login=_part(told.get("login"), str | None),
        gpus=_part(told.get("gpus"), GpuFacts),
        disk=_part(told.get("disk"), DiskFacts),
        cgroups=_part(told.get("cgroups"), bool),
        devices=_part(told.get("devices"), str),
        logout=_part(told.get("logout"), LogoutFacts),
        max_sessions=_part(told.get("max_sessions"), Count | None),
        accounts={name: _part(part, AccountFacts) for name, part in base.accounts.items()},
    )


def gpu_access(devices: str) -> Message:
    """Whether the kernel keeps jobs from GPUs that they were not given, from what a node says of it."""
    if devices in _NOT_ENFORCED:
        return Message(f"check.devices_{devices}")
    return Message("check.devices_kernel", error=devices) if devices else Message("check.devices")


def _part(told: Any, kind: Any) -> Any:
    if isinstance(told, dict) and set(told) == {"error"}:
        return Unknown(plain_text(str(told["error"])))
    try:
        return msgspec.convert(told, kind)
    except msgspec.ValidationError as problem:
        return Unknown(Message("check.invalid_part", why=plain(str(problem))))


def _clean(told: Any, depth: int = 0) -> Any:
    """Every text in it as one short line that steers no terminal."""
    if isinstance(told, str):
        return plain(told)
    if not isinstance(told, (dict, list)):
        return told
    if depth > _DEEPEST:
        return None
    if isinstance(told, list):
        return [_clean(one, depth + 1) for one in told]
    return {plain(str(name)): _clean(one, depth + 1) for name, one in told.items()}
