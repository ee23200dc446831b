"""A store full of jobs, written by the store's own functions: for benchmarks, and for looking at pages with many jobs.

    python -m bench.filled HOME [--jobs 100000]

HOME is then a home for `roost up --sim 4x24G`, with the scheduler paused. Seven jobs of ten have ended, the others wait;
forty users, a few of them with most of the jobs; names, labels and command lines as they are in a lab.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from roost.core import events as ev
from roost.core.model import RANK_STEP, Conditions, Job, Request, Shape
from roost.core.spec import JobSpec, work_of
from roost.core.states import Outcome
from roost.server.rounds.submit import kept
from roost.store.store import Store, pack_env
from roost.store.writes import Batch, NewEnv

CHUNK = 1000
NODES = ("n1", "n2", "n3", "n4")
NAMES = ("train", "eval", "finetune", "pretrain", "ablation", "export")
MODELS = ("resnet50", "vit-b16", "llama-7b", "bert-base", "unet")
LABELS = ("paper", "night", "ablation", "baseline")
OUTCOMES = (*[Outcome.SUCCEEDED] * 8, Outcome.FAILED, Outcome.KILLED)
RARE = "rare-label"
"""One job of a thousand has it; its user has one of a thousand too."""
RARE_USER = "zoe"


def main(arguments: Sequence[str] | None = None) -> int:
    """Fill a home."""
    parser = argparse.ArgumentParser(prog="python -m bench.filled")
    parser.add_argument("home", type=Path)
    parser.add_argument("--jobs", type=int, default=100_000, help="%(default)s")
    options = parser.parse_args(arguments)
    options.home.mkdir(parents=True, exist_ok=True, mode=0o700)
    began = time.monotonic()
    store = Store(options.home / "roost.db")
    fill(store, options.jobs, int(time.time() * 1000))
    store.close()
    print(f"{options.jobs:,} jobs in {time.monotonic() - began:.0f} s", file=sys.stderr)
    return 0


def fill(store: Store, count: int, now_ms: int, seed: int = 1) -> None:
    """Put so many jobs there, the last of them a moment ago."""
    store.set_meta("paused", "1")
    chance, shapes = Random(seed), dict[Shape, Shape]()
    for first in range(1, count + 1, CHUNK):
        ids = range(first, min(first + CHUNK, count + 1))
        jobs = {job: _job(chance, shapes, job, now_ms - (count - job) * 1000) for job in ids}
        store.commit(
            Batch(
                events=[event for _, _, events in jobs.values() for event in events[:1]],
                new={job: kept(spec, NewEnv("env")) for job, (spec, _, _) in jobs.items()},
                envs={"env": pack_env({"HOME": "/home/ada", "PATH": "/usr/bin"})},
                last_job=ids[-1],
            )
        )
        ended = [events for job, (_, _, events) in jobs.items() if job <= count * 7 // 10]
        for step in (1, 2, 3):
            store.commit(Batch(events=[events[step] for events in ended]))
    store.checkpoint()


def _job(chance: Random, shapes: dict[Shape, Shape], number: int, at_ms: int) -> tuple[JobSpec, Job, list[ev.Event]]:
    is_rare = number % 1000 == 0
    user = RARE_USER if is_rare else f"user{min(39, int(chance.expovariate(0.2))):02}"
    name, model = chance.choice(NAMES), chance.choice(MODELS)
    command = ["python", f"{name}.py", "--model", model, "--lr", f"{chance.random() / 10:.5f}", "--seed", str(number)]
    spec = JobSpec(
        [*command, "--data", "/data/imagenet/train", "--out", f"/home/{user}/runs/{name}-{number}"],
        name=f"{name}-{model}" if number % 3 else f"{name}-{number}",
        cwd=f"/home/{user}/project",
        labels=(RARE,) if is_rare else (chance.choice(LABELS),) if number % 2 else (),
        gpus=chance.choice((1, 1, 2, 4)),
    )
    shape = Shape(user, chance.choice((0, 0, 0, 1)), Request(spec.gpus), work_of(spec))
    job = Job(number, shapes.setdefault(shape, shape), number * RANK_STEP, at_ms)
    return spec, job, list(_life(chance, job))


def _life(chance: Random, job: Job) -> Iterator[ev.Event]:
    started_ms = job.submitted_ms + chance.randrange(60_000)
    ended_ms = started_ms + chance.randrange(7_200_000)
    outcome, gpus = chance.choice(OUTCOMES), tuple(f"GPU-{n}" for n in range(job.shape.request.gpus))
    yield ev.Submitted(job.id, job.submitted_ms, job, Conditions(), chance.random() < 0.05)
    yield ev.StartIntended(job.id, started_ms, 1, chance.choice(NODES), gpus, tuple(range(len(gpus))))
    yield ev.Started(job.id, started_ms, 1, 4711)
    yield ev.Ended(job.id, ended_ms, outcome, 0 if outcome is Outcome.SUCCEEDED else 1, None)


if __name__ == "__main__":
    sys.exit(main())
