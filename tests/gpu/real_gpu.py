"""Roost on a machine with a real NVIDIA GPU, as a transcript. Not part of `make test`: run it where there is a card.

    python tests/gpu/real_gpu.py --roost .venv/bin/roost [--mig] > docs/explanation/real-gpu.md

Every step is checked; the exit code is the number of checks that failed. `--mig` (root) switches the first card to MIG,
makes seven slices, and switches it back.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

JOB = "job.py"
failures: list[str] = []


class Box:
    """A server in a home of its own, and what was typed."""

    def __init__(self, roost: str, python: str) -> None:
        self.roost, self.python = roost, python
        self.home = tempfile.mkdtemp(prefix="roost-gpu-")
        self.work = tempfile.mkdtemp(prefix="work-")
        shutil.copy(Path(__file__).with_name(JOB), self.work)
        Path(self.work, "python").write_text(f'#!/bin/sh\nexec {shlex.quote(python)} "$@"\n')
        Path(self.work, "python").chmod(0o755)
        path = f"{self.work}:{os.environ['PATH']}"
        self.env = {**os.environ, "PATH": path, "ROOST_HOME": self.home, "NO_COLOR": "1", "COLUMNS": "100"}

    def type(self, *words: str) -> str:
        """Run a command of Roost and put it into the transcript."""
        done = subprocess.run([self.roost, *words], env=self.env, cwd=self.work, capture_output=True, text=True)
        text = f"$ roost {shlex.join(words)}\n{done.stdout}{done.stderr}"
        print(text.replace(self.home, "~/.roost").replace(self.work, "~/work").rstrip() + "\n", flush=True)
        return done.stdout

    def ask(self, *words: str) -> Any:
        """The same as data, not shown."""
        return json.loads(
            subprocess.run([self.roost, *words, "--json"], env=self.env, capture_output=True, text=True).stdout
        )

    def submit(self, *words: str) -> int:
        """Queue a job, shown."""
        return int(self.type("submit", *words).split()[0])

    def until(self, what: str, condition: Any, seconds: float = 60) -> Any:
        """Wait for a condition; its last value."""
        end = time.monotonic() + seconds
        while not (value := condition()) and time.monotonic() < end:
            time.sleep(0.1)
        check(bool(value), what)
        return value


def check(holds: bool, what: str) -> None:
    """A line of the transcript: what must hold, and whether it does."""
    print(f"- {'holds' if holds else '**FAILS**'}: {what}\n", flush=True)
    if not holds:
        failures.append(what)


def section(title: str) -> None:
    print(f"\n## {title}\n", flush=True)


def one_card(box: Box) -> None:
    section("One card")
    print("```")
    box.type("up", "--detach")
    box.type("gpus")
    box.type("run", "-g", "1", "python", JOB, "4096", "2")
    job = box.ask("show", "@")
    box.type("show", "@")
    print("```")
    check(job["outcome"] == "succeeded", "a PyTorch job ran on the GPU that it was given")
    peak = job["attempts"][-1]["peak_mem_mib"] or 0
    check(4096 <= peak < 8192, f"its peak memory was recorded: {peak} MiB for 4096 MiB of data and the CUDA context")


FOREIGN = "import torch, time; x = torch.ones(1 << 29, device='cuda'); torch.cuda.synchronize(); time.sleep(600)"


def foreign(box: Box) -> None:
    section("A foreign process holds its GPU")
    other = subprocess.Popen([box.python, "-c", FOREIGN])
    try:
        box.until("the foreign process is seen", lambda: _foreign_pids(box) == [other.pid])
        print("```")
        box.type("gpus")
        waiting = box.submit("-g", "1", "python", JOB, "512", "0.5")
        box.type("why", str(waiting))
        print("```")
        why = box.ask("why", str(waiting))
        check(f"pid {other.pid}" in json.dumps(why), "`why` names it by its pid")
        check(why["state"] == "queued", "the job waits")
    finally:
        other.kill()
        other.wait()
    box.until("when it has ended, the job runs", lambda: box.ask("show", str(waiting))["outcome"] == "succeeded")


def _foreign_pids(box: Box) -> list[int]:
    return [p["pid"] for g in box.ask("gpus")["gpus"] for p in g["procs"] if p["job"] is None]


def sharing(box: Box) -> None:
    section("Two jobs share a card by memory; one asks for more than there is")
    print("```")
    pair = [box.submit("-g", "1", "--mem", "8G", "python", JOB, "4096", "4") for _ in range(2)]
    print("```")
    box.until("both run at once on one GPU", lambda: all(box.ask("show", str(j))["state"] == "running" for j in pair))
    print("```")
    time.sleep(3)
    box.type("gpus")
    print("```")
    box.until("both succeeded", lambda: all(box.ask("show", str(j))["outcome"] == "succeeded" for j in pair))
    print("```")
    greedy = box.submit("-g", "1", "python", "-c", "import torch; torch.empty(900<<30, dtype=torch.uint8, device='cuda')")
    box.type("wait", str(greedy))
    box.type("show", str(greedy))
    print("```")
    check(box.ask("show", str(greedy))["outcome"] == "out_of_memory", "a real CUDA out-of-memory error is recognised")


GREEDY = "import torch; torch.empty(900 << 30, dtype=torch.uint8, device='cuda')"
BUG = "import torch; torch.ones(1, device='cuda'); raise ValueError('a bug, not the memory')"


def retrying(box: Box) -> None:
    section("Out of memory is tried again, alone; a bug is not")
    print("```")
    greedy = box.submit("-g", "1", "--mem", "2G", "--retry-oom", "1", "python", "-c", GREEDY)
    bug = box.submit("-g", "1", "--retry-oom", "1", "python", "-c", BUG)
    print("```")
    seen = box.until("it is tried again, alone", lambda: box.ask("show", str(greedy))["retry"], 120)
    check(seen == "retry 1 of 1 after CUDA out of memory, alone on its GPU", f"and says so: {seen}")
    _ended(box, greedy, bug)
    shown = box.ask("show", str(greedy))
    outcomes = [a["outcome"] for a in shown["attempts"]]
    check(outcomes == ["out_of_memory"] * 2 and shown["outcome"] == "out_of_memory", f"two attempts, no more: {outcomes}")
    outcomes = [a["outcome"] for a in box.ask("show", str(bug))["attempts"]]
    check(outcomes == ["failed"], f"an exception under --retry-oom ran once: {outcomes}")


def crowded(box: Box) -> None:
    section("Two jobs share a card and ask for too little; the second passes when it is tried again alone")
    total = box.ask("gpus")["gpus"][0]["mem_mib"]
    print("```")
    first = box.submit("--gpu-id", "0", "--mem", "2G", "python", JOB, str(total * 3 // 4), "20")
    print("```")
    box.until("the first takes far more than it asked for", lambda: _used(box) > total * 7 // 10)
    print("```")
    second = box.submit("--gpu-id", "0", "--mem", "2G", "--retry-oom", "1", "python", JOB, str(total // 2), "1")
    print("```")
    box.until("the second met the end of the memory", lambda: box.ask("show", str(second))["oom_retried"] == 1, 120)
    print("```")
    box.type("show", str(second))
    print("```")
    check(box.ask("show", str(first))["state"] == "running", "while the first ran on")
    _ended(box, first, second)
    found = [box.ask("show", str(job)) for job in (first, second)]
    check([job["outcome"] for job in found] == ["succeeded"] * 2, "both succeeded in the end")
    outcomes = [a["outcome"] for a in found[1]["attempts"]]
    check(outcomes == ["out_of_memory", "succeeded"], f"the second at its second attempt: {outcomes}")
    check(found[1]["attempts"][1]["started_at"] >= found[0]["ended_at"], "which was alone: the first had ended")


ESCAPE = "id -un; (setsid sh -c 'sleep 600 & sleep 600' &); python job.py 2048 600"


OPENS = """
import errno, glob, os
for path in sorted(glob.glob("/dev/nvidia[0-9]*") + glob.glob("/dev/nvidia-caps/*") + ["/dev/nvidiactl", "/dev/nvidia-uvm"]):
    try:
        os.close(os.open(path, os.O_RDWR))
        said = "opened"
    except OSError as problem:
        said = errno.errorcode[problem.errno]
    print(path, said, flush=True)
"""
TORCH = (
    "import torch; print(torch.cuda.is_available(), torch.cuda.device_count()); torch.ones(1, device='cuda'); print('ran')"
)
TIMES = """
import os, time
began = time.perf_counter()
for _ in range(1000):
    os.close(os.open("/dev/nvidiactl", os.O_RDWR))
print(round((time.perf_counter() - began) * 1000), "us for one open of /dev/nvidiactl")
"""


def enforced(box: Box) -> None:
    """The kernel denies what a job was not given: needs root and cgroup v2."""
    section("A job can open only the GPUs that it was given")
    print("```")
    box.type("node", "show", box.ask("nodes")["nodes"][0]["name"])
    print("```")
    node = box.ask("nodes")["nodes"][0]
    check(node["enforces_gpus"], f"the node enforces it: {node['gpu_access']}")
    given = {gpus: _opened(box, gpus) for gpus in (0, 1)}
    cards = [path for path in given[0] if path.removeprefix("/dev/nvidia").isdigit()]
    print("```")
    for gpus, opened in given.items():
        print(f"-g {gpus}: " + ", ".join(f"{path} {said}" for path, said in opened.items()))
    print("```")
    check(bool(cards) and all(given[0][path] == "EPERM" for path in cards), "with -g 0 no card opens: EPERM")
    check(sum(given[1][path] == "opened" for path in cards) == 1, "with -g 1 one card opens")
    shared = {path for path in ("/dev/nvidiactl", "/dev/nvidia-uvm") if path in given[0]}
    check(all(given[0][path] == "opened" for path in shared), f"with -g 0 these still open: {sorted(shared)}")
    for gpus, word in ((0, "False 0"), (1, "ran")):
        job = _end_of(box, gpus, "env", "-u", "CUDA_VISIBLE_DEVICES", box.python, "-c", TORCH)
        check(word in box.type("log", str(job)), f"PyTorch with -g {gpus}, CUDA_VISIBLE_DEVICES taken away: {word}")
    pair = [box.submit("-g", "1", "--mem", "8G", "python", JOB, "2048", "3") for _ in range(2)]
    _ended(box, *pair)
    check(all(box.ask("show", str(j))["outcome"] == "succeeded" for j in pair), "two jobs on one card both use it")
    box.type("set", "job.enforce_devices", "off")
    check("EPERM" not in _opened(box, 0).values(), "switched off by job.enforce_devices, every card opens")
    box.type("set", "job.enforce_devices", "on")
    for gpus in (0, 1):
        box.type("log", str(_end_of(box, gpus, box.python, "-c", TIMES)))


def _end_of(box: Box, gpus: int, *words: str) -> int:
    job = box.submit("-g", str(gpus), *words)
    box.until(f"job {job} has ended", lambda: box.ask("show", str(job))["state"] == "ended", 120)
    return job


def _opened(box: Box, gpus: int) -> dict[str, str]:
    job = _end_of(box, gpus, box.python, "-c", OPENS)
    said = subprocess.run([box.roost, "log", str(job)], env=box.env, capture_output=True, text=True).stdout
    return dict(line.split() for line in said.splitlines())


def people(box: Box) -> None:
    """Two throw-away accounts on the root server: needs root and useradd."""
    section("Two accounts of the machine")
    names = ["roostana", "roostbob"]
    os.chmod(box.work, 0o755)
    try:
        for name in names:
            subprocess.run(["useradd", "--create-home", name], check=True)
        print("```")
        jobs = [_as(box, name, "submit", "-g", "1", "--mem", "8G", "sh", "-c", ESCAPE) for name in names]
        print("```")
        ids = [int(text.split()[0]) for text in jobs]
        box.until(
            "both run at once, each as its user", lambda: all(_whose(box, j) == n for j, n in zip(ids, names, strict=True))
        )
        box.until("both are on the card", lambda: _used(box) >= 2 * 2048)
        print("```")
        box.type("gpus")
        print("```")
        check(not _foreign_pids(box), "what is on the card is known as theirs")
        groups = [_cgroups_of(name) for name in names]
        check(
            all(groups) and groups[0].isdisjoint(groups[1]), f"each in cgroups of its own: {sorted(groups[0] | groups[1])}"
        )
        print("```")
        refused = _as(box, names[1], "kill", str(ids[0]))
        _as(box, names[0], "kill", str(ids[0]))
        box.type("kill", str(ids[1]))
        print("```")
        check(not refused.startswith("killed"), "one may not end the other's")
        box.until("both have ended", lambda: all(box.ask("show", str(j))["outcome"] == "killed" for j in ids))
        left = [_processes(name, "sleep") for name in names]
        check(left == [[], []], f"nothing of them is left, not even what had a session of its own: {left}")
        peak = box.ask("show", str(ids[0]))["attempts"][-1]["peak_mem_mib"] or 0
        check(2048 <= peak < 8192, f"the peak memory of a user's job was recorded: {peak} MiB")
    finally:
        for name in names:
            subprocess.run(["pkill", "-KILL", "-u", name])
            subprocess.run(["userdel", "--remove", name], capture_output=True)


def _as(box: Box, account: str, *words: str) -> str:
    """`roost …` as that account, shown; what it printed."""
    env = ["env", f"ROOST_HOME={box.home}", f"PATH={box.env['PATH']}", "NO_COLOR=1"]
    line = ["runuser", "-u", account, "--", *env, box.roost, *words]
    done = subprocess.run(line, cwd=box.work, capture_output=True, text=True)
    text = f"{account}$ roost {shlex.join(words)}\n{done.stdout}{done.stderr}"
    print(text.replace(box.home, "~/.roost").replace(box.work, "~/work").rstrip() + "\n", flush=True)
    return done.stdout


def _whose(box: Box, job: int) -> str:
    """The account that a running job says it has."""
    shown = subprocess.run([box.roost, "log", str(job)], env=box.env, capture_output=True, text=True).stdout
    return shown.split("\n")[0]


def _processes(account: str, word: str) -> list[int]:
    done = subprocess.run(["pgrep", "-u", account, word], capture_output=True, text=True)
    return [int(pid) for pid in done.stdout.split()]


def _cgroups_of(account: str) -> set[str]:
    found = set()
    for pid in _processes(account, "sleep"):
        found |= {line[3:] for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines() if line.startswith("0::")}
    return {path for path in found if "/roost-" in path}


def _ended(box: Box, *jobs: int) -> None:
    print("```")
    box.type("wait", *map(str, jobs))
    for job in jobs:
        box.type("show", str(job))
    print("```")


def _used(box: Box) -> int:
    return box.ask("gpus")["gpus"][0]["mem_used_mib"] or 0


def mig(box: Box) -> None:
    section("MIG: one card is seven devices")
    box.type("down")
    _shell("nvidia-smi -i 0 -mig 1", "nvidia-smi mig -i 0 -cgi 19,19,19,19,19,19,19 -C")
    try:
        print("```")
        box.type("up", "--detach")
        box.type("gpus")
        jobs = [box.submit("-g", "1", "--name", f"slice-{n}", "python", JOB, "1024", "2") for n in range(14)]
        print("```")
        box.until("all 14 jobs succeeded", lambda: all(box.ask("show", str(j))["outcome"] for j in jobs), 240)
        shown = [box.ask("show", str(j)) for j in jobs]
        print("```")
        for job in jobs:
            box.type("log", str(job))
        box.type("ls")
        print("```")
        check(len(box.ask("gpus")["gpus"]) == 7, "there are seven devices")
        check({j["outcome"] for j in shown} == {"succeeded"}, "each job was on the slice that it was given, and no other")
        used = Counter(j["attempts"][-1]["gpu_uuids"][0] for j in shown)
        check(len(used) == 7, f"all seven were used: {sorted(used.values())} jobs each")
        peaks = [j["attempts"][-1]["peak_mem_mib"] for j in shown]
        check(all(p and p >= 1024 for p in peaks), f"peak memory was recorded on every slice: {peaks}")
    finally:
        box.type("down", "--kill")
        _shell("nvidia-smi mig -i 0 -dci", "nvidia-smi mig -i 0 -dgi", "nvidia-smi -i 0 -mig 0")


def _shell(*lines: str) -> None:
    print("```")
    for line in lines:
        done = subprocess.run(line.split(), capture_output=True, text=True)
        print(f"# {line}\n{done.stdout}{done.stderr}".rstrip() + "\n", flush=True)
    print("```")


def main() -> int:
    """Run it all; the number of failed checks."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--roost", default="roost")
    parser.add_argument("--python", default=sys.executable, help="a Python with PyTorch and nvidia-ml-py")
    parser.add_argument("--mig", action="store_true")
    parser.add_argument("--people", action="store_true", help="with two throw-away accounts; as root")
    parser.add_argument(
        "--enforced", action="store_true", help="that the kernel keeps jobs to their GPUs; as root, cgroup v2"
    )
    parser.add_argument("--only", choices=("enforced", "people", "mig"), help="one card, and that section")
    options = parser.parse_args()
    box = Box(options.roost, options.python)
    print("# Roost on a real GPU\n\nMade by `tests/gpu/real_gpu.py`; nothing in it was written by hand.")
    try:
        one_card(box)
        for part in (foreign, sharing, retrying, crowded) if options.only is None else ():
            part(box)
        if options.enforced or options.only == "enforced":
            enforced(box)
        if options.people or options.only == "people":
            people(box)
        if options.mig or options.only == "mig":
            mig(box)
    finally:
        subprocess.run([options.roost, "down", "--kill"], env=box.env, capture_output=True)
        for name in ("server.log", "node/node.log"):
            path = Path(box.home, name)
            if failures and path.exists():
                sys.stderr.write(f"--- {name}\n{path.read_text()[-4000:]}\n")
    print(f"\n{len(failures)} checks failed." if failures else "\nEvery check held.")
    return len(failures)


if __name__ == "__main__":
    sys.exit(main())
