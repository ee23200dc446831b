"""Makes what starts runs and what watches them, and hands each what it needs."""

from __future__ import annotations

import os
import socket
from typing import Callable, Optional, Set, Tuple

from roost.node.claims.claims import Claims
from roost.node.gpus.driver import Inventory
from roost.node.protocol import Message
from roost.node.runs.adoption import Source
from roost.node.runs.job_reports import Reports
from roost.node.runs.lifecycle import Lifecycle
from roost.node.runs.notice_pipe import Notices, open_notice_pipe
from roost.node.runs.run import Run
from roost.node.runs.run_usage import MemoryUse
from roost.node.runs.runner import Runners
from roost.node.runs.spawn import Spawner
from roost.node.system.cgroup import Cgroups
from roost.node.system.event_loop import Loop


def make_run_parts(
    loop: Loop,
    source: Source,
    cgroups: Optional[Cgroups],
    claims: Claims,
    inventory: Inventory,
    *,
    sim_dir: Optional[str],
    send: Callable[[Message], None],
    report: Callable[[str], None],
    on_end: Callable[[Run], None],
) -> Tuple[Spawner, Lifecycle, MemoryUse, Notices]:
    """Runners are used only where there are cgroups, and memory files to give them orders in."""
    own_children: Set[int] = set()
    reader, writer = open_notice_pipe()
    runners = None
    if cgroups is not None and hasattr(os, "memfd_create"):
        runners = Runners(loop, cgroups, source.state.active, writer, own_children, claims, inventory)
    node = socket.gethostname()
    spawner = Spawner(source.state, cgroups, source.boot, node, writer, claims, runners, sim_dir)
    life = Lifecycle(loop, source, cgroups, claims, runners, own_children, Reports(send, report), send, on_end)
    return spawner, life, MemoryUse(send), Notices(reader, life)
