"""A storm over many boxes: four hosts behind real SSH, two hundred jobs, and everything that can happen to a lab.

    .venv/bin/python tests/cluster/storm.py --seed 7 --for 300 [--people]

By seed: cuts, silent cuts, power-offs, restarts of sshd, changed host keys, hung drivers, SIGKILL to the server and to node
programs; nodes are removed and added again, drained, given up and trusted, at times with the server killed in the middle of
the request; and people kill and pause jobs. Then all is healed. Every job must be accounted for by what it wrote itself
(`evidence`), no attempt may have begun twice, no job and no GPU may have been in use twice at once, nothing may be left.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.accounts import throw_away_accounts
from tests.box import Box, until
from tests.cluster.aftermath import aftermath, calm_down
from tests.cluster.evidence import SCRIPT
from tests.cluster.membership import description
from tests.cluster.sky import Asked, Sky
from tests.cluster.strikes import strike
from tests.hosts import Hosts
from tests.lab import laboratory

HOSTS, GPUS, HERE = 4, "4x24G", "2x24G"
SETTINGS = {"node.retry_s": 1, "node.lost_s": 86_400}
NAPS = ("0.1", "0.5", "1", "3", "6")
SHAPES = ("-g 1", "-g 1", "-g 1", "-g 1", "-g 2", "-g 3", "-g 0")


@dataclass(frozen=True)
class Forecast:
    """What the storm is made of."""

    seed: int
    for_s: float = 60.0
    jobs: int = 200
    has_people: bool = False
    """Two users of a root server, root logins; else a login that is nobody's in particular."""
    keep: bool = False

    @property
    def command(self) -> str:
        """How to have it again."""
        people = " --people" if self.has_people else ""
        return f".venv/bin/python tests/cluster/storm.py --seed {self.seed} --for {self.for_s:g} --jobs {self.jobs}{people}"


@dataclass(frozen=True)
class Submitter:
    """A user who submits, and the uids of their jobs on the hosts and here."""

    do: Callable[..., str]
    there: int
    here: int


def storm(forecast: Forecast) -> list[str]:
    """Let it pass; what was wrong afterwards."""
    print(forecast.command, flush=True)
    moments = [time.monotonic()]
    with _ground(forecast) as (sky, people):
        problems = ["it was broken off"]
        try:
            for number, person in enumerate(people):
                _submit(sky, person, forecast.jobs // len(people), f"jobs-{number}")
            moments.append(time.monotonic())
            _blow(sky, forecast)
            moments.append(time.monotonic())
            calm_down(sky)
            moments.append(time.monotonic())
            problems = sky.problems + aftermath(sky)
        finally:
            moments.append(time.monotonic())
            _tell(sky, forecast, problems, moments)
            if problems and forecast.keep:
                input(f"ROOST_HOME={sky.box.home} {sky.hosts.directory}; Enter takes it away ")
        return problems


# -- before ---------------------------------------------------------------------------------------------------------


@contextmanager
def _ground(forecast: Forecast) -> Iterator[tuple[Sky, list[Submitter]]]:
    chance = random.Random(forecast.seed)
    if forecast.has_people:
        with laboratory(HERE) as lab, Hosts(HOSTS, (lab.ana.name, lab.bob.name)) as hosts:
            try:
                sky = Sky(lab.box, hosts, chance)
                _add_nodes(sky, "root")
                yield sky, [Submitter(person.do, person.account.uid, person.account.uid) for person in (lab.ana, lab.bob)]
            finally:
                lab.box.stop()  # before the hosts go, for which it would look
        return
    with throw_away_accounts("roostn") as (login,), Hosts(HOSTS, (login.name,)) as hosts:
        box = Box(gpus=HERE)
        try:
            sky = Sky(box.up(), hosts, chance)
            _add_nodes(sky, login.name)
            yield sky, [Submitter(box.do, login.uid, 0)]
        finally:
            box.close()


def _add_nodes(sky: Sky, login: str) -> None:
    assert sky.box.http("PUT", "/settings", SETTINGS).status == 200
    sky.login |= {"user": login, "sim": GPUS}
    for host in sky.hosts:
        answer = sky.box.http("POST", "/nodes", description(sky, host, sky.node(host)))
        assert answer.status == 200, answer
    until("all nodes are up", lambda: all(n["state"] == "up" for n in sky.box.http("GET", "/nodes").json["nodes"]))


def _submit(sky: Sky, person: Submitter, jobs: int, name: str) -> None:
    """All at once; they wait for one another through the storm."""
    (sky.hosts.shared / "job.sh").write_text(SCRIPT)
    sky.lines.touch()
    sky.lines.chmod(0o666)
    chance, lines, asked = sky.chance, [], []
    for _ in range(jobs):
        retries = chance.choice((0, 5))
        fails = chance.choice((0, 0, 0, 1)) if retries else 0
        asked.append(Asked(retries, fails, person.there, person.here))
        lines.append(f"{chance.choice(SHAPES)} --retries {retries} sh job.sh {chance.choice(NAPS)} {fails}\n")
    listed = sky.hosts.shared / name
    listed.write_text("".join(lines))
    options = ("--cwd", str(sky.hosts.shared), "--export", "NONE", "--grace", "5s")
    ids = person.do("submit", "-q", *options, "--from", str(listed)).split()
    assert len(ids) == jobs, ids
    sky.asked.update(zip(map(int, ids), asked, strict=True))


# -- during and after -----------------------------------------------------------------------------------------------


def _blow(sky: Sky, forecast: Forecast) -> None:
    over, strikes = time.monotonic() + forecast.for_s, count()
    while time.monotonic() < over:
        sky.chance = random.Random(f"{forecast.seed}/{next(strikes)}")
        strike(sky)
        pause = time.monotonic() + sky.chance.uniform(0.1, 1.5)
        while time.monotonic() < pause:
            sky.do_what_is_due()
            time.sleep(0.02)


def _tell(sky: Sky, forecast: Forecast, problems: list[str], moments: list[float]) -> None:
    struck = ", ".join(f"{name} {count}" for name, count in sorted(sky.struck.items()))
    wrote = sky.lines.read_text().count("\n") if sky.lines.exists() else 0
    took = " + ".join(f"{after - before:.0f} s" for before, after in pairwise(moments))
    print(f"seed {forecast.seed}: {len(sky.asked)} jobs, {wrote} lines, {took}; {struck}")
    for problem in problems[:30]:
        print(f"WRONG: {problem}")
    if not problems:
        print("every job is accounted for; nothing is left")
        return
    print(f"{len(problems)} things are wrong; again: {forecast.command}")
    print(f"server log:\n{_tail(sky.box.home / 'server.log')}")
    kept = Path("/tmp") / f"roost-storm-{forecast.seed}"
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir()
    print(f"kept: {kept}")
    for path in (sky.lines, sky.box.home / "server.log", *sky.box.home.glob("roost.db*")):
        if path.exists():
            shutil.copy(path, kept)


def _tail(path: Path) -> str:
    return "\n".join(path.read_text(errors="replace").splitlines()[-60:]) if path.exists() else "(none)"


def main() -> int:
    """The exit code: 0 when all was as it must be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=None, help="default: one that is drawn and printed")
    parser.add_argument("--for", type=float, default=60.0, dest="for_s", metavar="SECONDS")
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--people", action="store_true", help="two users of a root server, root logins")
    parser.add_argument("--keep", action="store_true", help="wait before what went wrong is taken away")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.randrange(1 << 20)
    return 1 if storm(Forecast(seed, options.for_s, options.jobs, options.people, options.keep)) else 0


if __name__ == "__main__":
    sys.exit(main())
