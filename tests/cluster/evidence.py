"""What jobs wrote of themselves while a storm passed, and what must hold of it. No I/O.

Every attempt appends lines to one file that all hosts share: `begin` first, then `end` when it came to its end, or `term`
when it was told to go. Appending puts all lines of all hosts into one order; the clock (/proc/uptime, the same on all
hosts) is needed only to place what wrote no more because its host was switched off.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

BEGIN, END, TERM = "begin", "end", "term"
WORDS = 6

# A job: `sh job.sh NAP FAILS`. No child process is in it that a signal could end in the middle of a line.
SCRIPT = r"""
say() {
  read -r now _ </proc/uptime
  echo "$1 $ROOST_JOB_ID.$ROOST_ATTEMPT ${ROOST_GPU_UUIDS:--} $host $uid $now" >>lines
}
told=
trap 'told=yes' TERM
read -r host </proc/sys/kernel/hostname
uid=$(id -u)
[ -z "$told" ] || exit 143
say begin
sleep "$1" &
wait $!
[ -z "$told" ] || { say term; exit 143; }
say end
[ "$ROOST_ATTEMPT" -gt "$2" ]
"""

Attempt = tuple[int, int]
Deaths = Mapping[str, list[tuple[float, float]]]
"""Of every host: from when to when it was being switched off."""


@dataclass(frozen=True)
class Line:
    """One line, and its place in the file."""

    place: int
    word: str
    attempt: Attempt
    gpus: tuple[str, ...]
    host: str
    uid: int
    at_s: float


@dataclass(frozen=True)
class Run:
    """An attempt that began."""

    begin: Line
    last: Line | None = None
    """None: it wrote no more."""

    def died_s(self, deaths: Deaths) -> float | None:
        """When its host was switched off, the first time after it began; None when it was not."""
        return next((since for since, over in deaths.get(self.begin.host, []) if over >= self.begin.at_s), None)

    def is_over_before(self, other: Run, deaths: Deaths) -> bool:
        """Whether it was over when the other began, as far as can be told."""
        if self.last is not None:
            return self.last.place < other.begin.place
        died_s = self.died_s(deaths)
        return died_s is None or died_s <= other.begin.at_s


@dataclass
class Evidence:
    """All that was written."""

    runs: dict[Attempt, Run] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def add(self, line: Line) -> None:
        """Take one line more."""
        run = self.runs.get(line.attempt)
        name = f"{line.attempt[0]}.{line.attempt[1]}"
        if line.word == BEGIN:
            if run is not None:
                self.problems.append(f"{name} began twice: {run.begin} and {line}")
            else:
                self.runs[line.attempt] = Run(line)
        elif run is None:
            self.problems.append(f"{name} ended and never began: {line}")
        elif run.last is not None:
            self.problems.append(f"{name} ended twice: {run.last} and {line}")
        elif (run.begin.host, run.begin.gpus, run.begin.uid) != (line.host, line.gpus, line.uid):
            self.problems.append(f"{name} ended elsewhere: {run.begin} and {line}")
        else:
            self.runs[line.attempt] = replace(run, last=line)

    def overlaps(self, deaths: Deaths, given_up: Collection[int] = ()) -> list[str]:
        """GPUs that two had at once, and jobs that ran twice at once though nobody had given them up."""
        found: dict[str, list[Run]] = {}
        for (job, _), run in self.runs.items():
            for gpu in run.begin.gpus:
                found.setdefault(f"{gpu} of {run.begin.host}", []).append(run)
            if job not in given_up:
                found.setdefault(f"job {job}", []).append(run)
        problems = []
        for key, users in sorted(found.items()):
            users.sort(key=lambda run: run.begin.place)
            problems += [f"{key} twice at once: {a} and {b}" for a, b in pairwise(users) if not a.is_over_before(b, deaths)]
        return problems


def read(text: str) -> Evidence:
    """What stands in the file."""
    found = Evidence()
    for place, line in enumerate(text.splitlines()):
        words = line.split()
        if len(words) != WORDS:
            found.problems.append(f"line {place + 1} makes no sense: {line!r}")
            continue
        job, _, attempt = words[1].partition(".")
        gpus = tuple(() if words[2] == "-" else words[2].split(","))
        found.add(Line(place, words[0], (int(job), int(attempt)), gpus, words[3], int(words[4]), float(words[5])))
    return found
