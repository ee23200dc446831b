"""The port to a GPU driver, and the GPUs that it listed last. Any call may hang or fail: see `sampler.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, List, NamedTuple, Optional, Protocol, Tuple

from roost.node.system.device_filter import Device


@dataclass(frozen=True)
class Gpu:
    """One device that jobs can be given: a card, or a MIG slice of one."""

    uuid: str
    index: int
    model: str
    mem_mib: int
    mig: bool
    devices: Optional[Tuple[Device, ...]] = None
    """The device files that open it and no other; None: the driver does not tell."""

    def to_json(self) -> Dict[str, Any]:
        """As `hello` and `inventory` carry it."""
        return dict(self.__dict__)

    @staticmethod
    def from_json(told: Dict[str, Any]) -> Gpu:
        """One that `to_json` wrote."""
        devices = told.get("devices")
        return Gpu(**{**told, "devices": None if devices is None else tuple((major, minor) for major, minor in devices)})


class GpuProcess(NamedTuple):
    """One process on a device; memory is None where the driver does not tell."""

    pid: int
    mem_mib: Optional[int]


class Reading(NamedTuple):
    """A device at one moment. None is unknown, which is neither zero nor free."""

    mem_used_mib: Optional[int]
    util: Optional[int]
    temp_c: Optional[int]
    power_w: Optional[int]
    fault: Optional[str]
    processes: List[GpuProcess]


class DriverError(Exception):
    """The driver answered that it cannot; the text is for people."""


class Driver(Protocol):
    """What every adapter offers. Both calls may block for ever; both raise `DriverError` when the driver says no."""

    def list(self) -> List[Gpu]:
        """The devices, in the order of their index."""

    def sample(self, gpu: Gpu) -> Reading:
        """What is on that device now."""


class Inventory:
    """Which GPUs there are. The driver may take a while to answer: until then none is known."""

    def __init__(self, gpus: Optional[List[Gpu]] = None) -> None:
        self.gpus = gpus or []
        self.is_known = gpus is not None

    def set(self, gpus: List[Gpu]) -> None:
        self.gpus, self.is_known = gpus, True
