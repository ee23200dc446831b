"""A job and the cgroup of its run, under a root server: it cannot leave it, and can open only the GPUs that it was given.

The devices are stand-ins (`tests/devices.py`): the filter, the accounts and the server are real.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.accounts import needs_root
from tests.box import process, until
from tests.devices import OPEN, answers, make_gpu_devices
from tests.lab import Lab, Person, laboratory

pytestmark = needs_root("that a job cannot leave its cgroup, nor open a GPU that it was not given")

ESCAPE = """
import glob, os, signal, time
mount = next(line.split(" - ")[0].split()[4] for line in open("/proc/self/mountinfo") if " - cgroup2 " in line)
own = next(line[3:].strip() for line in open("/proc/self/cgroup") if line.startswith("0::"))
base = os.path.dirname(mount + own)
for sign in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(sign, signal.SIG_IGN)
if os.fork():
    time.sleep(600)
os.setsid()
out = []
for place in sorted(glob.glob(base + "/*/cgroup.procs")) + [base + "/cgroup.procs", mount + "/cgroup.procs"]:
    try:
        open(place, "w").write("0")
        out.append(place)
    except OSError:
        pass
for name in ("cgroup.procs", "cgroup.subtree_control", "pids.max", "cgroup.type"):
    try:
        open(mount + own + "/" + name, "a").close()
        out.append(name)
    except OSError:
        pass
try:
    os.mkdir(base + "/escape")
    out.append("a cgroup of its own")
except OSError:
    pass
open("escaped.new", "w").write(f"{os.getpid()} {out}")
os.rename("escaped.new", "escaped")
time.sleep(600)
"""


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with laboratory() as made:
        if made.box.http("GET", "/nodes").json["nodes"][0]["gpu_access"].startswith("not enforced: no cgroup"):
            pytest.skip("NOT TESTED, needs cgroup v2: that a job cannot leave its cgroup, nor open another's GPU")
        yield made


@pytest.fixture(scope="module")
def devices(lab: Lab) -> Iterator[Path]:
    made = make_gpu_devices(4)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def enforced(lab: Lab) -> None:
    node = lab.box.http("GET", "/nodes").json["nodes"][0]
    if not node["enforces_gpus"]:
        pytest.skip(f"NOT TESTED, that a job cannot open another's GPU: {node['gpu_access']}")


def test_a_child_that_tries_every_other_cgroup_dies_with_its_job(lab: Lab) -> None:
    for person in (lab.ana, lab.bob):
        job = person.submit("-g", 1, "--", person.reach.python, "-I", "-c", ESCAPE)
        said = person.account.home / "escaped"
        until("the child has tried", said.exists)
        pid, _, ways = said.read_text().partition(" ")
        said.unlink()
        assert ways == "[]"
        person.do("kill", "--grace", "0", job)
        lab.box.ends(job, "killed")
        assert process(int(pid)) is None


def opened(person: Person, devices: Path, *options: str | int, **more: Any) -> dict[str, str]:
    paths = [str(path) for path in sorted(devices.iterdir())]
    job = person.submit(*options, "--", person.reach.python, "-I", "-c", OPEN, *paths, **more)
    assert person.run("wait", "-q", job).code == 0, person.run("log", job)
    return answers(person.do("log", job))


@pytest.mark.usefixtures("enforced")
def test_a_job_opens_the_gpus_that_it_was_given_and_no_other(lab: Lab, devices: Path) -> None:
    given = opened(lab.ana, devices, "-g", 2)
    assert sorted(given[f"nvidia{n}"] for n in range(4)) == ["ENXIO", "ENXIO", "EPERM", "EPERM"]
    assert given["nvidia254"] == given["nvidia255"] == "ENXIO"  # nvidia-modeset and nvidiactl are everybody's
    none = opened(lab.ana, devices, "-g", 0)
    assert [none[f"nvidia{n}"] for n in range(4)] == ["EPERM"] * 4
    assert opened(lab.bob, devices, "-g", 4) == dict.fromkeys(given, "ENXIO")


@pytest.mark.usefixtures("enforced")
def test_one_shell_for_many_jobs_gives_none_the_gpus_of_another(lab: Lab, devices: Path) -> None:
    """Runners serve several jobs, one after the other."""
    look = '( : <"$1/nvidia$n" ) 2>&1 | grep -qi "not permitted" || had="$had$n"'
    script = f'for n in 0 1 2 3; do {look}; done; echo "had:$had gave:$CUDA_VISIBLE_DEVICES"'
    jobs = [lab.ana.submit("-g", n % 2, "--", "sh", "-c", script, "sh", str(devices)) for n in range(12)]
    lab.ana.do("wait", "-q", *jobs)
    for n, job in enumerate(jobs):
        had, gave = (word.partition(":")[2] for word in lab.ana.do("log", job).split())
        assert had == gave and len(had) == n % 2, (job, had, gave)


@pytest.mark.usefixtures("enforced")
def test_jobs_that_share_a_gpu_open_it(lab: Lab, devices: Path) -> None:
    sleeper = lab.bob.submit("-g", 1, "--mem", "4G", "--", "sleep", "600")
    lab.box.comes_to(sleeper, "running")
    given = opened(lab.ana, devices, "-g", 4, "--mem", "4G")
    assert [given[f"nvidia{n}"] for n in range(4)] == ["ENXIO"] * 4
    lab.bob.do("kill", sleeper)


@pytest.mark.usefixtures("enforced")
def test_a_job_of_the_servers_own_account_is_no_exception(lab: Lab, devices: Path) -> None:
    paths = [str(path) for path in sorted(devices.iterdir())]
    job = int(lab.root("submit", "-q", "-g", 1, "--", lab.ana.reach.python, "-I", "-c", OPEN, *paths))
    lab.box.ends(job, "succeeded")
    given = answers(lab.box.log(job))
    assert sorted(given[f"nvidia{n}"] for n in range(4)) == ["ENXIO", "EPERM", "EPERM", "EPERM"]


def test_the_setting_switches_it_off_and_the_node_says_so(lab: Lab, devices: Path) -> None:
    with lab.set(job__enforce_devices=False):
        assert opened(lab.ana, devices, "-g", 0) == dict.fromkeys(opened(lab.ana, devices, "-g", 1), "ENXIO")
        node = lab.box.http("GET", "/nodes").json["nodes"][0]
        assert (node["enforces_gpus"], node["gpu_access"]) == (
            False,
            "not enforced: the setting job.enforce_devices is off",
        )


@pytest.mark.usefixtures("enforced")
def test_a_long_command_line_and_odd_variables_change_nothing(lab: Lab, devices: Path) -> None:
    """Such a job gets a wrapper of its own instead of a runner."""
    given = opened(lab.ana, devices, "-g", 1, env={"BASH_FUNC_f%%": "() { :; }"})
    assert sorted(given[f"nvidia{n}"] for n in range(4)) == ["ENXIO", "EPERM", "EPERM", "EPERM"]


def test_a_wrapper_of_its_own_is_killed_with_its_job_and_the_end_is_known(lab: Lab) -> None:
    job = lab.ana.submit("-g", 1, "--", "sh", "-c", "echo begun; trap '' TERM; sleep 600", "x" * 110_000)
    until("it has begun", lambda: "begun" in lab.ana.run("log", job).out)
    lab.ana.do("kill", "--grace", "0", job)
    ended = lab.box.ends(job, "killed")
    assert ended["exit_code"] == 137


def test_the_program_of_an_account_is_started_again_when_roots_helper_is_killed(lab: Lab) -> None:
    job = lab.ana.submit("-g", 1, "--", "sh", "-c", "until [ -e helped ]; do sleep 0.05; done")
    lab.box.comes_to(job, "running")
    (helper,) = _helpers(lab.ana)
    os.kill(helper, 9)
    assert lab.ana.sh("echo again")[1] == "again\n"
    (lab.ana.account.home / "helped").touch()
    lab.box.ends(job, "succeeded")


def _helpers(person: Person) -> list[int]:
    """Root's helpers of that account's program: processes of root in its cgroup."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            place = Path(f"/proc/{name}/cgroup").read_text()
            if f"-u{person.account.uid}/daemon" in place and os.stat(f"/proc/{name}").st_uid == 0:
                found.append(int(name))
        except OSError:
            continue
    return found
