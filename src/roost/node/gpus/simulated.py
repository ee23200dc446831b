"""Simulated GPUs: cards that exist as a specification and processes that say what they use in small files.

`sim/procs/<pid>-<starttime>-<index>.json` is one process on one card; the file of a dead process is dropped.
A simulation with a name (`lab:4x24G`) has the same cards in every state directory, but each sees its own processes only.
`sim/fault-<index>` makes a card faulty with its text; `sim/hang-<index>` makes the driver call for it block.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import time
from typing import Any, Dict, List, Optional, Tuple

from roost.node.gpus.driver import DriverError, Gpu, GpuProcess, Reading
from roost.node.state_dir import closing, read_text
from roost.node.system.device_filter import gpu_device
from roost.node.system.procfs import is_alive, owner_of

_HANG_LOOK_S = 0.05
_MAX_CARDS = 4096
_MAX_MIB = 1 << 40
_NAME = re.compile(r"([A-Za-z][A-Za-z0-9_-]{0,31}|[0-9a-f]{8})\Z")
"""Eight digits are those of a state directory: what works for it has the same cards."""


def parse_sim_spec(text: str) -> List[int]:
    """Card sizes in MiB: `4x24G`, `4` (of 24G each), `2x80G,1x24G`, `lab:4x24G`; raises ValueError with the reason."""
    sizes: List[int] = []
    for part in sim_name(text)[1].split(","):
        count, _, size = part.strip().lower().partition("x")
        if not count.isdigit():
            raise ValueError(f"simulated GPUs must be written like 4x24G, not {text!r}")
        sizes += [parse_mib(size or "24g")] * min(int(count), _MAX_CARDS)
    if len(sizes) > _MAX_CARDS:
        raise ValueError(f"more than {_MAX_CARDS} simulated GPUs")
    return sizes


def sim_name(text: str) -> Tuple[Optional[str], str]:
    """The name of a simulation that servers share, and the rest: `lab:4x24G`. None for one of one's own."""
    name, colon, rest = text.strip().partition(":")
    if not colon:
        return None, text
    if not _NAME.match(name):
        raise ValueError(f"the name of a simulation must be at most 32 letters, digits, - and _, not {name!r}")
    return name, rest


def parse_mib(text: str) -> int:
    """`24G`, `800M`, `24`: gibibytes where no unit is given."""
    text = text.strip().lower()
    for suffix in ("ib", "b"):
        text = text[: -len(suffix)] if text.endswith(suffix) else text
    factor = {"m": 1, "g": 1024, "t": 1024 * 1024}.get(text[-1:], 0)
    digits = text[:-1] if factor else text
    try:
        mib = int(float(digits) * (factor or 1024))
    except ValueError:
        mib = -1
    if mib < 0:
        raise ValueError(f"a size must be written like 24G or 800M, not {text!r}")
    return mib


class SimDriver:
    def __init__(self, directory: str, identity: str, spec: str) -> None:
        self._directory = directory
        self._procs = os.path.join(directory, "procs")
        name = sim_name(spec)[0] or identity
        self._gpus = []
        for index, mib in enumerate(parse_sim_spec(spec)):
            size = f"{mib // 1024}G" if mib % 1024 == 0 else f"{mib}M"
            self._gpus.append(Gpu(f"SIM-{name}-{index}", index, f"Simulated {size}", mib, False, (gpu_device(index),)))
        self._prepare()

    def _prepare(self) -> None:
        """Make the directory, unless root has made it for everybody."""
        if os.path.isdir(self._procs) and os.stat(self._procs).st_uid != os.geteuid():
            return
        os.makedirs(self._procs, mode=0o700, exist_ok=True)
        directory = self._directory
        with open(os.path.join(directory, "cards.json.new"), "w", encoding="ascii") as file:
            json.dump([gpu.to_json() for gpu in self._gpus], file)
        if os.geteuid() == 0:  # the jobs of every account read what cards there are
            os.chmod(os.path.join(directory, "cards.json.new"), 0o644)
        os.replace(os.path.join(directory, "cards.json.new"), os.path.join(directory, "cards.json"))

    def list(self) -> List[Gpu]:
        return list(self._gpus)

    def sample(self, gpu: Gpu) -> Reading:
        while os.path.exists(os.path.join(self._directory, f"hang-{gpu.index}")):
            time.sleep(_HANG_LOOK_S)  # a hung driver call, as long as the file is there
        fault = read_text(os.path.join(self._directory, f"fault-{gpu.index}"))
        if fault is not None:
            raise DriverError(fault.strip() or "simulated fault")
        users = processes_on(self._directory, gpu.uuid)
        used = sum(user["mem_mib"] for user in users)
        util = min(100, sum(user["util"] for user in users))
        processes = [GpuProcess(user["pid"], user["mem_mib"]) for user in users]
        return Reading(used, util, 30 + util // 2, 25 + util * 3, None, processes)


def processes_on(directory: str, uuid: str) -> List[Dict[str, Any]]:
    """What the living simulated processes say that they use on that card; files of dead ones are deleted."""
    folder = os.path.join(directory, "procs")
    users = []
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".json"):
            continue
        user = _read_user(os.path.join(folder, name))
        if user is None:
            continue
        if not is_alive((user["pid"], user["starttime"])):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(folder, name))
        elif user["gpu"] == uuid:
            users.append(user)
    return users


def _read_user(path: str) -> Optional[Dict[str, Any]]:
    """What a process says of itself; None for nonsense, and for what somebody says of another's process."""
    try:
        text, owner = _read_small(path)
        user = json.loads(text)
        found = {key: int(user[key]) for key in ("pid", "starttime", "mem_mib", "util")}
        if not (0 < found["pid"] < 1 << 22 and 0 <= found["mem_mib"] <= _MAX_MIB and 0 <= found["util"] <= 1000):
            return None
        is_others = owner not in (0, os.geteuid()) and owner_of(found["pid"]) not in (None, owner)
        return None if is_others else {**found, "gpu": str(user["gpu"])}
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError, OSError):
        return None


def _read_small(path: str) -> Tuple[str, int]:
    """A short plain file, and whose it is. Others may put anything here: nothing else is followed or waited for."""
    with closing(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)) as fd:
        found = os.fstat(fd)
        return (os.read(fd, 4096).decode("utf-8", "replace") if stat.S_ISREG(found.st_mode) else ""), found.st_uid
