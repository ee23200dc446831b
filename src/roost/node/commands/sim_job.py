"""`sim-job`: a process that behaves like a training job on simulated GPUs, or like a foreign process on one.

Takes memory by writing small files that the simulated driver reads; fails like CUDA when a card is full.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import signal
import sys
import time
from typing import Any, Dict, Iterator, List, Optional

from roost.node.gpus.simulated import parse_mib, processes_on
from roost.node.state_dir import closing, write_text
from roost.node.system.procfs import read_stat

_OOM = (
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate {asked} MiB. GPU {index} has a total capacity of"
    " {total} MiB of which {free} MiB is free."
)


def run(argv: List[str]) -> int:
    options = _parser().parse_args(argv)
    _end_on_signals()
    folder = options.sim_dir or os.environ.get("ROOST_SIM_DIR")
    cards = _cards(folder, options.gpu)
    if not cards:
        print("sim-job: no simulated GPU here, only time passes", file=sys.stderr)
    try:
        with _occupied(folder or "", cards, options):
            _steps(options.seconds)
    except _OutOfMemory as problem:
        print(problem, file=sys.stderr)
        return 1
    except _Ended as ended:
        return 128 + ended.number
    return int(options.exit)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sim-job", description="Use simulated GPUs the way a job would.")
    parser.add_argument("--mem", type=_mib, default=1024, metavar="SIZE", help="memory to take on each GPU, like 6G")
    parser.add_argument("--seconds", type=float, default=5.0, metavar="S", help="how long to run")
    parser.add_argument("--util", type=int, default=80, metavar="PERCENT", help="utilization to show")
    parser.add_argument("--oom", action="store_true", help="fail for want of GPU memory")
    parser.add_argument("--exit", type=int, default=0, metavar="CODE", help="exit status at the end")
    parser.add_argument("--gpu", type=int, metavar="INDEX", help="play a foreign process on this GPU")
    parser.add_argument("--sim-dir", metavar="DIR", help="the simulation that the foreign process is part of")
    return parser


def _mib(text: str) -> int:
    try:
        return parse_mib(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None


class _OutOfMemory(Exception):
    pass


class _Ended(Exception):
    def __init__(self, number: int) -> None:
        self.number = number


def _end_on_signals() -> None:
    def end(number: int, _frame: object) -> None:
        raise _Ended(number)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end)


def _cards(folder: Optional[str], index: Optional[int]) -> List[Dict[str, Any]]:
    """The cards to use: the named one, else all that the job was given."""
    if folder is None:
        return []
    try:
        with open(os.path.join(folder, "cards.json"), encoding="ascii") as file:
            cards: List[Dict[str, Any]] = json.load(file)
    except OSError:
        return []
    if index is not None:
        return [card for card in cards if card["index"] == index]
    given = os.environ.get("ROOST_GPU_UUIDS", "").split(",")
    return [card for card in cards if card["uuid"] in given]


@contextlib.contextmanager
def _occupied(folder: str, cards: List[Dict[str, Any]], options: argparse.Namespace) -> Iterator[None]:
    """The memory is taken on every card, and given back whatever happens."""
    files: List[str] = []
    try:
        for card in cards:
            _take(folder, card, options, files)
        if options.oom and not cards:
            raise _OutOfMemory(_OOM.format(asked=options.mem, index=0, total=0, free=0))
        yield
    finally:
        for path in files:
            with contextlib.suppress(OSError):
                os.unlink(path)


@contextlib.contextmanager
def _alone(folder: str) -> Iterator[None]:
    """One at a time, of every account: the directory itself is locked, which all may read and nobody need write."""
    with closing(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)) as fd:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield


def _take(folder: str, card: Dict[str, Any], options: argparse.Namespace, files: List[str]) -> None:
    me = read_stat(os.getpid())
    if me is None:
        raise OSError("no /proc")
    with _alone(os.path.join(folder, "procs")):  # two jobs must not both see the last free gigabyte
        free = card["mem_mib"] - sum(user["mem_mib"] for user in processes_on(folder, card["uuid"]))
        if options.oom or options.mem > free:
            raise _OutOfMemory(_OOM.format(asked=options.mem, index=card["index"], total=card["mem_mib"], free=free))
        path = os.path.join(folder, "procs", f"{me.pid}-{me.starttime}-{card['index']}.json")
        use = {"pid": me.pid, "starttime": me.starttime, "gpu": card["uuid"], "mem_mib": options.mem, "util": options.util}
        files.append(path)
        write_text(path, json.dumps(use))


def _steps(seconds: float) -> None:
    begin, step = time.monotonic(), 0
    while True:
        left = begin + seconds - time.monotonic()
        if left <= 0:
            return
        time.sleep(min(left, begin + step + 1 - time.monotonic() if step or seconds > 1 else left))
        step += 1
        print(f"step {step} loss {1 / (step + 1):.4f}", flush=True)
