"""NVIDIA GPUs through `nvidia-smi`, where NVML cannot be loaded. A hundred times slower; knows no MIG."""

from __future__ import annotations

import shutil
import subprocess
from typing import List, Optional

from roost.node.gpus.driver import DriverError, Gpu, GpuProcess, Reading
from roost.node.system.device_filter import card_devices

_LIMIT_S = 60
_LIST = "--query-gpu=index,uuid,name,memory.total"
_SAMPLE = "--query-gpu=memory.used,utilization.gpu,temperature.gpu,power.draw"
_PROCESSES = "--query-compute-apps=pid,used_memory"
_FORMAT = "--format=csv,noheader,nounits"


class SmiDriver:
    """The command; opening it raises `DriverError` where there is none."""

    def __init__(self) -> None:
        self._path = shutil.which("nvidia-smi") or ""
        if not self._path:
            raise DriverError("no nvidia-smi in PATH")

    def list(self) -> List[Gpu]:
        return parse_gpus(self._ask(_LIST))

    def sample(self, gpu: Gpu) -> Reading:
        processes = parse_processes(self._ask(_PROCESSES, "-i", gpu.uuid))
        return parse_reading(self._ask(_SAMPLE, "-i", gpu.uuid), processes)

    def _ask(self, *arguments: str) -> str:
        try:
            done = subprocess.run(
                [self._path, *arguments, _FORMAT], stdin=subprocess.DEVNULL, capture_output=True, timeout=_LIMIT_S
            )
        except (OSError, subprocess.TimeoutExpired) as problem:
            raise DriverError(f"nvidia-smi: {problem}") from None
        text = done.stdout.decode("utf-8", "replace")
        if done.returncode != 0:
            lines = (text + done.stderr.decode("utf-8", "replace")).strip().splitlines()
            raise DriverError(f"nvidia-smi exited {done.returncode}: {lines[0] if lines else 'no output'}")
        return text


def parse_gpus(text: str) -> List[Gpu]:
    gpus, card_files = [], card_devices()
    for line in text.splitlines():
        fields = [field.strip() for field in line.split(",")]
        if len(fields) == 4 and fields[0].isdecimal():
            files = card_files.get(fields[1])
            gpus.append(Gpu(fields[1], int(fields[0]), fields[2], number(fields[3]) or 0, False, files and (files,)))
    return sorted(gpus, key=lambda gpu: gpu.index)


def parse_reading(text: str, processes: List[GpuProcess]) -> Reading:
    fields = [field.strip() for field in text.strip().split(",")]
    if len(fields) != 4:
        raise DriverError(f"nvidia-smi: {text.strip()[:200] or 'no answer'}")
    used, util, temp, power = (number(field) for field in fields)
    return Reading(used, util, temp, power, None, processes)


def parse_processes(text: str) -> List[GpuProcess]:
    processes = []
    for line in text.splitlines():
        pid, _, memory = line.partition(",")
        if pid.strip().isdecimal():
            processes.append(GpuProcess(int(pid), number(memory)))
    return processes


def number(text: str) -> Optional[int]:
    """`[N/A]` and its relatives are unknown."""
    try:
        return int(float(text.strip()))
    except ValueError:
        return None
