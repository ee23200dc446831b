"""A login of one's own on a node, over real SSH: whose keys are used, which account jobs run as, who may set it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.accounts import needs_root
from tests.hosts import Hosts, needs_hosts
from tests.lab import Lab, Person, laboratory

pytestmark = [needs_hosts("logins of users on nodes"), needs_root("logins of users on nodes")]
NODE = "lab1"


class There(NamedTuple):
    """A root server, a host that it reaches as bob, and the key of ana, which is in her home."""

    lab: Lab
    hosts: Hosts
    key: Path

    @property
    def target(self) -> str:
        """Where ana goes."""
        return self.hosts[0].url(self.lab.ana.name)

    def whose(self, person: Person) -> str:
        """The account that a job of that person runs as there."""
        return person.sh("id -un", "--node", NODE, "--cwd", "/")[1].strip()


@pytest.fixture
def there() -> Iterator[There]:
    with laboratory() as lab, Hosts(1, (lab.ana.name, lab.bob.name)) as hosts:
        key = lab.ana.account.home / "lab_key"
        shutil.copy(hosts.key, key)
        shutil.chown(key, lab.ana.account.uid, lab.ana.account.gid)
        key.chmod(0o600)
        words = ("--yes", "--key", str(hosts.key), "--sim", "2x24G")
        lab.root("node", "add", NODE, hosts[0].url(lab.bob.name), *words)
        yield There(lab, hosts, key)


def test_jobs_run_through_it_as_their_user_and_without_it_as_everybodys(there: There) -> None:
    ana, bob = there.lab.ana, there.lab.bob
    assert there.whose(ana) == bob.name
    said = ana.do("node", "login", NODE, there.target, "--key", str(there.key))
    assert said == f"jobs of {ana.name} run on {NODE} through {there.target} with {there.key}\n"
    assert (there.whose(ana), there.whose(bob)) == (ana.name, bob.name)
    assert there.target in ana.do("node", "login") and there.target in there.lab.root("node", "login")
    assert there.target not in bob.do("node", "login")
    ana.do("node", "login", NODE, "--rm")
    assert there.whose(ana) == bob.name


def test_a_job_with_a_simulated_gpu_runs_through_it_also_where_the_simulation_has_no_name(there: There) -> None:
    ana = there.lab.ana
    ana.do("node", "login", NODE, there.target, "--key", str(there.key))
    job = ana.submit("--gpu-id", f"{NODE}:1", "--cwd", "/", "echo $ROOST_GPU_UUIDS; id -un")
    assert ana.run("wait", "-q", job, "--timeout", "40s").code == 0, ana.do("why", job)
    (gpu,) = [gpu for gpu in json.loads(ana.do("gpus", "--json"))["gpus"] if (gpu["node"], gpu["index"]) == (NODE, 1)]
    assert ana.do("log", job).split() == [gpu["uuid"], ana.name]


def test_it_goes_no_further_than_its_user(there: There) -> None:
    ana, bob = there.lab.ana, there.lab.bob
    refused = ana.refused("node", "login", NODE, there.target, "--key", str(there.hosts.key), code=75)  # root's file
    assert "Permission denied" in refused or "no key file" in refused
    refused = bob.refused("node", "login", NODE, there.target, code=75)
    assert "Permission denied" in refused and "the server's account" not in refused
    assert "only the server's own account" in bob.refused("node", "login", NODE, there.target, "--user", ana.name)
    assert "no login" in bob.refused("node", "login", NODE, "--rm", code=2)
