"""Attempts by files, paths and environments: what a user names or exports is opened and obeyed with their rights only."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.accounts import needs_root
from tests.box import process, until
from tests.lab import Lab, Person, laboratory

pytestmark = needs_root("that files and environments that users name are opened and obeyed as themselves")


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with laboratory() as made:
        made.ana.shell("echo precious >hers; chmod 600 hers; mkdir -p deep; echo precious >deep/hers")
        yield made


def submit(person: Person, **spec: Any) -> int:
    answer = person.http("POST", "/jobs", {"jobs": [{"command": ["echo", "evil"], "gpus": 0, **spec}]})
    assert answer.status == 201, answer
    return int(answer.json["ids"][0])


def program_of_all(lab: Lab) -> Path:
    """The node program that every account runs: it is put there when the first of them has a job."""
    lab.box.ends(submit(lab.bob), "succeeded")
    return next((lab.box.home / "program").glob("*.pyz"))


# -- what root writes at a path that an administrator names -------------------------------------------------------------

ROOTS = ("own/copy", "shared/copy", "link/copy", "file", "other-name", "pipe-2", "on/../own/copy")


@pytest.mark.parametrize("place", ROOTS)
@pytest.mark.parametrize("verb", ["archive", "backup"])
def test_root_writes_nothing_where_another_account_decides_what_a_name_is(lab: Lab, verb: str, place: str) -> None:
    """Each in a directory of ana's or that they may change: what they put there afterwards is theirs to say."""
    lab.box.ends(submit(lab.ana), "succeeded")
    home = lab.ana.account.home
    target = home / "etc"
    target.mkdir(exist_ok=True)
    lab.ana.shell(
        f"mkdir -p own shared on; chmod 777 shared; ln -sfn {target} link; ln -sf {target}/x file; rm -f other-name pipe-2; "
        "echo x >mine; ln mine other-name; mkfifo pipe-2"
    )
    words = ("archive", "--to", str(home / place)) if verb == "archive" else ("backup", str(home / place))
    ran = lab.box.run(*words)
    assert ran.code != 0 and "Traceback" not in ran.err, ran
    assert (str(home) in ran.err and "account" in ran.err) or "already" in ran.err, ran.err
    assert list(target.iterdir()) == [] and not (home / "own" / "copy").exists()


def test_a_link_in_a_directory_that_all_may_write_leads_root_nowhere(lab: Lab) -> None:
    """`/tmp` is sticky: what root puts there stays, but names on the way may be anybody's."""
    lab.box.ends(submit(lab.ana), "succeeded")
    with tempfile.TemporaryDirectory() as name:
        (shared := Path(name)).chmod(0o1777)
        (aim := shared / "roots").mkdir(mode=0o700)
        assert lab.ana.shell(f"ln -s {aim} {shared}/way; ln -s {aim}/x {shared}/file").code == 0
        for file in (shared / "way" / "x", shared / "file"):
            for words in (("archive", "--to"), ("backup",)):
                ran = lab.box.run(*words, str(file))
                assert ran.code != 0 and "Traceback" not in ran.err, ran
        assert list(aim.iterdir()) == []
        lab.root("backup", str(shared / "copy"))
        assert (shared / "copy").stat().st_uid == 0


# -- output files ---------------------------------------------------------------------------------------------------------

OUTPUTS = {
    "a-file-of-roots": "/etc/hostname",
    "a-new-file-in-etc": "/etc/roost-evil",
    "dots-up-to-etc": "../../../../../../etc/roost-evil",
    "a-new-file-in-roots-home": "/root/roost-evil",
    "a-file-of-hers": "ANA/hers",
    "a-link-to-a-file-of-roots": "link-to-root",
    "a-link-to-a-file-of-hers": "link-to-hers",
    "a-link-to-a-directory-of-hers": "link-to-deep/hers",
    "the-servers-store": "HOME/roost.db",
    "the-servers-log": "HOME/server.log",
    "the-program-that-all-run": "PROGRAM",
    "the-state-of-another": "HOME/accounts/NAME/node.pid",
    "a-setting-of-the-kernel": "/proc/sys/kernel/core_pattern",
    "the-memory-of-the-server": "/proc/SERVER/mem",
    "a-pipe-that-nobody-reads": "pipe",
    "a-directory": "deep",
}


@pytest.mark.parametrize("how", ["append", "overwrite"])
@pytest.mark.parametrize("name", OUTPUTS)
def test_an_output_file_that_is_not_ones_own(lab: Lab, name: str, how: str) -> None:
    bob, ana = lab.bob.account.home, lab.ana.account.home
    lab.bob.shell(f"ln -sf /etc/hostname link-to-root; ln -sf {ana}/hers link-to-hers; ln -sfn {ana}/deep link-to-deep")
    lab.bob.shell("mkdir -p deep; [ -e pipe ] || mkfifo pipe")
    program = program_of_all(lab) if name.startswith("the-program") else ""
    words = {"ANA": ana, "HOME": lab.box.home, "NAME": lab.ana.name, "SERVER": lab.box.server.pid, "PROGRAM": program}
    path = OUTPUTS[name]
    for word, value in words.items():
        path = path.replace(word, str(value))
    target = Path(os.path.realpath(bob / path))
    before = target.read_bytes() if target.is_file() and "/proc/" not in path and target.stat().st_size < 1 << 20 else None
    job = submit(lab.bob, stdout=path, cwd=str(bob), open=how)
    ended = lab.box.ends(job, "cannot_start")
    assert "output file" in ended["error"], ended["error"]
    assert not Path("/etc/roost-evil").exists() and not Path("/root/roost-evil").exists()
    if before is not None and "server" not in name:
        assert target.read_bytes() == before


def test_a_name_full_of_slashes_in_a_pattern(lab: Lab) -> None:
    job = submit(lab.bob, stdout="%x.out", cwd=str(lab.bob.account.home), name="../../etc/evil")
    lab.box.ends(job, "succeeded")
    made = lab.bob.account.home / ".._.._etc_evil.out"
    assert made.read_text() == "evil\n" and made.stat().st_uid == lab.bob.account.uid


def test_a_path_swapped_for_a_link_between_submit_and_start(lab: Lab) -> None:
    job = submit(lab.bob, stdout="out", cwd=str(lab.bob.account.home), hold=True, open="append")
    lab.bob.shell("ln -s /etc/hostname out")
    before = Path("/etc/hostname").read_bytes()
    lab.bob.do("release", job)
    lab.box.ends(job, "cannot_start")
    assert Path("/etc/hostname").read_bytes() == before


def test_a_directory_to_begin_in_that_is_closed_or_swapped(lab: Lab) -> None:
    lab.bob.shell("mkdir here")
    swapped = submit(lab.bob, cwd=str(lab.bob.account.home / "here"), hold=True)
    lab.bob.shell(f"rmdir here; ln -s {lab.ana.account.home} here")
    lab.bob.do("release", swapped)
    closed = [submit(lab.bob, cwd=str(path)) for path in ("/root", lab.ana.account.home, lab.box.home / "node")]
    for job in (swapped, *closed):
        assert "permission denied" in lab.box.ends(job, "cannot_start")["error"]


# -- environments ---------------------------------------------------------------------------------------------------------

_PRELOAD = r"""
#include <stdio.h>
#include <unistd.h>
__attribute__((constructor)) static void here(void) {
    FILE *file = fopen("MARK", "a");
    if (file) { fprintf(file, "preload %d %d\n", getuid(), geteuid()); fclose(file); }
}
"""


def _traps(home: Path) -> dict[str, str]:
    """Every variable by which an environment has its way, each leading to a note of who obeyed it."""
    mark, traps = home / "mark", home / "traps"
    traps.mkdir()
    note = f"echo shell $(id -u) $(id -ru) >>{mark}\n"
    (traps / "env.sh").write_text(note)
    python = f"import os\nopen('{mark}', 'a').write(f'python {{os.getuid()}} {{os.geteuid()}}\\n')\n"
    (traps / "sitecustomize.py").write_text(python)
    for name in ("sh", "env", "python3", "bash", "id", "cat"):
        (traps / name).write_text(f'#!/bin/sh\nexport PATH=/usr/bin:/bin\n{note}exec /usr/bin/{name} "$@"\n')
        (traps / name).chmod(0o755)
    values = {
        "BASH_ENV": "env.sh",
        "ENV": "env.sh",
        "PYTHONPATH": "",
        "PYTHONSTARTUP": "sitecustomize.py",
        "LD_LIBRARY_PATH": "",
    }
    values |= {"GCONV_PATH": "", "LOCPATH": "", "NODE_OPTIONS": "x"}
    env = {name: str(traps / value) for name, value in values.items()}
    env |= {
        "PATH": f"{traps}:/usr/bin:/bin",
        "IFS": "/",
        "PS4": "$(id -u)",
        "SHELLOPTS": "xtrace",
        "BASH_FUNC_id%%": "() { :; }",
    }
    if shutil.which("gcc"):
        (traps / "preload.c").write_text(_PRELOAD.replace("MARK", str(mark)))
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", traps / "preload.so", traps / "preload.c"], check=True, timeout=60)
        env["LD_PRELOAD"] = str(traps / "preload.so")
    mark.touch(mode=0o666)
    mark.chmod(0o666)
    return env


def test_an_environment_full_of_traps_is_obeyed_by_its_owner_alone(lab: Lab) -> None:
    """LD_PRELOAD, PYTHONPATH, BASH_ENV, ENV, PATH and their like: exported with a job, and from the login."""
    home = lab.bob.account.home
    env = _traps(home)
    subprocess.run(["chown", "-R", f"{lab.bob.account.uid}", home / "traps"], check=True, timeout=60)
    others = {
        "ROOST_HOME": "/nowhere",
        "ROOST_SOCKET": "/nowhere",
        "ROOST_RUN": "x:1.1",
        "ROOST_JOB_ID": "1",
        "PYTHONHOME": "",
    }
    (home / ".profile").write_text("".join(f"export {k}='{v}'\n" for k, v in env.items() if k.isidentifier() and k != "IFS"))
    try:
        lab.bob.end_program()
        jobs = [
            submit(lab.bob, command=command, env={**env, **others})
            for command in ("id -u", ["sh", "-c", "id -u"], ["python3", "-c", "1"])
        ]
        jobs.append(submit(lab.bob, command="id -u"))
        for job in jobs:
            lab.box.ends(job)
            lab.bob.http("GET", f"/jobs/{job}/log")
        lab.root("log", jobs[0])
        assert lab.ana.sh("id -u")[1].strip() == str(lab.ana.account.uid)
    finally:
        (home / ".profile").unlink()
        lab.bob.end_program()
    noted = {tuple(line.split()[1:]) for line in (home / "mark").read_text().splitlines()}
    assert noted == {(str(lab.bob.account.uid),) * 2}, noted


PROFILES = {
    "hangs": "sleep 1000",
    "talks": "yes | head -c 3000000",
    "leaves": "exit 3",
    "kills-its-parent": "kill -9 $PPID",
    "leaves-children": "(sleep 1000 &) ; sleep 1000 & echo x",
    "ends-in-an-exec": "exec cat /dev/zero",
    "closes-its-streams": "exec >&- 2>&- <&-",
}


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_that_hurts_hurts_its_owner_alone(lab: Lab, name: str) -> None:
    profile = lab.bob.account.home / ".profile"
    profile.write_text(PROFILES[name] + "\n")
    try:
        lab.bob.end_program()
        job = submit(lab.bob, command=["true"])
        for _ in range(2):
            assert lab.ana.sh("id -u")[1].strip() == str(lab.ana.account.uid)
    finally:
        profile.unlink()
        lab.bob.end_processes()
    lab.box.ends(job, "succeeded")  # once bob's login works


# -- the state of one's own program ---------------------------------------------------------------------------------------


_WRITE = """\
import os, sys
state, name, text = sys.argv[1:]
os.makedirs(f"{state}/runs/{name}", exist_ok=True)
open(f"{state}/active/{name}", "w").write(text)
"""


def _tamper(lab: Lab, hers: int) -> None:
    """Records of runs that are not: with others' processes, cgroups, logs and names."""
    pid = lab.box.job(hers)["attempts"][-1]["pid"]
    record: dict[str, Any] = dict.fromkeys(("start_boot_ms", "started_ms", "time_limit_ms", "log_max_bytes"), 1)
    record |= {"boot": Path("/proc/sys/kernel/random/boot_id").read_text().strip(), "cgroup": "/sys/fs/cgroup/unified"}
    record |= {"gpus": [], "out": "/etc/shadow", "err": str(lab.box.home / "roost.db")}
    record |= {"warn_ms": 0, "warn_signal": 9, "grace_ms": 0}
    text = f"{pid}\n{json.dumps(record)}\n{pid}\n"
    for name in (f"{hers}.1", "999999.1", "..", "x y", "1.1\n", "-rf"):
        lab.bob.python(_WRITE, str(lab.bob.state), name, text)


def test_records_that_name_others_processes_cgroups_and_logs(lab: Lab) -> None:
    """They make bob's own node program end what it can reach: only bob's processes."""
    hers = lab.ana.submit("-g", 0, "--", "sleep", "600")
    pid = lab.box.comes_to(hers, "running")["attempts"][-1]["pid"]
    lab.bob.sh("true")
    lab.bob.end_program()
    _tamper(lab, hers)
    pid_file, tampered = lab.bob.state / "node.pid", time.time_ns()
    server, node = lab.box.server, lab.box.node
    try:
        submit(lab.bob, hold=True)
        until("bob's new program has read them", lambda: pid_file.exists() and pid_file.stat().st_mtime_ns > tampered)
        assert lab.ana.sh("echo on")[1] == "on\n"
        assert lab.box.state(hers) == "running" and process(pid) is not None
        assert server.is_alive and node.is_alive
    finally:
        lab.bob.end_processes()
        lab.bob.shell(f"rm -rf {lab.bob.state}/active {lab.bob.state}/runs")
        lab.bob.end_program()
    lab.ana.do("kill", hers)


@pytest.mark.parametrize("target", ["/etc/shadow", "STORE", "HERS"])
def test_a_log_exchanged_for_a_link_is_read_with_ones_own_rights(lab: Lab, target: str) -> None:
    job, _ = lab.bob.sh("echo mine")
    path = {"STORE": lab.box.home / "roost.db", "HERS": lab.ana.account.home / "hers"}.get(target, Path(target))
    lab.bob.shell(f"ln -sf {path} {lab.bob.state}/runs/{job}.1/out.log")
    assert lab.bob.http("GET", f"/jobs/{job}/log").body == b""
    assert lab.root("log", job) == ""


def test_a_run_directory_exchanged_for_a_link_is_not_emptied(lab: Lab) -> None:
    job, _ = lab.bob.sh("true")
    run = f"{lab.bob.state}/runs/{job}.1"
    lab.bob.shell(f"rm -rf {run}; ln -s {lab.ana.account.home} {run}")
    lab.root("rm", job)
    assert lab.bob.sh("echo on")[1] == "on\n"
    assert (lab.ana.account.home / "hers").read_text() == "precious\n"


def test_a_bounded_log_cuts_nobody_elses_file(lab: Lab) -> None:
    """A job that puts a link in the place of its log while the log is held below its bound."""
    with lab.set(log__max_mib=1):
        log, hers = "$ROOST_RUN_DIR/out.log", lab.ana.account.home / "hers"
        script = f"rm {log}; ln -s {hers} {log}; head -c 3000000 /dev/zero; sleep 1"
        lab.bob.sh(script)
    assert (lab.ana.account.home / "hers").read_text() == "precious\n"
