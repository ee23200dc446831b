"""Device filters on a real kernel, with stand-ins for the devices; and root's helper, which an account cannot misuse."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.devices import OPEN, answers, make_device, make_gpu_devices
from tests.integration.node.harness import Node, alive, wait_until

from roost.node.commands.cgroup_helper import Helper
from roost.node.system import cgroup, device_filter
from roost.node.system.cgroup import Cgroups, Limits
from roost.node.system.root_cgroups import HelperGone, RootCgroups

CAPS = 235  # any major that no driver here has
NOBODY = pwd.getpwnam("nobody")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED, needs root: device filters and root's helper")


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Path]:
    """A cgroup (version 2) of our own, wherever the machine has the tree, or in a mount of our own."""
    mount = tmp_path / "cgroup2"
    mount.mkdir()
    if subprocess.run(["mount", "-t", "cgroup2", "none", str(mount)], capture_output=True).returncode != 0:
        pytest.skip("NOT TESTED, needs to mount cgroup v2: device filters and root's helper")
    made = mount / f"roost-test-{os.getpid()}"
    made.mkdir()
    yield made
    cgroup.kill(str(made))
    wait_until(lambda: cgroup.try_remove(str(made)), "the cgroups are empty")
    subprocess.run(["umount", str(mount)], check=True)


@pytest.fixture
def devices() -> Iterator[Path]:
    made = make_gpu_devices(4)
    for minor in (1, 30, 31, 39):
        make_device(made / f"cap{minor}", CAPS, minor)
    yield made
    shutil.rmtree(made)


def opened_in(path: Path, devices: Path) -> dict[str, str]:
    """What a process in that cgroup can open."""
    enter = ["sh", "-c", 'echo 0 >"$0/cgroup.procs" && exec "$@"', str(path), sys.executable, "-c", OPEN]
    done = subprocess.run([*enter, *map(str, sorted(devices.iterdir()))], capture_output=True, text=True, check=True)
    return answers(done.stdout)


def denied(answers: dict[str, str]) -> set[str]:
    assert set(answers.values()) <= {"EPERM", "ENXIO"}, answers
    return {name for name, said in answers.items() if said == "EPERM"}


@needs_root
def test_only_the_gpus_and_slices_that_were_given_open(base: Path, devices: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slices = {"gpu0/gi1/access": (CAPS, 30), "gpu0/gi1/ci0/access": (CAPS, 31), "gpu0/gi2/access": (CAPS, 39)}
    monkeypatch.setattr(device_filter, "mig_devices", lambda: slices)
    filters = device_filter.Filters()
    cards, caps = {f"nvidia{n}" for n in range(4)}, {"cap30", "cap31", "cap39"}
    for number, (allowed, open_) in enumerate(
        [
            ([], set()),
            ([(195, 2)], {"nvidia2"}),
            ([(195, 0), (195, 3)], {"nvidia0", "nvidia3"}),
            ([(195, 0), (CAPS, 30), (CAPS, 31)], {"nvidia0", "cap30", "cap31"}),
        ]
    ):
        path = base / str(number)
        path.mkdir()
        filters.attach(str(path), allowed)
        assert denied(opened_in(path, devices)) == (cards | caps) - open_
        below = path / "below"
        below.mkdir()
        assert denied(opened_in(below, devices)) == (cards | caps) - open_
    assert denied(opened_in(base, devices)) == set()


@needs_root
def test_a_filter_can_be_narrowed_and_never_widened(base: Path, devices: Path) -> None:
    filters = device_filter.Filters()
    for allowed in ([(195, 0), (195, 1)], [(195, 1), (195, 2)], [(195, n) for n in range(4)]):
        filters.attach(str(base), allowed)
    assert denied(opened_in(base, devices)) == {"nvidia0", "nvidia2", "nvidia3"}


@needs_root
def test_a_program_is_loaded_once_for_a_set_of_gpus_and_few_are_kept(base: Path) -> None:
    filters = device_filter.Filters()
    before = len(os.listdir("/proc/self/fd"))
    for number in range(20):
        (base / str(number)).mkdir()
        filters.attach(str(base / str(number)), [(195, 0)])
    assert len(os.listdir("/proc/self/fd")) - before == 1
    for minor in range(200):
        filters._program(frozenset([(195, minor)]), frozenset())
    assert len(os.listdir("/proc/self/fd")) - before <= 64


# -- limits of a run ------------------------------------------------------------------------------------------------------


def test_the_number_of_processes_is_limited_for_each_run_anew(tmp_path: Path) -> None:
    cgroups = Cgroups.__new__(Cgroups)
    cgroups.base, cgroups.devices = str(tmp_path), "not_root"
    for processes, text in ((20, "20"), (None, "max")):
        cgroups.assign(str(tmp_path), "1.1", Limits(None, processes))
        assert (tmp_path / "pids.max").read_text() == text


def test_a_job_has_no_more_processes_than_it_may(make_node: Callable[..., Node]) -> None:
    node = make_node("--sim", "1x24G")
    where = node.journal().partition("cgroups: ")[2].split()[0]
    if not Path(where, "cgroup.controllers").exists() or "pids" not in Path(where, "cgroup.controllers").read_text():
        pytest.skip("NOT TESTED, needs the pids controller of cgroup v2: that a job cannot have more processes than it may")
    bomb = "for n in $(seq 60); do sleep 60 & done; jobs -p | wc -l"
    node.run("1.1", shell=f"{bomb} 2>/dev/null; kill $(jobs -p)", max_processes=30)
    assert int(node.log("1.1").split()[0]) < 30
    node.run("2.1", shell=f"{bomb}; kill $(jobs -p)")
    assert int(node.log("2.1").split()[0]) == 60


def test_no_new_privileges_are_a_wish_of_the_start(make_node: Callable[..., Node], tmp_path: Path) -> None:
    node = make_node("--sim", "1x24G")
    look = 'grep NoNewPrivs /proc/self/status; echo $0 "$@" $MINE; grep SigIgn /proc/self/status; exit 5'
    said = {}
    for run, wanted in (("1.1", False), ("2.1", True)):
        spec: dict[str, Any] = {"no_new_privs": wanted, "env": {"MINE": "it's", "PATH": os.environ["PATH"]}}
        assert node.run(run, "sh", "-c", look, "a b", "c", **spec)["status"] == 5
        said[wanted] = node.log(run).decode().split("\n")
    assert said[False][0].split() == ["NoNewPrivs:", "0"] and said[True][0].split() == ["NoNewPrivs:", "1"]
    assert said[True][1:] == said[False][1:] and said[True][1] == "a b c it's"
    assert node.run("3.1", "no-such-command", no_new_privs=True)["why"] == "cannot_start"


# -- root's helper --------------------------------------------------------------------------------------------------------


@pytest.fixture
def ours(base: Path) -> Iterator[socket.socket]:
    """Our end of a helper that acts for `nobody`."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid == 0:
        ours.close()
        with contextlib.suppress(BaseException):
            Helper(str(base), NOBODY, theirs).serve()
        os._exit(0)
    theirs.close()
    yield ours
    ours.close()
    os.waitpid(pid, 0)


def ask(ours: socket.socket, **message: Any) -> str | None:
    ours.send(json.dumps(message).encode())
    error: str | None = json.loads(ours.recv(1 << 16)).get("error")
    return error


@contextlib.contextmanager
def sleeper(**identity: Any) -> Iterator[int]:
    process = subprocess.Popen(["sleep", "600"], **identity)
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


@needs_root
def test_root_puts_an_accounts_process_into_a_cgroup_that_is_roots(base: Path, ours: socket.socket) -> None:
    cgroups = RootCgroups(str(base), ours)
    path = cgroups.create("1.1")
    with sleeper(user=NOBODY.pw_uid, group=NOBODY.pw_gid) as pid:
        cgroups.enter(path, pid)
        cgroups.assign(path, "1.1", Limits(frozenset([(195, 0)]), 100))
        assert cgroup.processes(path) == [pid]
        cgroups.assign(path, "2.1", Limits(frozenset([(195, 0)]), None))  # a runner's next run, with the same GPU
        assert not cgroups.remove(path)
        owners = {name: os.stat(f"{path}/{name}").st_uid for name in os.listdir(path)}
        assert {name for name, uid in owners.items() if uid != 0} <= {"cgroup.kill", "cgroup.freeze"}
        assert os.stat(path).st_uid == 0
    assert cgroups.remove(path) and not os.path.exists(path)
    ours.shutdown(socket.SHUT_RDWR)
    with pytest.raises(HelperGone):
        cgroups.create("2.1")


@needs_root
def test_a_program_that_follows_another_speaks_to_the_same_helper(base: Path, ours: socket.socket) -> None:
    first = RootCgroups(str(base), ours)
    next_one = RootCgroups(str(base), ours)
    assert next_one.devices == first.devices
    assert next_one.remove(next_one.create("1.1"))


@needs_root
def test_what_an_account_asks_of_root_beyond_its_runs_is_refused(base: Path, ours: socket.socket) -> None:
    outside = base.parent / f"outside-{os.getpid()}"
    outside.mkdir()
    for name in (
        "..",
        f"../{outside.name}",
        "/",
        "",
        ".",
        "daemon",
        "a/b",
        "x\0",
        "x" * 300,
        7,
        None,
        ["1.1"],
        "cgroup.procs",
    ):
        for op in ("create", "enter", "assign", "remove"):
            asked = {"op": op, "name": name, "pid": os.getpid(), "run": "x", "devices": [], "processes": 1}
            assert ask(ours, **asked) or op == "remove", asked
    assert outside.is_dir() and (base / "cgroup.procs").read_text() == ""
    assert ask(ours, op="create", name="1.1") is None
    with sleeper() as roots, sleeper(user=65533) as anothers, sleeper(user=NOBODY.pw_uid) as own:
        for pid in (roots, anothers, os.getpid(), 1, 0, -1, 1 << 40, "1", None, True):
            assert ask(ours, op="enter", name="1.1", pid=pid), pid
        assert cgroup.processes(str(base)) == []
        assert ask(ours, op="enter", name="1.1", pid=own) is None
    for devices in ([[1]], [[1, 2, 3]], "ab", [["a", "b"]], [[1, -1]], 5, [[195, 0]] * 20_000):
        assert ask(ours, op="assign", name="1.1", run="1.1", devices=devices, processes=None), devices
    ours.send(b"\xff{")
    assert "error" in json.loads(ours.recv(1 << 16))
    outside.rmdir()


def _helpers() -> set[int]:
    names = {path.parent.name: path for path in Path("/proc").glob("[0-9]*/comm")}
    with contextlib.suppress(OSError):
        return {int(name) for name, path in names.items() if path.read_text() == "roost-cgroups\n"}
    return _helpers()  # one of them ended meanwhile


@needs_root
def test_the_helper_leaves_with_the_program_that_it_serves(base: Path) -> None:
    from roost.node.commands.cgroup_helper import start_helper

    before = _helpers()
    ours = socket.socket(fileno=start_helper(str(base), NOBODY))
    cgroups = RootCgroups(str(base), ours)
    cgroups.create("1.1")
    (helper,) = _helpers() - before
    assert os.readlink(f"/proc/{helper}/fd/0") == os.readlink(f"/proc/{helper}/fd/2") == "/dev/null"
    ours.close()
    wait_until(lambda: not alive(helper), "the helper ends")
