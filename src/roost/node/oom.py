"""Whether a failed run failed for want of memory: on the GPU by what it last said, on the host by the kernel's count.

Reads; decides nothing but the words.
"""

from __future__ import annotations

import os
import re
from typing import Iterable, Optional

_TAIL_BYTES = 16 * 1024
# What frameworks print last. Deliberately narrow: a line that merely speaks of memory is not enough.
_GPU = re.compile(
    rb"CUDA out of memory"
    rb"|(?:cuda|hip|torch|OutOfMemory)\S*\s*(?:error|Error)?:? (?:CUDA|HIP) out of memory"
    rb"|torch\.(?:cuda\.)?OutOfMemoryError"
    rb"|CUDA_ERROR_OUT_OF_MEMORY"
    rb"|cudaErrorMemoryAllocation"
    rb"|CUDNN_STATUS_ALLOC_FAILED"
    rb"|CUBLAS_STATUS_ALLOC_FAILED"
    rb"|NCCL\s+\S+\s+out of memory"
    rb"|cuda(?:Malloc)?\w* failed:? out of memory"
    rb"|CUDA (?:runtime |driver )?error\W+(?:\d+\W+)?out of memory"
    rb"|HIP out of memory"
    rb"|RESOURCE_EXHAUSTED: Out of memory"
    rb"|ResourceExhaustedError: OOM when allocating"
    rb"|XlaRuntimeError: RESOURCE_EXHAUSTED"
    rb"|cupy\S*\.OutOfMemoryError"
)


def gpu_oom_line(tail: bytes) -> Optional[str]:
    """The last line of this text that says that a GPU had too little memory."""
    hits = list(_GPU.finditer(tail))
    if not hits:
        return None
    found = hits[-1]
    start = tail.rfind(b"\n", 0, found.start()) + 1
    end = tail.find(b"\n", found.end())
    line = tail[start : end if end >= 0 else None].decode("utf-8", "replace").strip()
    return line[:300]


def find_gpu_oom(files: Iterable[str]) -> Optional[str]:
    """The same for the ends of these log files."""
    for path in dict.fromkeys(files):
        line = gpu_oom_line(read_tail(path))
        if line is not None:
            return line
    return None


def read_tail(path: str, limit: int = _TAIL_BYTES) -> bytes:
    """The last bytes of a plain file; empty for anything else."""
    try:
        fd = os.open(path.encode("utf-8", "surrogateescape"), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return b""
    try:
        size = os.fstat(fd).st_size
        return os.pread(fd, limit, max(0, size - limit)) if size else b""
    except OSError:
        return b""
    finally:
        os.close(fd)


def host_oom_kills() -> int:
    """How many processes the kernel of this machine has killed for want of memory since it booted."""
    try:
        with open("/proc/vmstat", encoding="ascii") as file:
            for line in file:
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
    except (OSError, ValueError):
        pass
    return 0
