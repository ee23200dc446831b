"""A root server and the accounts of the machine: jobs belong to their users, from the first byte to the last."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.accounts import PATH, needs_root, throw_away_accounts
from tests.box import until
from tests.lab import PERMISSION, Lab, laboratory

pytestmark = needs_root("that a root server runs jobs as their users, and keeps users apart")


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with laboratory() as made:
        yield made


def test_a_job_is_its_submitters_in_all_that_it_is(lab: Lab) -> None:
    for person in (lab.ana, lab.bob):
        wanted = person.account.run(["sh", "-c", "id; umask"]).out
        _, said = person.sh("id; umask; echo $HOME $USER $LOGNAME; pwd")
        assert said.startswith(wanted), (said, wanted)
        assert said.splitlines()[2] == f"{person.account.home} {person.name} {person.name}"
        assert said.splitlines()[3] == str(person.account.home)
    assert f"x{lab.ana.name}" in lab.ana.sh("id -Gn")[1].split()


def test_users_have_jobs_on_a_machine_whose_gpus_are_not_simulated(lab: Lab) -> None:
    """The programs of accounts are started there as on machines with real GPUs: without `--sim`."""
    lab.box.do("down")
    lab.box.up("--sim", "off")
    try:
        job = lab.ana.submit("-g", 0, "--", "id", "-u")
        lab.ana.do("wait", "-q", "--timeout", 30, job)
        assert lab.ana.do("log", job).split() == [str(lab.ana.account.uid)]
    finally:
        lab.box.do("down", "--kill")
        lab.box.up()


def test_the_umask_of_the_submitter_is_the_jobs(lab: Lab) -> None:
    for mask in (0o077, 0o002):
        _, said = lab.ana.sh("umask; rm -f made; touch made; stat -c '%a %U' made", umask=mask)
        assert said.split() == [f"{mask:04o}", f"{0o666 & ~mask:o}", lab.ana.name]


def test_everything_that_a_run_leaves_on_disk_is_the_submitters(lab: Lab) -> None:
    job = lab.ana.submit("-g", 0, "-o", "mine.out", "--", "sh", "-c", "echo $ROOST_RUN_DIR; echo said >&2; touch other")
    lab.ana.do("wait", "-q", job)
    home = lab.ana.account.home
    run_dir = Path((home / "mine.out").read_text().strip())
    found = [home / "mine.out", home / "other", run_dir, *run_dir.iterdir()]
    assert len(found) >= 4 and {path.stat().st_uid for path in found} == {lab.ana.account.uid}
    assert run_dir.stat().st_mode & 0o077 == 0
    assert lab.bob.account.run(["ls", str(run_dir)]).code != 0


def test_what_a_job_says_in_its_report_file_is_the_submitters(lab: Lab) -> None:
    job, said = lab.ana.sh('echo loss=0.5 >> "$ROOST_REPORT"; stat -c "%a %U" "$ROOST_REPORT"; echo $ROOST_REPORT')
    mode, owner, path = said.split()
    assert (mode, owner) == ("600", lab.ana.name)
    assert lab.bob.account.run(["sh", "-c", f"echo loss=9 >> {path}"]).code != 0
    assert lab.box.http("GET", f"/jobs/{job}").json["results"] == {"loss": 0.5}


def test_a_job_starts_from_the_login_and_from_what_was_exported(lab: Lab) -> None:
    (lab.bob.account.home / ".profile").write_text("export FROM_PROFILE=yes; echo noise\n")
    fresh = lab.bob.account
    fresh.end_processes()  # the account's program asks the login shell when it starts
    _, said = lab.bob.sh("echo $FROM_PROFILE $EXPORTED", env={"EXPORTED": "too"})
    assert said.split() == ["yes", "too"]


def test_nobody_acts_on_anothers_job(lab: Lab) -> None:
    job = lab.ana.submit("-g", 0, "--", "sleep", "600")
    waiting = lab.ana.submit("-g", 0, "--hold", "--", "true")
    lab.box.comes_to(job, "running")
    for words in (
        ("kill", job), ("kill", "--signal", "USR1", job), ("rm", job), ("pause", job), ("log", job), ("log", "-f", job),
        ("show", "--env", job), ("edit", waiting, "--name", "x"), ("release", waiting), ("clone", job), ("rerun", job),
        ("move", waiting, "1"), ("start", waiting), ("hold", waiting), ("preempt", job), ("report", "--job", job, "x=1"),
    ):  # fmt: skip
        ran = lab.bob.run(*words)
        assert ran.code == PERMISSION, (words, ran)
        assert "Traceback" not in ran.err and len(ran.err.strip().splitlines()) <= 2, (words, ran)
    assert lab.box.state(job) == "running" and lab.box.state(waiting) == "held"
    assert lab.bob.run("kill", "all").code != 0  # `all` are one's own, and there are none
    assert lab.box.state(job) == "running"
    lab.ana.do("kill", job, waiting)


def test_an_administrator_acts_on_all(lab: Lab) -> None:
    job = lab.ana.submit("-g", 0, "--", "sh", "-c", "echo hers; sleep 600")
    lab.box.comes_to(job, "running")
    until("its log can be read", lambda: "hers" in lab.box.do("log", job))
    lab.box.do("kill", job)
    lab.box.ends(job, "killed")
    lab.box.do("user", "set", lab.bob.name, "--weight", "1")
    assert lab.box.http("PATCH", f"/users/{lab.bob.name}", {"admin": True}).status == 200
    other = lab.ana.submit("-g", 0, "--", "sleep", "600")
    lab.bob.do("kill", other)
    lab.box.ends(other, "killed")
    assert lab.box.http("PATCH", f"/users/{lab.bob.name}", {"admin": False}).status == 200
    third = lab.ana.submit("-g", 0, "--", "sleep", "600")
    assert lab.bob.run("kill", third).code == PERMISSION
    lab.ana.do("kill", third)


def test_a_clone_by_an_administrator_stays_its_owners(lab: Lab) -> None:
    job = lab.ana.submit("-g", 0, "--", "sh", "-c", "id -un; echo $SECRET", env={"SECRET": "hers"})
    lab.ana.do("wait", "-q", job)
    copy = int(lab.box.json("clone", job)["ids"][0])
    lab.box.ends(copy, "succeeded")
    assert lab.ana.do("log", copy).split() == [lab.ana.name, "hers"]
    assert lab.box.job(copy)["user"] == lab.ana.name


def test_a_locked_account_is_shut_out_and_its_jobs_run_on(lab: Lab) -> None:
    job = lab.bob.submit("-g", 0, "--", "sleep", "600")
    lab.box.comes_to(job, "running")
    assert lab.box.http("PATCH", f"/users/{lab.bob.name}", {"locked": True}).status == 200
    assert lab.bob.run("ls").code == PERMISSION
    assert lab.box.state(job) == "running"
    assert lab.box.http("PATCH", f"/users/{lab.bob.name}", {"locked": False}).status == 200
    lab.bob.do("kill", job)


CLOSED = {
    "locked": (("usermod", "-p", "!$6$salt$hash"), ("usermod", "-U")),
    "expired": (("chage", "-E", "2000-01-01"), ("chage", "-E", "-1")),
    "locked-with-a-shell-that-lets-nobody-in": (
        ("usermod", "-s", "/usr/sbin/nologin", "-p", "!$6$salt$hash"),
        ("usermod", "-s", "/bin/sh", "-U"),
    ),
}


@pytest.mark.parametrize("how", CLOSED)
def test_nothing_starts_as_an_account_that_is_locked_or_has_expired(lab: Lab, how: str) -> None:
    """Its program is attached, and its jobs come over a token too: neither of them helps."""
    close, reopen = CLOSED[how]
    lab.ana.sh("true")
    running = lab.ana.submit("-g", 0, "--", "sleep", 600)
    lab.box.comes_to(running, "running")
    token = {"Authorization": f"Bearer {lab.ana.do('token', 'new', 'x').strip()}"}
    tool(*close, lab.ana.name)
    try:
        body: dict[str, list[dict[str, Any]]] = {"jobs": [{"command": ["true"], "gpus": 0, "cwd": "/tmp"}]}
        by_token = lab.box.http("POST", "/jobs", body, tcp=True, **token).json["ids"][0]
        body["jobs"][0]["user"] = lab.ana.name
        waiting = [by_token, lab.box.http("POST", "/jobs", body).json["ids"][0], lab.ana.submit("-g", 0, "true")]
        word = "expired" if how == "expired" else "locked"

        def reasons() -> list[str]:
            return [lab.box.http("GET", f"/jobs/{job}/why").json["text"] for job in waiting]

        said = f"{lab.ana.name} {'has' if word == 'expired' else 'is'} {word}"
        until("the reason is shown", lambda: all(said in reason for reason in reasons()))
        assert lab.box.http("POST", "/jobs/actions", {"action": "start", "select": {"ids": str(by_token)}}).json["skipped"]
        assert lab.bob.sh("echo others are not kept waiting")[1].startswith("others")
        assert [lab.box.job(job)["state"] for job in (running, *waiting)] == ["running", "queued", "queued", "queued"]
    finally:
        tool(*reopen, lab.ana.name)
    for job in waiting:
        lab.box.ends(job, "succeeded")
    lab.root("kill", running)


def tool(*words: str) -> None:
    subprocess.run(words, env={"PATH": PATH}, check=True, capture_output=True, timeout=60)


def test_jobs_outlive_the_server_and_the_accounts_program(lab: Lab) -> None:
    job = lab.ana.submit("-g", 1, "--", "sh", "-c", "echo begun >begun; while [ ! -e go ]; do sleep 0.05; done; echo done")
    lab.box.comes_to(job, "running")
    pid = lab.box.job(job)["attempts"][-1]["pid"]
    lab.box.kill_server()
    for process in lab.ana.account.processes():
        with contextlib.suppress(OSError):
            if b"roost-node" in Path(f"/proc/{process}/cmdline").read_bytes():
                os.kill(process, 9)
    lab.box.up()
    assert lab.box.comes_to(job, "running")["attempts"][-1]["pid"] == pid
    (lab.ana.account.home / "go").touch()
    lab.box.ends(job, "succeeded")
    assert lab.ana.do("log", job).split() == ["done"]


def test_gpus_in_use_by_users_are_known_as_their_jobs(lab: Lab) -> None:
    job = lab.ana.submit("-g", 1, "--mem", "4G", "--", lab.ana.do("version") and "sleep", "600")
    lab.box.comes_to(job, "running")
    used = [gpu for gpu in lab.box.json("gpus")["gpus"] if gpu["jobs"]]
    assert [(g["jobs"][0]["id"], g["jobs"][0]["user"]) for g in used] == [(job, lab.ana.name)]
    lab.ana.do("kill", job)


def test_an_account_that_is_gone_ends_its_jobs_with_the_reason(lab: Lab) -> None:
    with throw_away_accounts("eve") as (eve,):
        name = eve.name
        held = int(lab.box.do("submit", "-q", "-g", "0", "--hold", "--owner", name, "--", "true"))
    lab.box.do("release", held)
    ended = lab.box.ends(held, "cannot_start")
    assert f"cannot run as {name}" in ended["error"]


def test_a_job_for_another_user_starts_from_their_login_with_nothing_of_the_submitter(lab: Lab) -> None:
    ran = lab.box.do(
        "submit", "-q", "-g", "0", "--owner", lab.ana.name, "--", "env", env={"SECRET_OF_ROOT": "x", "LD_PRELOAD": ""}
    )
    lab.box.ends(int(ran), "succeeded")
    said = lab.ana.do("log", int(ran))
    assert "SECRET_OF_ROOT" not in said and f"HOME={lab.ana.account.home}\n" in said
    assert lab.bob.run("submit", "-g", "0", "--owner", lab.ana.name, "true").code == PERMISSION


def test_a_job_has_a_keyring_of_its_own(lab: Lab) -> None:
    _, hers = lab.ana.sh("cat /proc/keys 2>/dev/null; true")
    _, bobs = lab.bob.sh("cat /proc/keys 2>/dev/null; true")
    ours = Path("/proc/keys").read_text() if Path("/proc/keys").exists() else ""
    serials = [{line.split()[0] for line in text.splitlines() if " _ses" in line} for text in (ours, hers, bobs)]
    assert serials[0].isdisjoint(serials[1]) and serials[1].isdisjoint(serials[2])


def test_simulated_cards_are_there_for_every_account(lab: Lab) -> None:
    job = lab.ana.submit("-g", 1, "--", str(lab.ana.reach.program), "sim-job", "--mem", "2G", "--seconds", "600")
    lab.box.comes_to(job, "running")
    uuid = lab.box.job(job)["attempts"][-1]["gpu_uuids"][0]

    def seen() -> bool:
        cards = [card for card in lab.box.json("gpus")["gpus"] if card["uuid"] == uuid]
        return any(process["job"] == job for card in cards for process in card["procs"])

    until("what her job uses on its simulated card is seen", seen)
    lab.ana.do("kill", job)
