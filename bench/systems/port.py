"""The port that every measured system stands behind, and the run that is the same for all of them."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bench.install import clean_environment, stamp_program
from bench.spans import LINE_BYTES, Span, faults, parse_spans
from bench.workspace import new_directory


@dataclass(frozen=True, slots=True)
class Batch:
    """Jobs 1..count, each a run of the stamp program that appends to `evidence`."""

    program: Path
    evidence: Path
    count: int

    def argv(self, tag: int | str) -> list[str]:
        """The command of one job; the tag may be a variable that the system's shell fills in."""
        return [str(self.program), str(self.evidence), str(tag)]

    def each(self) -> Iterable[list[str]]:
        """The commands of all jobs, in order."""
        return (self.argv(tag) for tag in range(1, self.count + 1))


class System(Protocol):
    """A queue under measurement. The calls come in the order in which they stand here; `stop` always comes."""

    @property
    def name(self) -> str:
        """What the tables call it."""

    @property
    def jobs_at_most(self) -> int:
        """How many jobs it can take, or can run in the time that a measurement may take."""

    def install(self) -> str:
        """Make it usable and return its version. Raises Unavailable."""

    def start(self, work: Path, slots: int) -> None:
        """Bring up an instance of its own in this empty directory, with so many slots, and wait until it is ready."""

    def queue(self, batch: Batch) -> None:
        """Queue all jobs; where the system can hold a queue, none has started when this returns."""

    def release(self) -> None:
        """Let the queued jobs run."""

    def problems(self, batch: Batch) -> list[str]:
        """What the system itself says is wrong with the jobs, after all of them left their evidence."""

    def stop(self) -> None:
        """End the instance and every process of it. Harmless when nothing was started."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run on one system left behind."""

    spans: list[Span]
    problems: list[str]


def run_once(system: System, jobs: int, slots: int, seconds: float) -> Outcome:
    """Run no-op jobs on a fresh instance, for at most so long, and collect the evidence."""
    jobs = min(jobs, system.jobs_at_most)
    work = new_directory("run")
    batch = Batch(stamp_program(), work / "evidence", jobs)
    try:
        (work / "instance").mkdir()
        system.start(work / "instance", slots)
        system.queue(batch)
        system.release()
        is_done = wait_until(lambda: lines_in(batch.evidence) >= jobs, seconds)
        problems = system.problems(batch) if is_done else [f"not done after {seconds:.0f} s"]
        spans = parse_spans(batch.evidence.read_text()) if batch.evidence.exists() else []
        return Outcome(spans, problems + faults(spans, jobs, slots))
    finally:
        system.stop()


def lines_in(evidence: Path) -> int:
    """How many jobs have left their line, from the size alone."""
    try:
        return evidence.stat().st_size // LINE_BYTES
    except FileNotFoundError:
        return 0


def wait_until(is_met: Callable[[], bool], seconds: float, every: float = 0.02) -> bool:
    """Wait for a condition until a deadline; whether it was met."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if is_met():
            return True
        time.sleep(every)
    return is_met()


def call(arguments: list[str], environment: dict[str, str] | None = None, cwd: Path | None = None) -> str:
    """Run a command that must succeed, and return what it printed."""
    done = subprocess.run(
        arguments,
        env=clean_environment() if environment is None else environment,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip() or "nothing").splitlines()[-1]
        raise RuntimeError(f"{' '.join(arguments[:3])} … exited {done.returncode}: {said}")
    return done.stdout


def is_alive(pid: int) -> bool:
    """Whether a process is there and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def end(process: subprocess.Popen[bytes] | subprocess.Popen[str] | None, seconds: float = 10) -> None:
    """End a process that was started here: ask, wait, insist."""
    if process is None or process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
