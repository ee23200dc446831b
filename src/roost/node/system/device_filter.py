"""Which GPUs the processes of a cgroup can open: a BPF program on the cgroup (version 2), loaded through `bpf(2)`.

It denies the character devices of NVIDIA's GPUs and MIG slices that the run was not given, and nothing else: `nvidiactl`,
`nvidia-uvm` and every other device stay as they are. The kernel asks it at each `open`, for every process in the cgroup or
below it, whatever its uid. It goes when its cgroup goes. Needs root. See `docs/design/0020-devices.md`.
"""

from __future__ import annotations

import ctypes
import errno
import glob
import os
import platform
import re
import struct
from collections import OrderedDict
from typing import Dict, FrozenSet, Iterable, List, NamedTuple, Optional, Tuple

from roost.node.state_dir import closing, read_or_empty

# The major and minor number of a device file.
Device = Tuple[int, int]
NVIDIA_MAJOR = 195
# `/dev/nvidia0` … `/dev/nvidia253`; 254 is nvidia-modeset, 255 is nvidiactl.
_LAST_GPU_MINOR = 253
_CARDS, _CARD_LINES = "/proc/driver/nvidia/gpus/*/information", ("GPU UUID", "Device Minor")
_CAPS = "nvidia-caps"
_MIG_MINORS = "/proc/driver/nvidia-caps/mig-minors"

_SYS_BPF = {"x86_64": 321, "aarch64": 280, "ppc64le": 361, "riscv64": 280, "s390x": 351}
_PROG_LOAD, _PROG_ATTACH = 5, 8
_CGROUP_DEVICE_PROGRAM, _CGROUP_DEVICE_ATTACH, _ALLOW_MULTI = 15, 6, 2
_CHARACTER_DEVICE = 2
_ATTRIBUTES_BYTES = 128
_MAX_PROGRAMS = 64

# Opcodes of the few instructions in use: r1 is the context (access_type, major, minor), r0 the answer.
_LOAD, _AND, _MOVE, _JUMP, _EQUAL, _NOT_EQUAL, _GREATER, _EXIT = 0x61, 0x57, 0xB7, 0x05, 0x15, 0x55, 0x25, 0x95
_ALLOW, _DENY = "allow", "deny"


class _Step(NamedTuple):
    """An instruction; `to` is a label, or how many instructions it skips."""

    code: int
    register: int = 0
    source: int = 0
    to: object = 0
    value: int = 0


class Filters:
    """Device filters, each loaded once for a set of devices and shared by all runs that have it."""

    def __init__(self) -> None:
        self._loaded: OrderedDict[Tuple[FrozenSet[Device], FrozenSet[Device]], int] = OrderedDict()

    def attach(self, path: str, allowed: Iterable[Device]) -> None:
        """Let the cgroup open no GPU but these. Raises OSError."""
        program = self._program(frozenset(allowed), frozenset(mig_devices().values()))
        with closing(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as directory:
            _bpf(_PROG_ATTACH, struct.pack("IIII", directory, program, _CGROUP_DEVICE_ATTACH, _ALLOW_MULTI))

    def _program(self, allowed: FrozenSet[Device], slices: FrozenSet[Device]) -> int:
        key = allowed, slices
        if key in self._loaded:
            self._loaded.move_to_end(key)
            return self._loaded[key]
        fd = self._loaded[key] = _load(filter_code(allowed, slices))
        if len(self._loaded) > _MAX_PROGRAMS:
            os.close(self._loaded.popitem(last=False)[1])
        return fd


def gpu_device(minor: int) -> Device:
    """The device file of a card."""
    return NVIDIA_MAJOR, minor


def card_devices() -> Dict[str, Device]:
    """The device file of each card by the card's UUID, as the kernel's module tells."""
    found: Dict[str, Device] = {}
    for path in glob.glob(_CARDS):
        uuid, minor = (re.search(rf"^{name}:\s+(\S+)", read_or_empty(path), re.MULTILINE) for name in _CARD_LINES)
        if uuid is not None and minor is not None and minor.group(1).isdigit():
            found[uuid.group(1)] = gpu_device(int(minor.group(1)))
    return found


def mig_devices() -> Dict[str, Device]:
    """The device files that open MIG slices, by the driver's names for them: `gpu0/gi1/access`, `gpu0/gi1/ci0/access`."""
    names = re.findall(r"^(gpu\d+/gi\d+/(?:ci\d+/)?access) (\d+)$", read_or_empty(_MIG_MINORS), re.MULTILINE)
    found = re.search(rf"^ *(\d+) {_CAPS}$", read_or_empty("/proc/devices"), re.MULTILINE) if names else None
    return {name: (int(found.group(1)), int(minor)) for name, minor in names} if found is not None else {}


def filter_code(allowed: Iterable[Device], slices: Iterable[Device]) -> bytes:
    """The program: no card but those allowed, none of these slices that is not allowed. Pure."""
    kept = frozenset(allowed)
    steps: List[Tuple[Optional[str], _Step]] = [
        (None, _Step(_LOAD, 2, 1, 0)),
        (None, _Step(_AND, 2, value=0xFFFF)),
        (None, _Step(_NOT_EQUAL, 2, to=_ALLOW, value=_CHARACTER_DEVICE)),
        (None, _Step(_LOAD, 3, 1, 4)),
        (None, _Step(_LOAD, 4, 1, 8)),
    ]
    cards = sorted(minor for major, minor in kept if major == NVIDIA_MAJOR)
    steps += [(None, _Step(_NOT_EQUAL, 3, to="slices", value=NVIDIA_MAJOR))]
    steps += [(None, _Step(_EQUAL, 4, to=_ALLOW, value=minor)) for minor in cards]
    steps += [(None, _Step(_GREATER, 4, to=_ALLOW, value=_LAST_GPU_MINOR)), (None, _Step(_JUMP, to=_DENY))]
    label: Optional[str] = "slices"
    for major, minor in sorted(frozenset(slices) - kept):
        steps += [(label, _Step(_NOT_EQUAL, 3, to=1, value=major)), (None, _Step(_EQUAL, 4, to=_DENY, value=minor))]
        label = None
    steps += [(label, _Step(_JUMP, to=_ALLOW))]
    steps += [
        (_ALLOW, _Step(_MOVE, 0, value=1)),
        (None, _Step(_EXIT)),
        (_DENY, _Step(_MOVE, 0, value=0)),
        (None, _Step(_EXIT)),
    ]
    return _assemble(steps)


def _assemble(steps: List[Tuple[Optional[str], _Step]]) -> bytes:
    places = {label: at for at, (label, _) in enumerate(steps) if label is not None}
    code = b""
    for at, (_, step) in enumerate(steps):
        skip = places[step.to] - at - 1 if isinstance(step.to, str) else step.to
        code += struct.pack("=BBhi", step.code, step.register | step.source << 4, skip, step.value)
    return code


def _load(code: bytes) -> int:
    instructions, licence = ctypes.create_string_buffer(code, len(code)), ctypes.create_string_buffer(b"GPL")
    attributes = struct.pack(
        "IIQQ", _CGROUP_DEVICE_PROGRAM, len(code) // 8, ctypes.addressof(instructions), ctypes.addressof(licence)
    )
    fd = _bpf(_PROG_LOAD, attributes)
    os.set_inheritable(fd, False)
    return fd


def _bpf(command: int, attributes: bytes) -> int:
    number = _SYS_BPF.get(platform.machine())
    if number is None:
        raise OSError(errno.ENOSYS, "the number of bpf is not known here")
    libc = ctypes.CDLL(None, use_errno=True)
    room = ctypes.create_string_buffer(attributes, _ATTRIBUTES_BYTES)
    result = libc.syscall(ctypes.c_long(number), ctypes.c_int(command), room, ctypes.c_uint(_ATTRIBUTES_BYTES))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return int(result)
