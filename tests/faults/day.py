"""A scripted day of a real server with one call broken: what was acknowledged is there in the evening, nothing ran twice.

    .venv/bin/python -m tests.faults.day                 list the calls of a day
    .venv/bin/python -m tests.faults.day --sample 40     break so many of them, chosen by --seed
    .venv/bin/python -m tests.faults.day --all

Server, node program, the shells around jobs, and the jobs run with the shim. A call is named by what is done to which file
for which time, so that it is the same one on another day, whatever the order.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.box import ROOT, Box, end, process
from tests.faults.shim import BYTE, FAIL, KILL, SHORT, Call, Fault, Faults

from roost.client.client import Roost
from roost.client.errors import RoostError
from roost.client.server_process import server_command

PATIENCE_S = 60.0
WORK = """echo "$ROOST_JOB_ID begin" >>{evidence}; echo out; echo '{{"loss": 0.5}}'; {middle}
echo "$ROOST_JOB_ID end" >>{evidence}; exit {code}"""
FAULT_WORDS = ("No space", "Input/output", "disk", "SQLITE_", "Errno", "failed", "cannot", "could not", "Interrupted")


@dataclass
class Report:
    """What came of a day."""

    fault: Fault | None
    has_fired: bool = False
    said: list[str] = field(default_factory=list)
    """What callers, the status and the logs said of it."""
    violations: list[str] = field(default_factory=list)


class Day:
    """One home, one day."""

    def __init__(self) -> None:
        place = "/dev/shm" if Path("/dev/shm").is_dir() else None
        self.base = Path(tempfile.mkdtemp(prefix="roost-day-", dir=place))
        self.root = self.base / "root"
        for name in ("out", "tmp", "claims"):
            (self.root / name).mkdir(parents=True, mode=0o700)
        self.home, self.evidence = self.root / "home", self.base / "evidence"
        self.evidence.touch()
        self.faults = Faults(self.root, self.base)
        self.box = Box(gpus="2x24G", home=self.home)
        self.box.env |= {"ROOST_CLAIMS": str(self.root / "claims"), "TMPDIR": str(self.root / "tmp")}
        self.roost = Roost(str(self.home / "roost.sock"), timeout_s=PATIENCE_S)
        self.child: subprocess.Popen[bytes] | None = None
        self.jobs: dict[int, int] = {}
        """What was acknowledged, and the exit code that it has when nothing goes wrong."""
        self.backups: list[Path] = []
        self.report = Report(None)

    @property
    def patience_s(self) -> float:
        """How long it waits for jobs: what is broken may never come, but a good day takes as long as it takes."""
        return PATIENCE_S if self.report.fault is None else PATIENCE_S / 6

    # -- what happens

    def run(self, fault: Fault | None) -> Report:
        """The day, and what is true in the evening."""
        self.report = Report(fault)
        self.faults.plan(fault)
        try:
            self._day()
        finally:
            self.report.has_fired = self.faults.has_fired
            self.faults.heal()
        with self._checking():
            self._evening()
        self._hear_logs()
        return self.report

    def _day(self) -> None:
        self.start()
        first = self.submit(code=3)
        self.submit(stdout=str(self.root / "out" / "named.log"))
        self.wait()
        go = self.base / "go"
        long = self.submit(middle=f"while [ ! -e {go} ]; do sleep 0.05; done;")
        held = self.submit(hold=True)
        self.tell(lambda: self.until_running(long))
        self.hear()
        self.back_up("morning.db")
        if first is not None:
            self.tell(lambda: self.roost.archive(str(self.root / "done.jsonl"), {"ids": str(first)}))
        self.kill()
        self.start()
        if long is not None:
            self.tell(lambda: self.roost.pause(str(long)))
            self.tell(lambda: self.roost.resume(str(long)))
        self.tell(lambda: self.roost.set("archive.keep", 100_000))
        go.touch()
        if held is not None:
            self.tell(lambda: self.roost.release(str(held)))
        self.wait()
        self.back_up("evening.db")
        self.hear()
        self.leave()

    def _evening(self) -> None:
        """With a disk that works everything ends, and is what it was said to be."""
        (self.base / "go").touch()
        self.start()
        held = [str(job) for job in self.jobs if self.state(job) == "held"]
        if held:
            self.roost.release(",".join(held))
        if paused := [str(job) for job in self.jobs if self.state(job) == "paused"]:  # the resume was refused
            self.roost.resume(",".join(paused))
        known = {job["id"]: job for job in self.roost.wait("all", PATIENCE_S)} if list(self.roost.all_jobs("")) else {}
        archived = self.archived()
        begun, ended = self.seen("begin"), self.seen("end")
        self.check(not (twice := [job for job, n in begun.items() if n > 1]), f"began twice: {twice}")
        for job, code in self.jobs.items():
            if job in archived and job not in known:
                continue
            self.check(job in known, f"job {job} was acknowledged and is gone")
            if job not in known:
                continue
            found = self.roost.job(job)
            for attempt in found["attempts"]:
                if attempt.get("error") or attempt.get("outcome") in ("refused", "lost", "cannot_start"):
                    self.report.said.append(f"job {job}: attempt {attempt}")
            outcome, exit_code = found["outcome"], found["exit_code"]
            self.check(found["state"] == "ended", f"job {job} is {found['state']}: {found.get('reasons')}")
            if ended[job]:
                self.check(exit_code == code, f"job {job} ended with {code} and is {outcome}, {exit_code}: {found['error']}")
            elif begun[job]:
                self.check(outcome != "succeeded", f"job {job} was cut off and is {outcome}")
            else:
                self.check(outcome in ("cannot_start", "lost"), f"job {job} never began and is {outcome}")
        for path in self.backups:
            self.check(_is_whole(path), f"{path.name} is no backup")
        self.leave()

    def check(self, holds: bool, words: str) -> None:
        """An invariant."""
        if not holds:
            self.report.violations.append(words)

    @contextlib.contextmanager
    def _checking(self) -> Iterator[None]:
        try:
            yield
        except (RoostError, AssertionError, OSError, subprocess.SubprocessError) as error:
            self.report.violations.append(f"in the evening: {type(error).__name__}: {error}")

    # -- steps

    def start(self) -> None:
        """A server that answers. One that ends at once has said why, and is started again."""
        path = os.pathsep.join((str(ROOT / "tests" / "checked"), str(ROOT / "src"), str(ROOT)))
        for _ in range(4):
            with (self.base / "start.log").open("ab") as log:
                command = server_command(str(self.home), ("--sim", self.box.gpus))
                env = {**self.box.env, **self.faults.env, "PYTHONPATH": path}
                self.child = subprocess.Popen(command, env=env, stdout=log, stderr=log, start_new_session=True)
            if self._answers():
                return
            self.report.said.append(f"start: {(self.base / 'start.log').read_text()[-600:]}")
            self.faults.heal()
        raise AssertionError("no server starts")

    def _answers(self) -> bool:
        assert self.child is not None
        deadline_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline_s:
            if self.child.poll() is not None:
                return False
            with contextlib.suppress(RoostError, OSError):
                self.roost.close()
                self.roost.status()
                return True
            time.sleep(0.05)
        self.report.violations.append("a server that was started does not answer")
        return False

    def tell(self, ask: Callable[[], Any]) -> Any:
        """Ask the server; what it refuses it says. A server that left is started again, as a service manager would."""
        try:
            return ask()
        except (RoostError, OSError) as error:
            self.report.said.append(f"refused: {error}")
            self.roost.close()
            if self.child is not None and self.child.poll() is not None:
                self.start()
            return None

    def submit(self, middle: str = ":;", code: int = 0, **spec: Any) -> int | None:
        """A job, when it is acknowledged; tried three times, as people do."""
        # With so much in its environment a job has a shell of its own, which is in the shim as well.
        env = {"PATH": os.environ["PATH"], "PAD": "x" * ((len(self.jobs) + 1) % 2 * 100_000), **self.faults.env}
        command = ["sh", "-c", WORK.format(evidence=self.evidence, middle=middle, code=code)]
        for _ in range(3):
            job: int | None = self.tell(lambda: self.roost.submit(command, env=env, cwd=str(self.root / "out"), **spec))
            if job is not None:
                self.check(job not in self.jobs, f"id {job} was given twice")
                self.jobs[job] = code
                return job
            self.faults.heal()
        return None

    def wait(self) -> None:
        """Until all that is not held has ended."""
        ids = [job for job in self.jobs if self.state(job) not in ("held", None)]
        if ids:
            self.tell(lambda: self.roost.wait(ids, self.patience_s))

    def state(self, job: int) -> str | None:
        """Its state; None when it is archived, or nobody can say."""
        with contextlib.suppress(RoostError, OSError):
            return str(self.roost.job(job)["state"])
        return None

    def until_running(self, job: int | None) -> None:
        """Wait until it runs, or has ended."""
        deadline_s = time.monotonic() + self.patience_s
        while job is not None and self.state(job) in ("queued", "starting") and time.monotonic() < deadline_s:
            time.sleep(0.05)

    def back_up(self, name: str) -> None:
        """A backup; what is said to be one is kept for the evening."""
        if self.tell(lambda: self.roost.backup(str(self.root / name))) is not None:
            self.backups.append(self.root / name)

    def kill(self) -> None:
        """SIGKILL to server and node program."""
        if self.child is not None:
            self.child.kill()
            self.child.wait()
        for found in filter(None, map(process, self.box.nodes())):
            end(found)
        self.roost.close()

    def leave(self) -> None:
        """The server leaves when it is asked to; by SIGTERM when it cannot hear."""
        self.tell(self.roost.shutdown)
        self.roost.close()
        assert self.child is not None
        try:
            self.child.wait(PATIENCE_S / 2)
        except subprocess.TimeoutExpired:
            self.child.terminate()
            self.child.wait(PATIENCE_S)

    def hear(self) -> None:
        """What the status says is wrong."""
        with contextlib.suppress(RoostError, OSError):
            self.report.said += [f"health: {line}" for line in self.roost.status()["health"]]

    def _hear_logs(self) -> None:
        for path in (self.home / "server.log", self.home / "node" / "node.log"):
            text = path.read_text(errors="replace") if path.exists() else ""
            self.report.said += [
                f"{path.name}: {line}"
                for line in text.splitlines()
                if any(word in line for word in FAULT_WORDS) and "Connection reset" not in line  # that was the SIGKILL
            ]

    # -- what is seen

    def seen(self, what: str) -> Counter[int]:
        """How often each job said that."""
        lines = [line.split() for line in self.evidence.read_text().splitlines()]
        return Counter(int(words[0]) for words in lines if words[1:] == [what])

    def archived(self) -> set[int]:
        """The jobs that are whole in the archive."""
        found = set()
        with contextlib.suppress(FileNotFoundError):
            for line in (self.root / "done.jsonl").read_text().splitlines():
                with contextlib.suppress(ValueError):
                    found.add(int(json.loads(line)["id"]))
        return found

    def close(self) -> None:
        """Take all of it down."""
        self.faults.heal()
        (self.base / "go").touch()
        if self.child is not None and self.child.poll() is None:
            self.child.send_signal(signal.SIGKILL)
            self.child.wait()
        self.box.close()
        shutil.rmtree(self.base, ignore_errors=True)


def _is_whole(path: Path) -> bool:
    from roost.store.backup import first_fault, opened

    with opened(path, "rw") as db:
        return first_fault(db) is None


def faults_of(call: Call) -> list[Fault]:
    """All that can go wrong with it."""
    key = (call.call, call.path, call.occurrence)
    found = [Fault(*key, errno.EIO)]
    if call.what == "room":
        found += [Fault(*key, errno.ENOSPC), Fault(*key, errno.ENOSPC, lasts=True)]
    if call.call == "write":
        found += [Fault(*key, 0, SHORT), Fault(*key, errno.ENOSPC, BYTE, lasts=True), Fault(*key, errno.EINTR, FAIL)]
    if call.call in ("rename", "link", "unlink"):
        found.append(Fault(*key, 0, KILL))
    return found


def sampled(cases: list[Fault], count: int, seed: int) -> list[Fault]:
    """So many of them: of each file and what is done to it in turn, for most calls are writes to the database."""
    chance = random.Random(seed)
    groups: dict[tuple[str, str], list[Fault]] = {}
    for fault in cases:
        groups.setdefault((fault.call, fault.path), []).append(fault)
    order = list(groups.values())
    chance.shuffle(order)
    for group in order:
        chance.shuffle(group)
    turns = itertools.zip_longest(*order)
    return [fault for turn in turns for fault in turn if fault is not None][:count]


def calls_of_a_day() -> list[Call]:
    """Each of them once."""
    day = Day()
    try:
        report = day.run(None)
        assert not report.violations, report.violations
        return list(dict.fromkeys(call for call in day.faults.calls() if not call.path.startswith("home/sim/procs/")))
    finally:
        day.close()


def broken_day(fault: Fault) -> Report:
    """A day with that."""
    day = Day()
    try:
        report = day.run(fault)
        if report.violations:
            report.violations += [f"  {line}" for line in report.said[-12:]]
        return report
    finally:
        day.close()


def main() -> int:
    """List the calls, or break them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seed", type=int, default=14)
    parser.add_argument("--like", default="")
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args()
    calls = calls_of_a_day()
    cases = [fault for call in calls if options.like in f"{call.call} {call.path}" for fault in faults_of(call)]
    if not options.all and not options.sample:
        for (call, path), count in Counter((call.call, call.path) for call in calls).items():
            print(f"{count:5} {call:9} {path}")
        print(f"{len(calls)} calls, {len(cases)} cases")
        return 0
    if options.sample:
        cases = sampled(cases, options.sample, options.seed)
    fired = bad = silent = 0
    for fault in cases:
        report = broken_day(fault)
        fired += report.has_fired
        bad += bool(report.violations)
        is_silent = report.has_fired and not report.said and fault.how != SHORT and fault.error != errno.EINTR
        silent += is_silent
        if not options.quiet or report.violations:
            first = report.said[0][:150] if report.said else "nothing said" if is_silent else "all well"
            print(
                f"{'VIOLATED' if report.violations else 'ok' if report.has_fired else 'did not come'}: {fault}: {first}",
                flush=True,
            )
        for line in report.violations:
            print(f"    {line}", flush=True)
    print(f"{len(cases)} days, {fired} faults injected, {bad} with violations, {silent} of which nobody said anything")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
