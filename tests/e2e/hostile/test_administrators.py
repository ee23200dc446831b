"""What an administrator without the server's own account tries in order to become root. Each attempt is refused.

The administrator is a user without any UNIX account who logs in over TCP, as somebody who stole a laptop's token would.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.accounts import needs_root
from tests.box import Answer, Box
from tests.lab import Lab, laboratory

pytestmark = needs_root("that an administrator from elsewhere cannot become root")
PASSWORD = "violet harbour seven"


class Boss(NamedTuple):
    """An administrator from elsewhere, and the server."""

    lab: Lab
    token: str

    @property
    def box(self) -> Box:
        return self.lab.box

    def http(self, method: str, path: str, body: Any = None) -> Answer:
        """One request of theirs."""
        return self.box.http(method, path, body, tcp=True, Authorization=f"Bearer {self.token}")

    def refused(self, method: str, path: str, body: Any = None) -> str:
        """One request of theirs, which must be refused; what was said."""
        answer = self.http(method, path, body)
        assert answer.status == 403, (method, path, body, answer)
        return str(answer.json["error"]["message"])


@pytest.fixture(scope="module")
def boss() -> Iterator[Boss]:
    with laboratory() as lab:
        lab.root("user", "add", "boss", "--unix", "none")
        lab.root("user", "admin", "boss")
        yield Boss(lab, log_in(lab.box, lab.root("user", "link", "boss"), "boss"))


def log_in(box: Box, link: str, name: str) -> str:
    """Choose a password by that link, and log in with it; a token."""
    code = link.strip().rpartition("/")[2]
    assert box.http("POST", f"/link/{code}", {"password": PASSWORD}, tcp=True, Authorization="").status == 200
    body = {"user": name, "password": PASSWORD, "token": "laptop"}
    return str(box.http("POST", "/login", body, tcp=True, Authorization="").json["token"])


def test_they_are_an_administrator_all_the_same(boss: Boss) -> None:
    assert boss.http("GET", "/me").json["admin"] is True
    made = boss.http("POST", "/users", {"names": ["carl"], "unix": "none"})
    assert made.status == 201 and boss.http("POST", "/users/carl/link").status == 200
    assert boss.http("PATCH", "/users/carl", {"admin": True}).status == 200
    assert boss.http("DELETE", "/users/carl").status == 200
    assert boss.http("POST", f"/users/{boss.lab.ana.name}/link").status == 200


def test_a_password_link_for_root(boss: Boss) -> None:
    assert boss.refused("POST", "/users/root/link") == "only root can manage user root, who has the server's own account"


@pytest.mark.parametrize("change", [{"unix": None}, {"locked": True}, {"admin": False}, {"unix": "nobody"}], ids=str)
def test_a_change_of_root(boss: Boss, change: dict[str, Any]) -> None:
    boss.refused("PATCH", "/users/root", change)


def test_root_deleted_or_added(boss: Boss) -> None:
    boss.refused("DELETE", "/users/root")
    boss.refused("POST", "/users", {"names": ["root"], "unix": "none"})
    boss.refused("POST", "/users", {"names": ["root"]})
    boss.refused("POST", "/users", {"names": ["dora"], "unix": "root"})
    boss.refused("PATCH", f"/users/{boss.lab.bob.name}", {"unix": "root"})


def test_a_password_link_for_a_user_who_has_roots_account(boss: Boss) -> None:
    boss.lab.root("user", "set", "root", "--unix", "none")  # an account is linked to one user
    boss.lab.root("user", "add", "rita", "--unix", "root")
    try:
        boss.refused("POST", "/users/rita/link")
        boss.refused("PATCH", "/users/rita", {"unix": None})
        boss.refused("DELETE", "/users/rita")
    finally:
        boss.lab.root("user", "set", "rita", "--unix", "none")  # root is rita until then
        boss.lab.root("user", "del", "-y", "rita")
        boss.lab.root("user", "set", "root", "--unix", "root")


def test_a_job_as_root(boss: Boss) -> None:
    for body in ({}, {"user": "root"}):
        boss.refused("POST", "/jobs", {"jobs": [{"command": ["id"], "gpus": 0, **body}]})


@pytest.mark.parametrize("values", [{"login.pam": "su"}, {"http.proxies": "0.0.0.0/0"}, {"audit.keep_days": 31}], ids=str)
def test_a_setting_that_decides_who_somebody_is_or_what_is_known_of_it(boss: Boss, values: dict[str, Any]) -> None:
    assert "only the server's own account can change" in boss.refused("PUT", "/settings", {**values, "job.grace_s": 31})
    assert boss.http("PUT", "/settings", {"job.grace_s": 30}).status == 200
    with boss.lab.set(http__proxies="192.0.2.1"):
        assert boss.http("PUT", "/settings", {"http.proxies": "192.0.2.1", "job.grace_s": 30}).status == 200  # as it was


@pytest.mark.parametrize("service", ["su", "runuser", "chsh"])
def test_a_pam_service_that_asks_root_for_no_password_is_refused_to_root_too(boss: Boss, service: str) -> None:
    if not Path(f"/etc/pam.d/{service}").exists():
        pytest.skip(f"NOT TESTED: no PAM service {service}")
    assert "accepts any password" in boss.box.refused(2, "set", "login.pam", service)
    body = {"user": boss.lab.ana.name, "password": "any password at all"}
    assert boss.box.http("POST", "/login", body, tcp=True, Authorization="").status == 401


NODES: dict[str, dict[str, Any]] = {
    "where-the-servers-key-is-root": {"target": "ssh://root@127.0.0.1:1"},
    "any-program-as-its-python": {"target": "ssh://root@127.0.0.1:1", "python": "/bin/sh"},
    "any-directory": {"target": "ssh://ana@127.0.0.1:1", "dir": "/etc"},
    "any-key": {"target": "ssh://ana@127.0.0.1:1", "key": "/root/.ssh/id_ed25519"},
    "the-servers-own-machine": {"target": "pipe:", "dir": "/tmp/roost-x"},
}


@pytest.mark.parametrize("name", NODES)
def test_a_node(boss: Boss, name: str) -> None:
    boss.refused("POST", "/nodes", {"name": "far", **NODES[name]})
    assert [node["name"] for node in boss.box.http("GET", "/nodes").json["nodes"]] != ["far"]


def test_a_login_with_the_servers_keys(boss: Boss) -> None:
    node = boss.box.http("GET", "/nodes").json["nodes"][0]["name"]
    for user in ({}, {"user": boss.lab.ana.name}, {"user": "root"}):
        said = boss.refused("PUT", f"/nodes/{node}/login", {"target": "ssh://root@127.0.0.1:1", **user})
        assert said == "only the server's own account can set this login: it would use the server's SSH keys"


def test_root_itself_sets_its_password_and_runs_jobs_from_elsewhere(boss: Boss) -> None:
    token = log_in(boss.box, boss.lab.root("user", "link", "root"), "root")
    body = {"jobs": [{"command": ["id", "-u"], "gpus": 0}]}
    made = boss.box.http("POST", "/jobs", body, tcp=True, Authorization=f"Bearer {token}")
    (job,) = made.json["ids"]
    boss.box.ends(job, "succeeded")
    assert boss.box.do("log", job) == "0\n"
