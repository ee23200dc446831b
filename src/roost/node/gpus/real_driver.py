"""Opens the driver of the real GPUs. The adapters are imported only when they are used: loading one can hang."""

from __future__ import annotations

import os
from typing import Optional

from roost.node.gpus.driver import Driver, DriverError

NVML, NVIDIA_SMI = "nvml", "nvidia-smi"


def open_driver(source: str) -> Driver:
    """The adapter of that name; raises `DriverError` where it cannot be used."""
    if source == NVML:
        from roost.node.gpus.nvml import NvmlDriver

        return NvmlDriver()
    from roost.node.gpus.nvidia_smi import SmiDriver

    return SmiDriver()


def open_real_driver() -> Optional[Driver]:
    """NVML, else nvidia-smi; None on a machine without NVIDIA GPUs."""
    if not any(os.path.exists(path) for path in ("/dev/nvidiactl", "/proc/driver/nvidia", "/dev/dxg")):
        return None
    try:
        return open_driver(NVML)
    except DriverError:
        return open_driver(NVIDIA_SMI)
