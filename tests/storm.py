"""A storm: jobs are submitted all the time while the server, the node program, or both are killed with SIGKILL.

    .venv/bin/python tests/storm.py --seed 7 --jobs 1000 --kills 20 --kill server|node|both

Every job appends one line to a file. Afterwards every id that was printed must have ended as succeeded, with exactly
one line; no process of a job and no claim on a GPU may be left. A submit that failed may still have been taken, when
the server died between its commit and its answer: nobody was promised anything, so such a job may run, but once only,
and a lot of jobs that went in together runs whole or not at all.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.box import Box, Json, Process, end, process, until

SUBMITTERS = 3
LOT = 8
PATIENCE_S = 60
KINDS = ("server", "node", "both")
SHAPES = (("-g", "1"), ("-g", "1"), ("-g", "1"), ("-g", "2"), ("-g", "0"))
# The line comes first: a job that is started twice is then seen twice, wherever it is cut down.
LINE = 'echo "$ROOST_JOB_ID {token}" >> {lines}; echo out {token}; sleep {nap}; exit 0'


@dataclass
class Weather:
    """What the storm is made of."""

    seed: int
    jobs: int = 1000
    kills: int = 20
    kind: str = "server"
    gpus: int = 4
    keep: bool = False

    @property
    def command(self) -> str:
        """How to have it again."""
        return (
            f".venv/bin/python tests/storm.py --seed {self.seed} --jobs {self.jobs} --kills {self.kills}"
            f" --kill {self.kind} --gpus {self.gpus}"
        )


@dataclass
class Ledger:
    """What was promised, and what is in doubt. Written by the submitters, one lot at a time."""

    wanted: int
    promised: dict[int, str] = field(default_factory=dict)  # id to token
    in_doubt: list[list[str]] = field(default_factory=list)  # tokens of submits that printed nothing
    words: Counter[str] = field(default_factory=Counter)  # what those submits said
    kills: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    _begun: int = 0
    _tokens: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, most: int) -> list[str]:
        """Tokens for the next submit, never given twice; none when all is done."""
        with self._lock:
            count = min(most, self.wanted - self._begun)
            self._begun += count
            self._tokens += count
            return [f"t{number:05}" for number in range(self._tokens - count, self._tokens)]

    def keep(self, tokens: list[str], ids: list[int]) -> None:
        """These ids were printed for these tokens."""
        with self._lock:
            for job in set(ids) & self.promised.keys():
                self.problems.append(f"id {job} was given twice")
            self.promised.update(zip(ids, tokens, strict=True))

    def doubt(self, tokens: list[str], said: str) -> None:
        """Nothing was printed: as many jobs are asked for anew, under other tokens."""
        with self._lock:
            self._begun -= len(tokens)
            self.in_doubt.append(tokens)
            self.words[said] += 1

    @property
    def progress(self) -> int:
        """How many ids were printed."""
        return len(self.promised)


def storm(weather: Weather) -> list[str]:
    """Let it pass over a box of its own; what was wrong afterwards."""
    box = Box(gpus=f"{weather.gpus}x24G")
    ledger = Ledger(weather.jobs)
    began = time.monotonic()
    problems = ["it was broken off"]
    try:
        box.up()
        submitters = [
            threading.Thread(target=_submit_on, args=(box, ledger, random.Random(f"{weather.seed}/{n}")), daemon=True)
            for n in range(SUBMITTERS)
        ]
        for thread in submitters:
            thread.start()
        _kill_on(box, ledger, weather, random.Random(weather.seed))
        for thread in submitters:
            thread.join(600)
        submitted_s = time.monotonic() - began
        problems = ledger.problems + _aftermath(box, ledger)
        _tell(weather, ledger, problems, (submitted_s, time.monotonic() - began))
        if problems:
            print(f"server log:\n{_tail(box.home / 'server.log')}\nnode log:\n{_tail(box.home / 'node' / 'node.log')}")
        return problems
    finally:
        if problems and weather.keep:
            print(f"left as it is: ROOST_HOME={box.home}")
        else:
            box.close()


# -- submitting -----------------------------------------------------------------------------------------------------


def _submit_on(box: Box, ledger: Ledger, chance: random.Random) -> None:
    """One after the other, singly or in lots, until enough ids were printed."""
    while ledger.progress < ledger.wanted:
        tokens = ledger.take(LOT if chance.random() < 0.2 else 1)
        if not tokens:
            time.sleep(0.05)  # the others' submits may still come to nothing
            continue
        shape = chance.choice(SHAPES)
        lines = [_line(box, token, chance) for token in tokens]
        if len(tokens) == 1:
            ran = box.run("submit", "-q", *shape, lines[0])
        else:
            ran = box.run("submit", "-q", *shape, "--from", "-", text="".join(f"{_quoted(line)}\n" for line in lines))
        ids = [int(word) for word in ran.out.split()]
        if ran.code == 0 and len(ids) == len(tokens):
            ledger.keep(tokens, ids)
            continue
        if ids:
            ledger.problems.append(f"a failed submit printed {ids}: {ran}")
        if ran.code not in (69, 75):
            ledger.problems.append(f"a submit ended with {ran.code}: {ran.err}")
            if len(ledger.problems) > 20:
                return
        ledger.doubt(tokens, ran.err.partition("\n")[0].partition(":")[2].strip() or f"exit code {ran.code}")


def _line(box: Box, token: str, chance: random.Random) -> str:
    nap = chance.choice(("0", "0", "0.05", "0.2"))
    return LINE.format(token=token, lines=box.file("lines"), nap=nap)


def _quoted(line: str) -> str:
    return "'" + line + "'"


# -- killing --------------------------------------------------------------------------------------------------------


def _kill_on(box: Box, ledger: Ledger, weather: Weather, chance: random.Random) -> None:
    """Strike when so many ids were printed, and a random moment later."""
    strikes = sorted(chance.randrange(weather.jobs) for _ in range(weather.kills))
    for at in strikes:
        while ledger.progress < at and len(ledger.problems) < 20:
            time.sleep(0.005)
        time.sleep(chance.random() * 0.4)
        _strike(box, ledger, weather, chance)


def _strike(box: Box, ledger: Ledger, weather: Weather, chance: random.Random) -> None:
    victims = _victims(box, weather.kind)
    chance.shuffle(victims)
    for name, victim in victims:
        end(victim)
        ledger.kills[name] += 1
    if chance.random() < 0.3:
        _strike_again(box, ledger, weather.kind, chance.random())
    if weather.kind != "node" and chance.random() < 0.5:
        time.sleep(chance.random() * 0.2)
        box.run("up", "--detach")  # else the next submit starts one


def _strike_again(box: Box, ledger: Ledger, kind: str, moment: float) -> None:
    """Hit what has just come up, and may not be able to answer yet: a server that loads, a node program that adopts."""
    if kind != "node":
        starting = box.background("up", "--detach")
    look = box.nodes if kind == "node" else box.servers
    newborn = until(f"a new {kind} is there", look, within_s=60)
    time.sleep(moment * (0.3 if kind == "node" else 1.0))
    for victim in filter(None, map(process, newborn)):
        end(victim)
    ledger.kills[f"newborn {'node' if kind == 'node' else 'server'}"] += 1
    if kind != "node":
        starting.communicate(timeout=120)


def _victims(box: Box, kind: str) -> list[tuple[str, Process]]:
    """Server, node program or both, as `roost status` names them."""

    def look() -> list[tuple[str, Process]] | None:
        ran = box.run("status", "--json")
        if ran.code:
            box.run("up", "--detach")
            return None
        status = json.loads(ran.out)
        found = []
        for name in ("server", "node"):
            if kind in (name, "both"):
                pid = status[f"{name}_pid"]
                alive = process(pid) if pid else None
                if alive is None:
                    return None
                found.append((name, alive))
        return found

    return until(f"`roost status` names the {kind}", look, within_s=60)


# -- afterwards -----------------------------------------------------------------------------------------------------


def _aftermath(box: Box, ledger: Ledger) -> list[str]:
    """All that is not as it must be."""
    if box.run("status").code:
        box.up()
    box.run("wait", "-q", "all", "--timeout", f"{PATIENCE_S}s", timeout=PATIENCE_S + 60)
    jobs = {job["id"]: job for job in box.json("ls", "--all", "--limit", 10 * ledger.wanted)["jobs"]}
    return [
        *_lost_promises(ledger, jobs),
        *_wrong_lines(box, ledger, jobs),
        *_wrong_logs(box, ledger),
        *_left_behind(box),
    ]


def _lost_promises(ledger: Ledger, jobs: dict[int, Json]) -> list[str]:
    problems = []
    if len(ledger.promised) != ledger.wanted:
        problems.append(f"{len(ledger.promised)} ids were printed instead of {ledger.wanted}")
    for job in sorted(ledger.promised.keys() - jobs.keys()):
        problems.append(f"job {job} was promised and is not there")
    for job, view in sorted(jobs.items()):
        if view["outcome"] != "succeeded" or view["exit_code"] != 0:
            problems.append(f"job {job} is {view['state']}, {view['outcome']}, {view['exit_code']}: {view['error']}")
        begun = [attempt for attempt in view["attempts"] if attempt["state"] != "refused"]
        if len(begun) != 1 or not begun[0]["started_at"] or not begun[0]["ended_at"]:
            problems.append(f"job {job} has attempts {view['attempts']}")
    return problems


def _wrong_lines(box: Box, ledger: Ledger, jobs: dict[int, Json]) -> list[str]:
    """One line a job; of the tokens in doubt all of a lot or none, once, and by a job that is known."""
    found: dict[str, list[int]] = {}
    for line in box.file("lines").read_text().splitlines():
        number, _, token = line.partition(" ")
        found.setdefault(token, []).append(int(number))
    problems = [f"{token} was written by {ids}" for token, ids in sorted(found.items()) if len(ids) > 1]
    for promised, token in sorted(ledger.promised.items()):
        if found.pop(token, [])[:1] != [promised]:
            problems.append(f"job {promised} wrote no line with {token}")
    for lot in ledger.in_doubt:
        there = [found.pop(token)[0] for token in lot if token in found]
        if there and len(there) != len(lot):
            problems.append(f"only {len(there)} of the {len(lot)} jobs of one submit ran: {lot}")
        problems += [f"job {job} ran and is not in the list" for job in there if job not in jobs]
    problems += [f"nobody submitted {token}" for token in found]
    return problems


def _wrong_logs(box: Box, ledger: Ledger) -> list[str]:
    """Every job's own output is there, whole, once."""
    problems = []
    for job, token in sorted(ledger.promised.items()):
        answer = box.http("GET", f"/jobs/{job}/log?stream=out")
        if answer.body != f"out {token}\n".encode():
            problems.append(f"the log of job {job} is {answer.body[:200]!r} instead of 'out {token}'")
    return problems


def _left_behind(box: Box) -> list[str]:
    try:
        until("no process of a job is left", lambda: not box.job_processes(), within_s=10, shown=box.job_processes)
        for gpu in range(len(box.json("gpus")["gpus"])):
            box.gpu_comes_to(gpu, "free", within_s=10)
        markers = box.home / "node" / "active"
        until("no run is active", lambda: not list(markers.iterdir()), within_s=10, shown=lambda: list(markers.iterdir()))
    except AssertionError as problem:
        return [str(problem)]
    return []


def _tell(weather: Weather, ledger: Ledger, problems: list[str], took_s: tuple[float, float]) -> None:
    ran = sum(len(lot) for lot in ledger.in_doubt)
    struck = ", ".join(f"{name} {count} times" for name, count in sorted(ledger.kills.items()))
    took = f"{took_s[0]:.0f} s, in all {took_s[1]:.0f} s"
    print(f"seed {weather.seed}: {len(ledger.promised)} ids printed, killed: {struck}; {took}")
    print(f"submits without an answer: {len(ledger.in_doubt)} ({ran} jobs, asked for anew under other tokens)")
    for words, count in ledger.words.most_common(5):
        print(f"  {count} x {words}")
    for problem in problems[:30]:
        print(f"WRONG: {problem}")
    if problems:
        print(f"{len(problems)} things are wrong; again: {weather.command}")
    else:
        print("every printed id succeeded, with exactly one line; nothing is left")


def _tail(path: Path) -> str:
    return "\n".join(path.read_text(errors="replace").splitlines()[-40:]) if path.exists() else "(none)"


def main() -> int:
    """The exit code: 0 when all was as it must be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=None, help="default: one that is drawn and printed")
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--kill", choices=KINDS, default="server")
    parser.add_argument("--gpus", type=int, default=4)
    parser.add_argument(
        "--keep", action="store_true", help="leave a box in which something is wrong as it is, to look into it"
    )
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.randrange(1 << 20)
    weather = Weather(seed, options.jobs, options.kills, options.kill, options.gpus, options.keep)
    print(weather.command, flush=True)
    return 1 if storm(weather) else 0


if __name__ == "__main__":
    sys.exit(main())
