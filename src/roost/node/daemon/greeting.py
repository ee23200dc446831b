"""What a server hears first: `hello`, and then once more what changes seldom."""

from __future__ import annotations

import os
import platform
import socket
from dataclasses import dataclass
from typing import Optional

from roost.node import protocol
from roost.node.daemon.gpu_samples import GpuSamples
from roost.node.daemon.uplink import Uplink
from roost.node.gpus.inventory import Inventory
from roost.node.runs.lifecycle import Lifecycle
from roost.node.runs.usage import MemoryUse
from roost.node.state_dir import StateDir
from roost.node.system.clock import boot_id, wall_ms
from roost.node.system.host import host_load


@dataclass(eq=False)
class Greeter:
    uplink: Uplink
    life: Lifecycle
    samples: GpuSamples
    memory: MemoryUse
    inventory: Inventory
    state: StateDir
    program: str
    sim_dir: Optional[str]

    def greet(self) -> None:
        self.uplink.send(
            {
                "op": protocol.HELLO,
                "protocol": protocol.PROTOCOL,
                "program": self.program,
                "node": socket.gethostname(),
                "pid": os.getpid(),
                "boot": boot_id(),
                "at_ms": wall_ms(),
                "cpus": len(os.sched_getaffinity(0)),
                "mem_mib": host_load()["mem_mib"],
                "python": platform.python_version(),
                "uid": os.getuid(),
                "state_dir": self.state.path,
                "sim_dir": self.sim_dir,
                "gpus": [gpu.to_json() for gpu in self.inventory.gpus],
                "gpus_known": self.inventory.is_known,
                "runs": self.life.report(),
            }
        )
        self.samples.repeat()
        self.memory.repeat()
        self.life.repeat_results()
