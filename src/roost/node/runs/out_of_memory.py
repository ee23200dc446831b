"""Whether a failed run ran out of GPU or host memory, by the end of its logs.

A plain bug that came after such an error counts more: a job that caught the error has not failed of it.
"""

from __future__ import annotations

import os
import re
from collections import deque
from typing import Match, NamedTuple, Optional

from roost.node.runs.sayings import said
from roost.node.state_dir import closing

GPU = "gpu"
HOST = "host"
# Enough for what other ranks still say when one of them has met the end of its memory.
_TAIL_BYTES = 64 * 1024
_LAST_LINES = 300
_LONGEST_LINE = 300
# What frameworks print last. Deliberately narrow: a line that merely speaks of memory is not enough.
_GPU = re.compile(
    rb"(?:CUDA|HIP) out of memory"
    rb"|torch\.(?:cuda\.)?OutOfMemoryError"
    rb"|(?:CUDA|HIP)_ERROR_OUT_OF_MEMORY"
    rb"|cudaErrorMemoryAllocation|hipErrorOutOfMemory"
    rb"|CUDNN_STATUS_ALLOC_FAILED"
    rb"|CU(?:BLAS|SOLVER|SPARSE|FFT)_(?:STATUS_)?ALLOC_FAILED"
    rb"|NCCL\s+\S+\s+out of memory"
    rb"|cuda(?:Malloc)?\w* failed:? out of memory"
    rb"|(?:CUDA|HIP) (?:runtime |driver )?error\W+(?:\d+\W+)?out of memory"
    rb"|RESOURCE_EXHAUSTED: (?:Out of memory|OOM)"
    rb"|ResourceExhaustedError\b.*(?:OOM when allocating|failed to allocate memory)"
    rb"|OOM when allocating tensor"
    rb"|XlaRuntimeError: RESOURCE_EXHAUSTED"
    rb"|cupy\S*\.OutOfMemoryError"
)
_HOST = re.compile(
    rb"^(?:\w+\.)*_?(?:Array)?MemoryError\b"
    rb"|terminate called after throwing an instance of 'std::bad_alloc'|what\(\): +std::bad_alloc"
    rb"|^OSError: \[Errno 12\] Cannot allocate memory"
    rb"|DefaultCPUAllocator: (?:can't allocate|not enough) memory"
    rb"|^java\.lang\.OutOfMemoryError|Exception in thread .*java\.lang\.OutOfMemoryError",
    re.MULTILINE,
)
# Python's exceptions for mistakes in a program. Others may follow from the want of memory: ranks that lose one another.
_BUG = re.compile(
    rb"^(?:Name|Type|Value|Key|Index|Attribute|Import|ModuleNotFound|Assertion|ZeroDivision|FileNotFound|Syntax|Indentation"
    rb"|NotImplemented|UnboundLocal|Permission|Recursion)Error\b",
    re.MULTILINE,
)
_TRACEBACK = b"Traceback (most recent call last):"
_CHAINED = (b"During handling of the above exception", b"The above exception was the direct cause")


class Shortage(NamedTuple):
    """Which memory was too small, and what people are told."""

    memory: str
    text: str


def find_oom(err: str, out: str) -> Optional[Shortage]:
    """What the ends of these two log files say; they may be one."""
    return judge_text(read_tail(err), b"" if out == err else read_tail(out))


def judge_text(err: bytes, out: bytes) -> Optional[Shortage]:
    """The same for the last words themselves; those on standard error weigh more."""
    err, out = _last_lines(err), _last_lines(out)
    for pattern, memory in ((_GPU, GPU), (_HOST, HOST)):
        for text, has_bug in ((err, False), (out, _has_bug(err, 0))):
            found = deque(pattern.finditer(text), maxlen=1)
            if found and not has_bug and not _has_bug(text, found[0].end()):
                return Shortage(memory, _words(memory, _line_of(text, found[0])))
    return None


def _last_lines(text: bytes) -> bytes:
    return b"\n".join(text.split(b"\n")[-_LAST_LINES:])


def _has_bug(text: bytes, start: int) -> bool:
    """Whether, from there on, a traceback of its own ends in a mistake of the program."""
    begin = text.rfind(_TRACEBACK, start)
    return begin >= 0 and _BUG.search(text, begin) is not None and not any(words in text[start:] for words in _CHAINED)


def _line_of(text: bytes, found: Match[bytes]) -> str:
    start = text.rfind(b"\n", 0, found.start()) + 1
    end = text.find(b"\n", found.end())
    return text[start : end if end >= 0 else None].decode("utf-8", "replace").strip()[:_LONGEST_LINE]


def _words(memory: str, line: str) -> str:
    of_gpu = "attempt.hip_memory_log" if "HIP" in line else "attempt.cuda_memory_log"
    return said("attempt.host_memory_log" if memory == HOST else of_gpu, line=line)


def read_tail(path: str, limit: int = _TAIL_BYTES) -> bytes:
    """The last bytes of a plain file; empty for anything else."""
    try:
        with closing(os.open(path.encode("utf-8", "surrogateescape"), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)) as fd:
            size = os.fstat(fd).st_size
            return os.pread(fd, limit, max(0, size - limit)) if size else b""
    except (OSError, ValueError):
        return b""
