"""Runs inside the benchmark's virtual environment: a HyperQueue server and worker, driven by lines on stdin.

    hyperqueue_driver.py SERVER_DIR SLOTS

`queue COUNT PROGRAM EVIDENCE` submits one job of COUNT tasks while there is no worker; `release` adds the worker;
the end of the input stops everything. Each line is answered by one line, `ready` comes first.
"""

from __future__ import annotations

import sys

from hyperqueue import Job, LocalCluster  # type: ignore[import-not-found, import-untyped, unused-ignore]
from hyperqueue.cluster import WorkerConfig  # type: ignore[import-not-found, import-untyped, unused-ignore]


def main(server_dir: str, slots: int) -> None:
    """Serve the lines on stdin."""
    with LocalCluster(server_dir=server_dir) as cluster:
        client = cluster.client()
        say("ready")
        for line in sys.stdin:
            match line.split():
                case ["queue", count, program, evidence]:
                    job = Job(max_fails=None)
                    for tag in range(1, int(count) + 1):
                        job.program([program, evidence, str(tag)])
                    submitted = client.submit(job)
                case ["release"]:
                    cluster.start_worker(WorkerConfig(cores=slots))
                case ["problems"]:
                    failed = client.get_failed_tasks(submitted)
                    say(f"{len(failed)} tasks failed" if failed else "none")
                    continue
                case _:
                    raise SystemExit(f"unknown line: {line}")
            say("done")


def say(word: str) -> None:
    """One answer. The library prints to stdout as well, hence the mark."""
    print(f"@ {word}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
