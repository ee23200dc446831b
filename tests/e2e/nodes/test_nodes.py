"""A server and two other machines over real SSH: added, cut off, given up, upgraded, trusted again, removed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from tests.accounts import throw_away_accounts
from tests.box import Box, until
from tests.hosts import Host, Hosts, needs_hosts

pytestmark = needs_hosts("nodes over SSH")
SIM = "2x24G"
FOREVER = "trap 'exit 0' TERM; while :; do sleep 0.05; done"


class Lab(NamedTuple):
    """A server without GPUs of its own worth speaking of, its hosts, and an account that all of them have."""

    box: Box
    hosts: Hosts
    ana: str

    def add(self, host: Host, *more: str, name: str = "", user: str = "root", sim: str = SIM) -> str:
        """Add a host; the name of the node."""
        words = ("--key", str(self.hosts.key), "--host-key", host.host_key, "--sim", sim, *more)
        self.box.do("node", "add", name or host.name, host.url(user), *words)
        return name or host.name

    def node(self, name: str) -> dict[str, Any]:
        """What is shown of a node."""
        found: dict[str, Any] = self.box.http("GET", f"/nodes/{name}").json["node"]
        return found

    def becomes(self, name: str, state: str) -> dict[str, Any]:
        """Wait until the node is like that."""
        return until(
            f"{name} is {state}",
            lambda: found if (found := self.node(name))["state"] == state else None,
            shown=lambda: self.node(name),
        )

    def job(self, job: int) -> dict[str, Any]:
        """What is shown of a job."""
        return self.box.http("GET", f"/jobs/{job}").json

    def is_job(self, job: int, state: str) -> dict[str, Any]:
        """Wait until a job is shown like that."""
        return until(
            f"job {job} is {state}",
            lambda: found if state in ((found := self.job(job))["state"], found["outcome"]) else None,
            shown=lambda: self.job(job),
        )

    def submit(self, *words: str) -> int:
        """Queue a job with one GPU that begins in a directory which every machine has."""
        return self.box.submit("-g", "1", "--cwd", "/", *words)


@pytest.fixture(scope="module")
def there() -> Iterator[tuple[Hosts, str]]:
    with throw_away_accounts("ana") as (ana,), Hosts(2, (ana.name,)) as made:
        yield made, ana.name


@pytest.fixture
def lab(there: tuple[Hosts, str]) -> Iterator[Lab]:
    hosts, ana = there
    box = Box(gpus="1x8G")
    try:
        box.up()
        box.do("set", "node.retry_s", "0.5")
        yield Lab(box, hosts, ana)
        for host in hosts:
            host.heal()
        box.run("kill", "all", "--grace", "0")
        until("nothing is left for the next test", lambda: not any(_loops(host) for host in hosts))
    finally:
        for host in hosts:
            host.heal()
        box.close()


def _loops(host: Host) -> bool:
    """Whether a job that never ends by itself is there."""
    return any("while :" in line for line in host.processes().values())


def test_what_a_person_gets_wrong_is_said(lab: Lab) -> None:
    host, own = lab.hosts[0], lab.box.json("nodes")["nodes"][0]["name"]
    name = lab.add(host, name="lab1")
    more = ("--key", str(lab.hosts.key), "--sim", SIM)
    assert "already a node: lab1\n" in lab.box.refused(1, "node", "add", "twice", host.url("root"), "--yes", *more)
    assert lab.node(name)["state"] == "up"
    assert "use a-z, A-Z, 0-9, " in lab.box.refused(2, "node", "add", "实验室", host.url("root"))
    assert lab.box.refused(2, "drain", "lab9").splitlines()[0] == "roost: there is no node or GPU lab9"
    assert "own machine, which is not reached over SSH" in lab.box.refused(1, "node", "check", own)
    assert "so its jobs are not lost" in lab.box.refused(1, "node", "lost", name)
    job = lab.submit("--node", name, FOREVER)
    lab.is_job(job, "running")
    assert "hint: roost drain lab1, then wait; " in lab.box.refused(1, "node", "rm", name)
    host.cut()
    lab.becomes(name, "unreachable")
    assert "hint: roost node lost lab1, if it will not come back; " in lab.box.refused(1, "node", "rm", name)
    assert f"hint: roost log -f {job} waits until lab1 is back\n" in lab.box.refused(75, "log", job)
    host.heal()
    lab.becomes(name, "up")
    lab.box.do("kill", job, "--grace", "0")
    lab.is_job(job, "killed")


def test_a_host_is_a_node_once_somebody_said_that_its_key_is_right(lab: Lab) -> None:
    host = lab.hosts[0]
    words = ("node", "add", "lab1", host.url("root"), "--key", str(lab.hosts.key), "--sim", SIM)
    said = lab.box.refused(1, *words)
    assert host.host_key in said and "--host-key" in said
    assert lab.box.http("GET", "/nodes/lab1").status == 404
    wrong = "SHA256:" + "A" * 43
    assert "another machine answers there" in lab.box.refused(1, *words, "--host-key", wrong)
    lab.box.do(*words, "--host-key", host.host_key)
    found = lab.node("lab1")
    assert (found["state"], found["gpus"], found["runs_as"]) == ("up", 2, "each")
    assert found["host_key"] == host.host_key and found["target"] == host.url("root")
    assert found["hostname"] == host.name and host.name in lab.box.do("node", "show", "lab1")
    job = lab.submit("--node", "lab1", "hostname; echo $ROOST_NODE; id -un")
    assert lab.box.do("log", "-f", job).split() == [host.name, "lab1", "root"]
    assert "node lab1 already exists" in lab.box.refused(1, *words, "--host-key", host.host_key)


def test_an_ordinary_login_runs_as_itself_in_its_own_home(lab: Lab) -> None:
    ana = lab.ana
    name = lab.add(lab.hosts[0], name="lab2", user=ana)
    found = lab.node(name)
    assert found["runs_as"] == "login" and f"/{ana}" in found["state_dir"] and "/.roost/nodes/" in found["state_dir"]
    job = lab.submit("--node", name, "id -un")
    assert lab.box.do("log", "-f", job).split() == [ana]


def test_a_sweep_over_two_hosts_has_the_results_of_all_its_points(lab: Lab) -> None:
    """Where nothing of Roost is installed: a job says it to a file."""
    names = [lab.add(host) for host in lab.hosts]
    line = 'echo loss=0.{a} node=$ROOST_NODE >> "$ROOST_REPORT"; stat -c "%a %U" "$ROOST_REPORT"; command -v roost'
    for first, name in enumerate(names):
        lab.box.do("sweep", "-p", f"a={2 * first + 1}..{2 * first + 2}", "-g", "1", "--cwd", "/", "--node", name, line)
    lab.box.do("wait", "all")
    shown = [lab.box.json("sweep", "show", sweep)["points"] for sweep in ("1", "2")]
    assert [[point["results"] for point in points] for points in shown] == [
        [{"loss": 0.1, "node": names[0]}, {"loss": 0.2, "node": names[0]}],
        [{"loss": 0.3, "node": names[1]}, {"loss": 0.4, "node": names[1]}],
    ]
    assert lab.box.do("log", shown[1][1]["job"]).split() == ["600", "root"]


def test_a_cut_makes_a_job_unknown_and_harms_nothing(lab: Lab) -> None:
    host = lab.hosts[0]
    name = lab.add(host)
    job = lab.submit("--node", name, "echo begun; until test -e /tmp/go; do sleep 0.05; done; echo ended")
    pid = lab.is_job(job, "running")["attempts"][0]["pid"]
    host.cut()
    assert lab.becomes(name, "unreachable")["since"] is not None
    found = lab.is_job(job, "unknown")
    assert found["last_state"] == "running" and found["outcome"] is None
    assert "unknown" in lab.box.do("ls")
    assert "cannot be reached" in lab.box.refused(75, "log", job)
    waiting = lab.submit("--node", name, "true")
    assert "cannot be reached" in lab.box.do("why", waiting)
    host.run(["touch", "/tmp/go"], check=True)
    host.heal()
    found = lab.is_job(job, "succeeded")
    assert len(found["attempts"]) == 1 and found["attempts"][0]["pid"] == pid
    assert lab.box.do("log", job).split() == ["begun", "ended"]
    lab.is_job(waiting, "succeeded")
    host.run(["rm", "/tmp/go"], check=True)


def test_what_was_given_up_runs_elsewhere_and_is_ended_before_its_gpu_is_given_out(lab: Lab) -> None:
    first, second = lab.hosts
    here, there = lab.add(first, sim="1x24G"), lab.add(second, sim="1x24G")
    lab.box.do("drain", there)
    job = lab.submit("--retries", "1", "--min-gpu-mem", "20G", "--grace", "0", f"echo $ROOST_NODE; {FOREVER}")
    lab.is_job(job, "running")
    lab.box.do("undrain", there)
    assert "is reachable, so its jobs are not lost" in lab.box.refused(1, "node", "lost", here)
    first.cut()
    lab.becomes(here, "unreachable")
    assert f"{job}" in lab.box.do("node", "lost", here)
    moved = until("it runs elsewhere", lambda: (f := lab.job(job))["state"] == "running" and f)
    assert [a["node"] for a in moved["attempts"]] == [here, there]
    assert moved["attempts"][0]["outcome"] == "lost" and "gave up node" in moved["attempts"][0]["error"]
    assert _loops(first), "the old attempt runs on, cut off"
    waiting = lab.submit("--node", here, "sleep 0.1; true")
    first.heal()
    lab.is_job(waiting, "succeeded")
    assert not _loops(first)
    assert lab.job(job)["state"] == "running"


def test_a_node_that_is_away_too_long_is_given_up_by_itself(lab: Lab) -> None:
    host = lab.hosts[1]
    name = lab.add(host)
    lab.box.do("set", "node.lost_s", "2")
    job = lab.submit("--node", name, FOREVER)
    lab.is_job(job, "running")
    host.power_off()
    try:
        found = lab.is_job(job, "lost")
        assert "could not be reached for 2 s" in found["error"]
    finally:
        host.power_on()
    lab.becomes(name, "up")
    assert lab.box.do("run", "-q", "-g", "1", "--cwd", "/", "--node", name, "echo", "again").split()[-1] == "again"


def test_a_reboot_is_a_loss_that_is_said(lab: Lab) -> None:
    host = lab.hosts[1]
    name = lab.add(host)
    job = lab.submit("--node", name, FOREVER)
    lab.is_job(job, "running")
    host.power_off()
    host.power_on()
    assert "rebooted" in lab.is_job(job, "lost")["error"]


def test_a_changed_host_key_is_refused_until_it_is_trusted(lab: Lab) -> None:
    host = lab.hosts[1]
    name = lab.add(host)
    job = lab.submit("--node", name, FOREVER)
    lab.is_job(job, "running")
    old = host.host_key
    host.change_host_key()
    host.stop_sshd(sessions=True)
    host.start_sshd()
    until("it is refused", lambda: "key" in (lab.node(name)["reason"] or ""), shown=lambda: lab.node(name))
    assert lab.node(name)["state"] == "unreachable"
    checks = lab.box.http("POST", f"/nodes/{name}/check").json["checks"]
    checked = {line["name"]: line for line in checks}
    assert checked["host key"]["ok"] is False and "trust" in checked["host key"]["hint"]
    said = lab.box.refused(1, "node", "trust", name)
    assert old in said and host.host_key in said
    lab.box.do("node", "trust", name, "--host-key", host.host_key)
    lab.becomes(name, "up")
    assert lab.job(job)["state"] == "running"


def test_a_user_without_an_account_there_is_sent_elsewhere(lab: Lab) -> None:
    (first, second), ana = lab.hosts, lab.ana
    first.hide_account(ana)
    try:
        here, there = lab.add(first), lab.add(second)
        lab.box.do("user", "add", ana, "--unix", ana)
        words = ("--min-gpu-mem", "20G", "--owner", ana)
        job = lab.submit(*words, "--prefer-node", here, "id -un; echo $ROOST_NODE")
        assert lab.box.do("log", "-f", job).split() == [ana, there]
        pinned = lab.submit(*words, "--node", here, "true")
        assert f"{ana} has no account on {here}" in lab.box.do("why", pinned)
    finally:
        first.show_account(ana)


def test_what_one_node_lacks_another_may_have(lab: Lab) -> None:
    first, second = lab.hosts
    here, there = lab.add(first), lab.add(second)
    second.run(["mkdir", "-p", "/data"], check=True)
    words = ("-g", "1", "--min-gpu-mem", "20G", "--prefer-node", here, "--cwd")
    job = lab.box.submit(*words, "/data", "pwd")
    assert lab.box.do("log", "-f", job).split() == ["/data"]
    found = lab.is_job(job, "succeeded")
    assert [a["node"] for a in found["attempts"]] == [here, there]
    assert f"on {here}: no such directory: /data" in found["attempts"][0]["error"]
    nowhere = lab.is_job(lab.box.submit(*words, "/nowhere", "pwd"), "cannot_start")
    assert [a["node"] for a in nowhere["attempts"]] == [here, there]
    pinned = lab.is_job(lab.box.submit(*words, "/data", "--node", here, "pwd"), "cannot_start")
    assert len(pinned["attempts"]) == 1


def test_what_a_job_wrote_survives_its_node(lab: Lab) -> None:
    name = lab.add(lab.hosts[0])
    job = lab.submit("--node", name, "echo to remember; echo and this >&2")
    lab.is_job(job, "succeeded")
    copied = lab.box.home / "logs" / str(job)
    until("it is copied", lambda: list(copied.glob("1.*")))
    until("both are", lambda: lab.box.http("GET", f"/jobs/{job}").status == 200 and (copied / "1.err").exists())
    lab.box.do("node", "rm", name)
    assert lab.box.do("log", job).split("\n")[0] == "to remember"


def test_a_node_with_jobs_is_not_removed_by_accident(lab: Lab) -> None:
    name = lab.add(lab.hosts[0])
    job = lab.submit("--node", name, FOREVER)
    lab.is_job(job, "running")
    assert "did not end" in lab.box.refused(1, "node", "rm", name)
    lab.box.do("node", "rm", name, "--force")
    assert "was removed" in lab.is_job(job, "lost")["error"]
    until("the run is ended there", lambda: not _loops(lab.hosts[0]))
    lab.add(lab.hosts[0])
    waiting = lab.submit("--node", name, "true")
    lab.is_job(waiting, "succeeded")


@pytest.mark.parametrize("login", ["root", "ana"])
def test_a_machine_that_comes_back_under_another_name_ends_what_it_ran_under_the_first(lab: Lab, login: str) -> None:
    host, words = lab.hosts[0], ["--node", "first"]
    if login == "root":  # its run is in the hands of a program of its own account
        lab.box.do("user", "add", lab.ana, "--unix", lab.ana)
        words += ["--owner", lab.ana]
    user = "root" if login == "root" else lab.ana
    lab.add(host, name="first", user=user)
    lab.is_job(lab.submit(*words, "--grace", "0", FOREVER), "running")
    host.cut()
    lab.becomes("first", "unreachable")
    lab.box.do("node", "rm", "first", "--force")
    assert _loops(host), "it could not be told"
    host.heal()
    lab.add(host, name="second", user=user)
    until("the old run is gone", lambda: not _loops(host), shown=host.processes)
    own = "/first/node --"
    until("so is its program", lambda: not any(own in line for line in host.processes().values()), shown=host.processes)


def test_jobs_run_on_while_the_server_is_gone_and_its_program_is_another(lab: Lab) -> None:
    name = lab.add(lab.hosts[0])
    job = lab.submit("--node", name, FOREVER)
    pid = lab.is_job(job, "running")["attempts"][0]["pid"]
    first = lab.node(name)
    lab.box.kill_server()
    lab.hosts[0].run(["pkill", "-9", "-f", "roost-node.*daemon"])
    lab.box.up()
    lab.becomes(name, "up")
    assert lab.node(name)["pid"] != first["pid"]
    found = lab.is_job(job, "running")
    assert found["attempts"][0]["pid"] == pid and len(found["attempts"]) == 1


def test_the_others_do_not_notice_a_node_that_is_silent(lab: Lab) -> None:
    first, second = lab.hosts
    here, there = lab.add(first), lab.add(second)
    first.cut(silent=True)
    began = time.monotonic()
    for _ in range(10):
        job = lab.submit("--node", there, "true")
        lab.is_job(job, "succeeded")
    assert lab.becomes(here, "unreachable")["reason"]
    assert time.monotonic() - began < 40  # ssh asks three times, five seconds apart
