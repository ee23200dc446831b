"""A lab in the middle of its day, on a real server with simulated GPUs: for pictures, and for looking at every page."""

from __future__ import annotations

import subprocess
import sys

from tests.box import until
from tests.browser.site import Site

SECONDS = 900
_TRAIN = r"""
import os, subprocess, sys, time
words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
use = ["--mem", words.get("--mem", "6G"), "--util", words.get("--util", "80")]
use += ["--seconds", words.get("--seconds", "SECONDS")]
used = subprocess.Popen(["roost", "sim-job", *use]) if os.environ.get("CUDA_VISIBLE_DEVICES") else None
print("\x1b[1mmodel\x1b[0m", words.get("--model", "mlp"), " parameters 86.6 M", flush=True)
for epoch in range(1, 8):
    print(f"\x1b[36mepoch {epoch:2d}\x1b[0m  loss \x1b[33m{2.3 / epoch:.4f}\x1b[0m", end="  ")
    print(f"accuracy \x1b[32m{1 - 0.6 / epoch:.4f}\x1b[0m", flush=True)
    time.sleep(0.05)
if "--fails" in words:
    print("\x1b[31mRuntimeError: the loss is not a number\x1b[0m", file=sys.stderr)
    used.kill() if used else None
    sys.exit(int(words["--fails"]))
if used:
    used.wait()
"""


def set_the_stage(site: Site) -> dict[str, int]:
    """Fill the server; ids of jobs that are worth a look, by what they are."""
    box, ids = site.box, {}
    (box.work / "train.py").write_text(_TRAIN.replace("SECONDS", str(SECONDS)))

    def train(owner: str, gpus: int, *options: str, name: str, say: tuple[str, ...] = ()) -> int:
        return box.submit("--owner", owner, "--gpus", gpus, "--name", name, *say, "--", "python3", "train.py", *options)

    short = ("--seconds", "1")
    ids["done"] = train(
        "chen", 1, *short, "--model", "resnet50", "--lr", "3e-4", name="warm-up", say=("--label", "imagenet")
    )
    ids["own"] = train("ada", 1, "--model", "resnet50", "--lr", "3e-4", name="resnet again", say=("--hold", "--mem", "8G"))
    ids["failed"] = train("bob", 1, "--fails", "3", "--model", "gpt-small", name="try 7", say=("--label", "nlp"))
    ids["cannot"] = box.submit(
        "--owner", "bob", "--gpus", 0, "--name", "no such place", "--cwd", str(box.work / "gone"), "--", "true", cwd=box.work
    )
    ids["script"] = train("lin", 1, *short, name="<script>alert(1)</script>")
    ids["oom"] = box.submit(
        "--owner", "chen", "--gpus", 1, "--mem", "4G", "--name", "too big", "--", "roost", "sim-job", "--mem", "30G", "--oom"
    )
    for job in set(ids.values()) - {ids["own"]}:
        box.ends(job)
    ids["running"] = train(
        "alice",
        2,
        "--mem",
        "18G",
        "--util",
        "96",
        "--model",
        "vit-b16",
        "--lr",
        "1e-3",
        name="vit on two",
        say=("--label", "imagenet", "--time", "6h"),
    )
    train("chen", 1, "--mem", "11G", "--util", "72", "--model", "llama-lora", name="lora r=16", say=("--label", "nlp"))
    train("lin", 1, "--mem", "6G", "--util", "41", name="扩散模型 微调", say=("--label", "扩散"))
    ids["shared"] = train("bob", 1, "--mem", "3G", "--util", "12", name="probe", say=("--mem", "4G"))
    until("they run", lambda: box.json("status")["jobs"].get("running", 0) >= 4)
    _use_a_gpu_from_outside(site)
    box.gpu_comes_to(6, "foreign")
    box.do("drain", f"{box.json('gpus')['gpus'][7]['node']}:7")
    ids["waiting"] = train("chen", 8, name="all eight")
    train("alice", 3, "--model", "vit-l16", name="vit large", say=("--label", "imagenet"))
    ids["held"] = train("bob", 1, name="when I say so", say=("--hold",))
    train("lin", 1, name="after the probe", say=("--after", str(ids["shared"])))
    line = "python3 train.py --lr {lr} --seed {seed} --seconds 1"
    grid = ("-p", "lr=0.1,0.01,0.001", "-p", "seed=1..4")
    ids["sweep"] = int(box.do("sweep", "-q", "--owner", "lin", "-g", 0, "--name", "learning rates", *grid, line))
    box.do("notice", "The machine rests on Sunday from 8 to 12.")
    return ids


def _use_a_gpu_from_outside(site: Site) -> None:
    """A process that Roost has not started takes memory of GPU 6."""
    code = "import sys; from roost.cli import main; sys.exit(main())"
    other = ["python3", "-c", code, "sim-job", "--gpu", "6", "--mem", "10G", "--seconds", str(SECONDS)]
    env = {**site.box.env, "PYTHONPATH": ":".join(path for path in sys.path if path)}  # it is shown without where it lies
    foreign = subprocess.Popen(other, executable=sys.executable, env=env, cwd=site.box.work, stdout=subprocess.DEVNULL)
    site.processes.append(foreign)


def places(site: Site, ids: dict[str, int]) -> dict[str, str]:
    """Every page with something on it, by a name."""
    return {
        "overview": "/",
        "wall": "/wall",
        "jobs": "/jobs",
        "job": f"/jobs/{ids['running']}",
        "job-failed": f"/jobs/{ids['failed']}",
        "job-waiting": f"/jobs/{ids['waiting']}",
        "submit": f"/submit?clone={ids['own']}",
        "sweeps": "/sweeps",
        "sweep": f"/sweeps/{ids['sweep']}",
        "nodes": "/nodes",
        "node": f"/nodes/{site.box.json('gpus')['gpus'][0]['node']}",
        "users": "/users",
        "user": "/users/ben",
        "settings": "/settings",
        "audit": "/audit",
        "me": "/me",
        "missing": "/jobs/999999",
    }
