"""The table of roles in docs/explanation/security.md, asked of a real server cell by cell.

A root server; `here` is root at its socket, `own` root with a token, `admin` and `user` are people with accounts of their
own, and `none` has not logged in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from tests.accounts import needs_root
from tests.box import ROOT, Answer
from tests.lab import Lab, laboratory

pytestmark = needs_root("that the table of roles holds")
ROLES = ("here", "own", "admin", "user", "none")
PAGE = ROOT / "docs" / "explanation" / "security.md"
TABLE = {
    cells[0]: dict(zip(ROLES, cells[1:], strict=True))
    for line in PAGE.read_text().partition("## Who may do what")[2].partition("**here**")[0].splitlines()
    if len(cells := [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("| "))]) == len(ROLES) + 1
    and cells[1] in ("yes", "no", "theirs")
}


class World(NamedTuple):
    """The server, and the tokens of those who come over TCP."""

    lab: Lab
    tokens: dict[str, str]

    def ask(self, role: str, method: str, path: str, body: Any = None) -> Answer:
        """One request of somebody in that role."""
        if role == "here":
            return self.lab.box.http(method, path, body)
        if role == "user":
            return self.lab.ana.http(method, path, body)
        token = self.tokens.get(role)
        return self.lab.box.http(method, path, body, tcp=True, Authorization=f"Bearer {token}" if token else "")

    def job(self, role: str, **asked: Any) -> int:
        """A job of somebody in that role that waits."""
        body = {"jobs": [{"command": ["true"], "gpus": 0, "hold": True, **asked}]}
        return int(self.ask(role, "POST", "/jobs", body).json["ids"][0])

    def name(self, role: str) -> str:
        """The user in that role."""
        return {"user": self.lab.ana.name, "admin": self.lab.bob.name}[role]

    def token(self, role: str) -> int:
        """The number of a token of theirs."""
        return int(self.ask(role, "POST", "/tokens", {"label": "spare"}).json["id"])


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with laboratory() as lab:
        lab.root("user", "add", lab.bob.name)
        lab.root("user", "admin", lab.bob.name)
        tokens = {"own": lab.root("token", "new", "laptop").strip(), "admin": lab.bob.do("token", "new", "laptop").strip()}
        yield World(lab, tokens)


Request = tuple[str, str, Any]
Requests = Callable[[World, str], list[Request]]
"""What is asked for about something of the role that is named."""


def acts(*names: str, **more: Any) -> Requests:
    """Actions on a fresh job of theirs, one after the other."""

    def asked(world: World, whose: str) -> list[Request]:
        select = {"ids": str(world.job(whose))}
        return [("POST", "/jobs/actions", {"action": name, "select": select, **more}) for name in names]

    return asked


def reads(world: World, whose: str) -> list[Request]:
    job = world.job(whose)
    return [("GET", f"/jobs/{job}/log", None), ("GET", f"/jobs/{job}/env", None)]


def servers_jobs(world: World, _: str) -> list[Request]:
    select = {"ids": str(world.job("here"))}
    change = {"select": select, "changes": {"name": "x"}}
    submit = {"jobs": [{"command": ["true"], "gpus": 0, "hold": True, "user": "root"}]}
    return [
        ("POST", "/jobs", submit),
        *(("POST", "/jobs/actions", {"action": what, **change}) for what in ("edit", "clone")),
    ]


def plain(*requests: tuple[str, str] | Request) -> Requests:
    """The same requests for every role."""
    return lambda *_: [(one[0], one[1], one[2] if len(one) > 2 else None) for one in requests]


def users(world: World, _: str) -> list[Request]:
    world.ask("here", "DELETE", "/users/carl")
    link = ("POST", "/users/carl/link", None)
    changes = [("PATCH", "/users/carl", change) for change in ({"admin": True}, {"unix": "nobody"}, {"locked": True})]
    return [("POST", "/users", {"names": ["carl"], "unix": "none"}), *changes, link, ("DELETE", "/users/carl", None)]


def servers_user(world: World, _: str) -> list[Request]:
    """A change that changes nothing; what would shut root out is in `test_administrators`."""
    return [("PATCH", "/users/root", {"locked": False})]


HELD = {"jobs": [{"command": ["true"], "gpus": 0, "hold": True}]}
FAR = "ssh://ana@127.0.0.1:1"
"""Where nobody answers."""
CHECKS: dict[str, Requests] = {
    "use the login page and a one-time link": plain(("POST", "/login", {"user": "x"}), ("POST", "/link/x", {"name": 3})),
    "see jobs, GPUs, nodes, users, settings and the policy": plain(
        *(("GET", f"/{what}") for what in ("jobs", "gpus", "nodes", "users", "settings", "policy", "status"))
    ),
    "run a job as their own UNIX account": plain(("POST", "/jobs", HELD)),
    "make a token or a login link for themselves": plain(("POST", "/tokens", {"label": "x"}), ("POST", "/me/link")),
    "see the log and the environment of a job": reads,
    "hold, release, rerun, kill and remove a job": acts("release", "hold", "kill", "rerun", "kill", "rm"),
    "edit and clone a job": acts("edit", "clone", changes={"name": "x"}),
    "submit a job for another user": lambda world, whose: [
        ("POST", "/jobs", {"jobs": [{**HELD["jobs"][0], "user": world.name(whose)}]})
    ],
    "move a job in the queue, or start it past the queue": acts("move", "start", position=0),
    "revoke a token": lambda world, whose: [("DELETE", f"/tokens/{world.token(whose)}", None)],
    "change settings, the policy, the notice; pause scheduling": plain(
        ("PUT", "/settings", {"job.grace_s": 30}),
        ("PUT", "/policy", {"policy": "swift"}),
        ("PUT", "/notice", {"text": None}),
        ("POST", "/scheduler", {"paused": False}),
    ),
    "drain, disable and rename GPUs and nodes": plain(
        ("POST", "/gpus/actions", {"action": "enable", "gpus": ["all"]}),
        ("POST", "/gpus/actions", {"action": "set", "gpus": ["0"], "alias": ""}),
        ("POST", "/drain", {"targets": ["0"], "undrain": True}),
    ),
    "check, give up and remove nodes": plain(
        ("POST", "/nodes/none/check"), ("POST", "/nodes/none/lost"), ("DELETE", "/nodes/none")
    ),
    "add, change and lock users, link their UNIX accounts, make links to choose a password": users,
    "read the audit and the server's log": plain(("GET", "/audit"), ("GET", "/log/server")),
    "stop the server": plain(("POST", "/shutdown", {"kill": "not a truth value"})),
    "submit, edit or clone a job that runs as the server's account": servers_jobs,
    "add, change, lock or delete a user who has the server's account": servers_user,
    "make a link for the server's account to choose a new password": plain(("POST", "/users/root/link")),
    "add a node; set a login that uses the server's SSH keys": lambda world, _: [
        ("POST", "/nodes", {"name": "-", "target": FAR}),
        ("PUT", "/nodes/none/login", {"target": FAR, "user": world.lab.bob.name + "x"}),
    ],
    "change `http.proxies`, `login.pam` and `audit.keep_days`": plain(
        *(("PUT", "/settings", {key: value}) for key, value in (("audit.keep_days", 731), ("login.pam", "x.y"))),
        *(("PUT", "/settings", {key: value}) for key, value in (("http.proxies", "192.0.2.1"),)),
    ),
    "archive, back up, make the link for the first administrator": plain(
        ("POST", "/archive", {"path": "nowhere"}), ("POST", "/backup", {"path": "nowhere"}), ("POST", "/administrator/link")
    ),
}
GRANTED = {
    "use the login page and a one-time link": (400, 404),
    "check, give up and remove nodes": (404,),
    "stop the server": (400,),
    "add a node; set a login that uses the server's SSH keys": (400, 404),
    "archive, back up, make the link for the first administrator": (200, 400),
}
"""What those hear who may, where nothing is to be done in earnest: the node is not there, the body makes no sense."""


def test_every_line_of_the_table_is_asked_for() -> None:
    assert list(TABLE) == list(CHECKS)


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("ability", TABLE)
def test_a_cell(world: World, ability: str, role: str) -> None:
    said, requests = TABLE[ability][role], CHECKS[ability]
    with world.lab.set(http__proxies="", login__pam="", audit__keep_days=730):
        for whose in ("admin" if role == "user" else "user", *([role] if said == "theirs" else [])):
            may = said == "yes" or whose == role
            answers = [(asked, world.ask(role, *asked)) for asked in requests(world, whose)]
            for asked, answer in answers:
                expected = GRANTED.get(ability, (200, 201)) if may else (401, 403, 404)
                assert answer.status in expected, (role, asked, answer)
