"""People and many machines: a root server, root logins and logins of one's own, over real SSH."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from tests.hosts import Host, Hosts, needs_hosts
from tests.lab import Lab, Person, laboratory

pytestmark = needs_hosts("people on nodes over SSH")
SIM = "both:2x24G"
"""A simulation with a name: its GPUs are the same for every program of the machine."""


class There(NamedTuple):
    """A root server with two people, and a host where both have accounts."""

    lab: Lab
    host: Host
    hosts: Hosts

    def says(self, person: Person, script: str, *options: str) -> list[str]:
        """What a job of that person wrote there."""
        job = person.submit("-g", 1, "--cwd", "/", "--node", "far", *options, script)
        return person.do("log", "-f", job).split()


@pytest.fixture(scope="module")
def there() -> Iterator[There]:
    with laboratory() as lab, Hosts(1, (lab.ana.name, lab.bob.name)) as hosts:
        host = hosts[0]
        words = ("--key", str(hosts.key), "--host-key", host.host_key, "--sim", SIM)
        lab.root("node", "add", "far", host.url("root"), *words)
        yield There(lab, host, hosts)
        lab.root("node", "rm", "far", "--force")


def test_users_run_as_themselves_behind_a_root_login(there: There) -> None:
    for person in (there.lab.ana, there.lab.bob):
        wanted = there.host.run(["id"], user=person.name).out.split()
        assert there.says(person, "id") == wanted
        name, home = there.says(person, "echo $USER $HOME")
        assert (name, home) == (person.name, str(person.account.home))


def test_nobody_reads_or_ends_anothers_job_there(there: There) -> None:
    ana, bob = there.lab.ana, there.lab.bob
    job = ana.submit("-g", 1, "--cwd", "/", "--node", "far", "--grace", "0", "echo secret; sleep 100")
    bob.refused("log", job)
    bob.refused("kill", job)
    ana.do("kill", job)
    assert ana.run("wait", "-q", job).code != 0


def test_only_administrators_change_nodes(there: There) -> None:
    bob, url = there.lab.bob, there.host.url("root")
    for words in (("add", "mine", url), ("rm", "far"), ("lost", "far"), ("trust", "far"), ("check", "far")):
        who = "the server's own account" if words[0] == "add" else "administrators"
        assert who in bob.refused("node", *words)
    assert "far" in bob.do("nodes")


def test_a_login_of_ones_own_is_made_with_ones_own_key(there: There) -> None:
    ana, bob = there.lab.ana, there.lab.bob
    for person in (ana, bob):  # the server's key opens everything, and is none of their business
        assert "Permission denied" in person.refused("node", "login", "far", there.host.url(person.name), code=75)
    with _key_of_the_hosts(ana, there.hosts):
        ana.do("node", "login", "far", there.host.url(ana.name))
        assert there.says(ana, "id -un") == [ana.name]
        assert ".roost/nodes/" in " ".join(there.host.processes().values())
        assert there.says(bob, "id -un") == [bob.name], "others go as before"
        assert [row["user"] for row in there.lab.box.json("node", "login")["logins"]] == [ana.name]
        assert ana.name not in bob.do("node", "login")
        bob.refused("node", "login", "far", "--rm", "--user", ana.name)
        ana.do("node", "login", "far", "--rm")
    assert there.says(ana, "id -un") == [ana.name]


def test_a_login_is_to_the_node_and_nowhere_else(there: There) -> None:
    ana = there.lab.ana
    with _key_of_the_hosts(ana, there.hosts), Hosts(1, (ana.name,)) as others:
        said = ana.refused("node", "login", "far", others[0].url(ana.name), code=75)
    assert "key" in said or "denied" in said
    assert ana.name not in ana.do("node", "login")


@contextlib.contextmanager
def _key_of_the_hosts(person: Person, hosts: Hosts) -> Iterator[None]:
    """Put the key into the person's home for a while."""
    directory = person.account.home / ".ssh"
    directory.mkdir(mode=0o700, exist_ok=True)
    key = directory / "id_ed25519"
    shutil.copyfile(hosts.key, key)
    key.chmod(0o600)
    for path in (directory, key):
        shutil.chown(path, person.account.uid, person.account.gid)
    try:
        yield
    finally:
        key.unlink()
