"""A job for a real GPU: takes memory, says on which device it is, and asks NVML whether that is the one it was given."""

from __future__ import annotations

import os
import sys
import time

import pynvml
import torch


def devices_with_me() -> list[str]:
    """The UUIDs of the devices, cards or MIG slices, on which NVML lists this process."""
    pynvml.nvmlInit()
    found = []
    for index in range(pynvml.nvmlDeviceGetCount()):
        card = pynvml.nvmlDeviceGetHandleByIndex(index)
        for handle in _slices(card) or [card]:
            pids = [p.pid for p in pynvml.nvmlDeviceGetComputeRunningProcesses(handle)]
            if os.getpid() in pids:
                uuid = pynvml.nvmlDeviceGetUUID(handle)
                found.append(uuid if isinstance(uuid, str) else uuid.decode())
    return found


def _slices(card: object) -> list[object]:
    try:
        count = pynvml.nvmlDeviceGetMaxMigDeviceCount(card)
    except pynvml.NVMLError:
        return []
    slices = []
    for index in range(count):
        try:
            slices.append(pynvml.nvmlDeviceGetMigDeviceHandleByIndex(card, index))
        except pynvml.NVMLError:
            continue
    return slices


def main() -> int:
    """`job.py MIB SECONDS`: exit 0 when the process is on exactly the devices that it was given."""
    mib, seconds = int(sys.argv[1]), float(sys.argv[2])
    given = os.environ["ROOST_GPU_UUIDS"].split(",")
    blocks = [
        torch.empty(mib << 20, dtype=torch.uint8, device=f"cuda:{i}").fill_(1) for i in range(torch.cuda.device_count())
    ]
    torch.cuda.synchronize()
    time.sleep(seconds)
    seen = devices_with_me()
    name = torch.cuda.get_device_name(0)
    visible = os.environ["CUDA_VISIBLE_DEVICES"]
    print(f"job {os.environ['ROOST_JOB_ID']}: {name}, CUDA_VISIBLE_DEVICES={visible}, {len(blocks)} device(s)")
    print(f"  given {given}, NVML sees this process on {seen}")
    return 0 if sorted(seen) == sorted(given) and len(blocks) == len(given) else 3


if __name__ == "__main__":
    sys.exit(main())
