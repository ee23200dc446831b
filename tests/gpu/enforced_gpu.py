"""The node program alone on a machine with a real NVIDIA GPU: the kernel keeps runs to the GPUs that they were given.

    sudo python3 tests/gpu/enforced_gpu.py [--python PYTHON_WITH_TORCH]

Needs root, cgroup v2, the driver and a Python with PyTorch; nothing is installed. `real_gpu.py --only enforced` does it
through a server. Every check is printed; the exit code is the number of those that failed.
"""

from __future__ import annotations

import argparse
import itertools
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.gpu.real_gpu import OPENS, TIMES, TORCH, check, failures, section
from tests.integration.node.harness import Node

BOMB = r"""
import subprocess
made = []
try:
    for _ in range(60):
        made.append(subprocess.Popen(["sleep", "60"]))
except OSError:
    pass
print(len(made))
for process in made:
    process.kill()
"""


def main() -> int:
    """Run it all; the number of failed checks."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", default=sys.executable, help="a Python with PyTorch")
    options = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="roost-enforced-"))
    node = Node(place / "state")
    try:
        _all(node, options.python)
    finally:
        node.end()
        shutil.rmtree(place)
    print(f"\n{len(failures)} checks failed." if failures else "\nEvery check held.")
    return len(failures)


def _all(node: Node, python: str) -> None:
    section("The node program by itself")
    gpus = node.hello["gpus"] or node.expect("inventory")["gpus"]
    print(f"devices: {node.hello['devices']!r}; GPUs: {gpus}\n")
    check(node.hello["devices"] == "", "the node says that the kernel enforces it")
    check(all(gpu["devices"] for gpu in gpus), "the driver tells the device files of every GPU")
    one, every = [gpus[0]["uuid"]], [gpu["uuid"] for gpu in gpus]
    none_open, one_open, all_open = (_opened(node, python, given) for given in ([], one, every))
    cards = [path for path in none_open if path.removeprefix("/dev/nvidia").isdigit()]
    for name, opened in (("none", none_open), ("one", one_open), ("all", all_open)):
        print(f"{name}: " + ", ".join(f"{path} {said}" for path, said in opened.items()) + "\n")
    check(bool(cards) and all(none_open[path] == "EPERM" for path in cards), "given none, no card opens: EPERM")
    check(sum(one_open[path] == "opened" for path in cards) == 1, "given one, one card opens")
    check(
        all(none_open.get(path) == "opened" for path in ("/dev/nvidiactl", "/dev/nvidia-uvm")),
        "nvidiactl and nvidia-uvm open",
    )
    check(_opened(node, python, [], False) == all_open, "not enforced, everything opens as with all GPUs")
    for given, word in (([], "False 0"), (one, "ran")):
        said = _run(
            node, [python, "-c", TORCH], given, env={"PATH": "/usr/bin:/bin", "CUDA_VISIBLE_DEVICES": ""}, unset=True
        )
        check(word in said, f"PyTorch given {len(given)}: {word}; said {said[-200:]!r}")
    limited, free = _run(node, [python, "-c", BOMB], [], max_processes=30), _run(node, [python, "-c", BOMB], [])
    check(0 < int(limited) < 30 and int(free) == 60, f"of 60 processes {limited.strip()} with a limit of 30")
    for given in ([], one):
        print(_run(node, [python, "-c", TIMES], given))


_numbers = itertools.count(1)


def _run(node: Node, argv: list[str], gpus: list[str], unset: bool = False, **spec: Any) -> str:
    """What that wrote as a run that was given those GPUs."""
    name = f"{next(_numbers)}.1"
    words = ["env", "-u", "CUDA_VISIBLE_DEVICES", *argv] if unset else argv
    node.start(name, *words, gpus=gpus, **{"enforce_devices": True, **spec})
    node.expect("exited", 120, run=name)
    return node.log(name).decode() + node.log(name, "err").decode()


def _opened(node: Node, python: str, gpus: list[str], enforce: bool = True) -> dict[str, str]:
    said = _run(node, [python, "-c", OPENS], gpus, enforce_devices=enforce)
    return dict(line.split() for line in said.splitlines())


if __name__ == "__main__":
    sys.exit(main())
