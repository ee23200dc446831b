"""Where a history takes place: a root server with a stepped clock, three accounts with tokens, hosts behind real SSH."""

from __future__ import annotations

import os
import random
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.accounts import Account, throw_away_accounts
from tests.box import Box, until
from tests.cluster.evidence import SCRIPT
from tests.cluster.membership import description
from tests.cluster.sky import Sky
from tests.histories.clock import SteppedClock
from tests.hosts import Hosts

HERE, THERE = "2x24G", "2x24G"
SETTINGS = {"node.retry_s": 0.5, "node.lost_s": 3600, "cpu.slots": 3, "http.rate": 10_000}
MAX_GPUS, MAX_QUEUED = 2, 6
"""The quota of the second user, and of the third."""


@dataclass
class Ground:
    """All of it. `sky` is what a storm knows; the strikes of storms are used."""

    sky: Sky
    clock: SteppedClock
    port: int
    tokens: dict[str, str]
    accounts: dict[str, Account]

    @property
    def quotas(self) -> dict[str, Json]:
        """What administrators said about users."""
        _, second, third = sorted(self.tokens)
        return {second: {"max_gpus": MAX_GPUS}, third: {"max_queued": MAX_QUEUED}}


Json = dict[str, int]


@contextmanager
def ground(seed: int, hosts: int) -> Iterator[Ground]:
    """Make it, and take it down."""
    with throw_away_accounts("ana", "bob", "cyd") as accounts, Hosts(hosts, tuple(a.name for a in accounts)) as there:
        box = Box(gpus=HERE)
        box.work.chmod(0o755)
        try:
            clock = SteppedClock(box.work / "clock")
            box.env |= clock.env
            port = _free_port()
            box.up("--sim", HERE, "--port", str(port))
            sky = Sky(box, there, random.Random(seed))
            sky.gives_up_the_living = False
            _write_scripts(sky)
            assert box.http("PUT", "/settings", SETTINGS).status == 200
            _add_hosts(sky)
            made = Ground(sky, clock, port, {a.name: _token(box, a) for a in accounts}, {a.name: a for a in accounts})
            for user, rules in made.quotas.items():
                assert box.http("PATCH", f"/users/{user}", rules).status == 200
            yield made
        finally:
            box.close()


def _write_scripts(sky: Sky) -> None:
    """What every job runs: it says on its standard output who it is, and then what jobs of storms say."""
    (sky.hosts.shared / "told.sh").write_text("echo out $ROOST_JOB_ID.$ROOST_ATTEMPT\n" + SCRIPT)
    sky.lines.touch()
    sky.lines.chmod(0o666)


def _add_hosts(sky: Sky) -> None:
    sky.login |= {"user": "root", "sim": THERE}
    for host in sky.hosts:
        answer = sky.box.http("POST", "/nodes", description(sky, host, sky.node(host)))
        assert answer.status == 200, answer
    until("all nodes are up", lambda: all(n["state"] == "up" for n in sky.box.http("GET", "/nodes").json["nodes"]))


def _token(box: Box, account: Account) -> str:
    """A token that the account asks for itself, in a child that has become it."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups(os.getgrouplist(account.name, account.gid))
            os.setresgid(account.gid, account.gid, account.gid)
            os.setresuid(account.uid, account.uid, account.uid)
            os.write(writer, box.http("POST", "/tokens", {"label": "histories"}).json["token"].encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader) as file:
        token = file.read()
    os.waitpid(child, 0)
    assert token, f"{account.name} was given no token"
    return token


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
