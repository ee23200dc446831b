"""Attempts of one person to act as another, to reach what is another's, or to be root. Each is refused.

Accounts, socket and server are real. What an account's own program could try is in `test_programs.py`, what files
and environments could do in `test_files.py`, what private mode hides in `test_private.py`.
"""

from __future__ import annotations

import os
import pwd
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.accounts import PATH, needs_root, throw_away_account, throw_away_accounts
from tests.box import Answer, until
from tests.lab import PERMISSION, Lab, laboratory

pytestmark = needs_root("that nobody can run as another, read what is another's, or claim their name")
SECRET = "her-own-secret"


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with laboratory() as made:
        yield made


@pytest.fixture(scope="module")
def hers(lab: Lab) -> dict[str, int]:
    """What ana has: a job that waits, one that runs, one that has ended, and a sweep."""
    env = {"SECRET": SECRET}
    ended, _ = lab.ana.sh(f"echo {SECRET}", env=env)
    sweep = lab.ana.http("POST", "/sweeps", {"job": {"command": ["true"], "gpus": 0, "hold": True}, "params": {"x": ["1"]}})
    assert sweep.status == 201, sweep
    held = lab.ana.submit("-g", 0, "--hold", "--", "true", env=env)
    running = lab.ana.submit("-g", 0, "--", "sleep", "600", env=env)
    lab.box.comes_to(running, "running")
    return {"ended": ended, "held": held, "running": running, "sweep": sweep.json["sweep"]}


def refused(answer: Answer, *statuses: int) -> str:
    """The one line of a refusal."""
    assert answer.status in (statuses or (400, 403, 404, 409, 413, 422)), answer
    return str(answer.json["error"]["message"])


def count(lab: Lab) -> int:
    return sum(lab.box.http("GET", "/status").json["jobs"].values())


# -- running as another ---------------------------------------------------------------------------------------------------

BODIES: dict[str, dict[str, Any]] = {
    "user-of-another": {"user": "ANA"},
    "user-root": {"user": "root"},
    "user-0": {"user": "0"},
    "user-uid-of-another": {"user": "UID"},
    "user-with-a-slash": {"user": "../ANA"},
    "user-with-a-newline": {"user": "ANA\n"},
    "user-with-a-nul": {"user": "ANA\0"},
    "user-in-cyrillic": {"user": "\u0430na"},
    "user-with-a-space": {"user": " ANA"},
    "user-empty": {"user": ""},
    "user-that-is-nobody": {"user": "nobody-here"},
    "field-account": {"account": "ANA"},
    "field-submitter": {"submitter": "ANA"},
    "field-uid": {"uid": 0},
    "field-by": {"by": {"name": "root", "is_admin": True}},
    "field-sweep-of-another": {"sweep": 1},
    "field-point": {"point": {"x": 1}},
    "priority-above-the-highest": {"priority": 1000},
}


@pytest.mark.parametrize("name", BODIES)
def test_a_job_submitted_as_another(lab: Lab, name: str) -> None:
    names = {"ANA": lab.ana.name, "UID": str(lab.ana.account.uid)}
    extra = {k: _put(v, names) for k, v in BODIES[name].items()}
    before = count(lab)
    with lab.set(job__max_priority=100):
        for body in ({"jobs": [{"command": ["true"], "gpus": 0, **extra}]}, {"jobs": [{"command": ["true"]}, extra]}):
            refused(lab.bob.http("POST", "/jobs", body))
            refused(lab.bob.http("POST", "/jobs", {**body, "dry_run": True}))
        refused(lab.bob.http("POST", "/sweeps", {"job": {"command": ["true"], **extra}, "params": {"x": ["1"]}}))
    assert count(lab) == before


def _put(value: Any, names: dict[str, str]) -> Any:
    if not isinstance(value, str):
        return value
    for name, other in names.items():
        value = value.replace(name, other)
    return value


@pytest.mark.parametrize("field", ["user", "owner", "caller", "accounts", "by"])
def test_a_field_beside_the_jobs_that_says_who_asks(lab: Lab, field: str) -> None:
    refused(lab.bob.http("POST", "/jobs", {"jobs": [{"command": ["true"]}], field: lab.ana.name}))


@pytest.mark.parametrize("header", ["X-Remote-User", "X-Forwarded-User", "Roost-User", "Authorization"])
def test_a_header_that_says_who_asks(lab: Lab, header: str) -> None:
    value = "Bearer roost_" + "0" * 40 if header == "Authorization" else "root"
    script = (
        "import http.client,socket,sys\nc=http.client.HTTPConnection('x')\nc.sock=socket.socket(socket.AF_UNIX)\n"
        "c.sock.connect(sys.argv[1])\nc.request('GET','/api/v1/me',headers={sys.argv[2]:sys.argv[3]})\n"
        "print(c.getresponse().read().decode())"
    )
    said = lab.bob.python(script, str(lab.box.home / "roost.sock"), header, value).out
    assert f'"user":"{lab.bob.name}"' in said and '"admin":false' in said


@pytest.mark.parametrize(
    "action",
    ["kill", "rm", "pause", "resume", "hold", "release", "rerun", "preempt", "move", "start", "edit", "clone"],
)
def test_an_action_on_anothers_job(lab: Lab, hers: dict[str, int], action: str) -> None:
    job = hers["held"] if action in ("edit", "release", "move", "start", "hold") else hers["running"]
    job = hers["ended"] if action == "rerun" else job
    body = {"action": action, "select": {"ids": str(job)}, "changes": {"name": "x"} if action in ("edit", "clone") else {}}
    refused(lab.bob.http("POST", "/jobs/actions", {**body, "position": 0}), 403)
    many = {**body, "select": {"user": lab.ana.name}, "position": 0}
    answer = lab.bob.http("POST", "/jobs/actions", many)
    assert answer.status == 403 or answer.json["done"] == [], answer
    assert lab.box.state(hers["running"]) == "running" and lab.box.state(hers["held"]) == "held"


CHANGES: dict[str, dict[str, Any]] = {
    "user": {"user": "ANA"},
    "user-null": {"user": None},
    "user-root": {"user": "root"},
    "account": {"account": ""},
    "sweep": {"sweep": 1},
    "point": {"point": {}},
    "priority": {"priority": 1000},
    "umask-of-nonsense": {"umask": 0o7777},
    "command-empty": {"command": []},
}


@pytest.mark.parametrize("name", CHANGES)
def test_an_edit_of_ones_own_job_into_anothers(lab: Lab, name: str) -> None:
    job = lab.bob.submit("-g", 0, "--hold", "--", "true")
    changes = {k: _put(v, {"ANA": lab.ana.name}) for k, v in CHANGES[name].items()}
    with lab.set(job__max_priority=100):
        refused(lab.bob.http("POST", "/jobs/actions", {"action": "edit", "select": {"ids": str(job)}, "changes": changes}))
        if name == "user-null":  # of a copy it says: mine, which it is
            return
        refused(lab.bob.http("POST", "/jobs/actions", {"action": "clone", "select": {"ids": str(job)}, "changes": changes}))


def test_the_submit_key_of_another_user_matches_none_of_their_jobs(lab: Lab) -> None:
    body = {"jobs": [{"command": ["true"], "gpus": 0, "hold": True}], "key": "a-key-of-hers"}
    hers = lab.ana.http("POST", "/jobs", body).json["ids"]
    bobs = lab.bob.http("POST", "/jobs", body).json["ids"]
    assert hers != bobs and lab.box.job(bobs[0])["user"] == lab.bob.name


def test_anothers_sweep_is_neither_extended_nor_limited(lab: Lab, hers: dict[str, int]) -> None:
    refused(lab.bob.http("POST", f"/sweeps/{hers['sweep']}/extend", {"params": {"x": ["2"]}}), 403)
    refused(lab.bob.http("POST", f"/sweeps/{hers['sweep']}/limit", {"max_running": 1}), 403)


def test_results_reported_for_anothers_job(lab: Lab, hers: dict[str, int]) -> None:
    refused(lab.bob.http("POST", f"/jobs/{hers['running']}/results", {"results": {"loss": 1}}), 403)
    ran = lab.bob.run("report", "loss=1", env={"ROOST_JOB_ID": str(hers["running"]), "ROOST_ATTEMPT": "1"})
    assert ran.code == PERMISSION


def test_a_job_that_runs_as_root_under_ones_own_name(lab: Lab) -> None:
    """Root may label its own job with a name that has no account. A later account of that name does not own the job."""
    with throw_away_accounts("eve") as (eve,):
        name = f"w{eve.name}"
        env = {"SECRET": SECRET}
        job = int(lab.root("submit", "-q", "-g", 0, "--hold", "--owner", name, "--", "true", env=env))
        ended = int(lab.root("submit", "-q", "-g", 0, "--owner", name, "--", "true", env=env))
        body = {"job": {"command": ["true"], "gpus": 0, "user": name, "env": env}, "params": {"x": ["1"]}}
        sweep = lab.box.http("POST", "/sweeps", body).json["sweep"]
        lab.box.ends(ended, "succeeded")
        assert lab.box.http("POST", "/users", {"names": [name], "unix": eve.name}).status in (200, 201)
        person = lab.person(eve)
        try:
            assert person.http("GET", "/me").json["user"] == name
            for action, number in (("edit", job), ("clone", job), ("release", job), ("rerun", ended), ("rm", ended)):
                body = {"action": action, "select": {"ids": str(number)}, "changes": {}}
                refused(person.http("POST", "/jobs/actions", body), 403)
            for path in (f"/jobs/{ended}/env", f"/jobs/{ended}/log", f"/jobs/{ended}/log/follow"):
                refused(person.http("GET", path), 403)
            refused(person.http("POST", f"/sweeps/{sweep}/extend", {"params": {"x": ["2"]}}), 403)
        finally:
            person.close()
            lab.box.http("DELETE", f"/users/{name}")


def test_an_administrator_who_is_not_root_has_nothing_run_as_root(lab: Lab) -> None:
    mine = int(lab.root("submit", "-q", "-g", 0, "--hold", "--", "true"))
    bobs = lab.bob.submit("-g", 0, "--hold", "--", "true")
    hers = lab.ana.submit("-g", 0, "--hold", "--", "true")
    with lab.administrator(lab.bob):
        for user in ("root", "nobody-here"):
            refused(lab.bob.http("POST", "/jobs", {"jobs": [{"command": ["id"], "user": user}]}), 403)
            refused(lab.bob.http("POST", "/sweeps", {"job": {"command": ["id"], "user": user}, "params": {"x": ["1"]}}), 403)
            for job in (bobs, hers):
                body = {"action": "clone", "select": {"ids": str(job)}, "changes": {"user": user}}
                refused(lab.bob.http("POST", "/jobs/actions", body), 403)
        for action in ("edit", "clone"):
            body = {"action": action, "select": {"ids": str(mine)}, "changes": {"command": ["id"]}}
            refused(lab.bob.http("POST", "/jobs/actions", body), 403)
        body = {
            "action": "clone",
            "select": {"ids": str(hers)},
            "changes": {"user": None, "hold": False, "cwd": "/", "command": ["id", "-u"]},
        }
        copy = lab.bob.http("POST", "/jobs/actions", body).json["ids"][0]
        lab.box.ends(copy, "succeeded")
        assert lab.bob.http("GET", f"/jobs/{copy}/log").body.strip() == str(lab.bob.account.uid).encode()
        refused(lab.bob.http("POST", "/users", {"names": ["toor"], "unix": "root"}), 403)
        refused(lab.bob.http("PATCH", f"/users/{lab.bob.name}", {"unix": "root"}), 403)
        for path, file in (("/archive", "/tmp/a"), ("/backup", "/tmp/b")):
            refused(lab.bob.http("POST", path, {"path": file}), 403)
    assert not Path("/tmp/a").exists() and not Path("/tmp/b").exists()


def test_a_user_linked_to_another_account_leaves_jobs_secrets_and_tokens_behind(lab: Lab) -> None:
    with throw_away_accounts("eve", "mal") as (eve, mal):
        name = f"w{eve.name}"
        assert lab.box.http("POST", "/users", {"names": [name], "unix": eve.name}).status in (200, 201)
        person, other = lab.person(eve), lab.person(mal)
        try:
            job = person.submit("-g", 0, "--hold", "--", "id", "-u", env={"SECRET": SECRET})
            token = person.http("POST", "/tokens", {"label": "laptop"}).json["token"]
            assert lab.box.http("GET", "/me", tcp=True, Authorization=f"Bearer {token}").status == 200
            assert lab.box.http("PATCH", f"/users/{name}", {"unix": mal.name}).status == 200
            assert lab.box.http("GET", "/me", tcp=True, Authorization=f"Bearer {token}").status == 401
            assert other.http("GET", "/me").json["user"] == name
            for action in ("edit", "clone", "release", "kill"):
                body = {"action": action, "select": {"ids": str(job)}, "changes": {}}
                refused(other.http("POST", "/jobs/actions", body), 403)
            refused(other.http("GET", f"/jobs/{job}/env"), 403)
            lab.root("release", job)
            lab.box.ends(job, "succeeded")
            assert lab.root("log", job).strip() == str(eve.uid)
        finally:
            person.close()
            other.close()
            lab.box.http("DELETE", f"/users/{name}")


def test_a_uid_without_a_name_does_not_get_the_account_whose_name_is_its_number(lab: Lab) -> None:
    """`useradd` allows it when it is asked to: an account that is called like the number of another."""
    number = next(n for n in range(61000, 62000) if not _known(n) and not _known(n + 1))
    with throw_away_account(str(number), "--badname", "-u", str(number + 1)):
        script = (
            "import os,socket,sys\nos.setgroups([]); os.setgid(65534); os.setuid(int(sys.argv[2]))\n"
            "s=socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n"
            "s.sendall(b'GET /api/v1/me HTTP/1.0\\r\\n\\r\\n')\nprint(s.makefile().read())"
        )
        words = [lab.bob.reach.python, "-I", "-c", script, str(lab.box.home / "roost.sock"), str(number)]
        said = subprocess.run(words, capture_output=True, text=True, timeout=60)
        assert " 403 " in said.stdout and "has no account" in said.stdout, said


def _known(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


# -- reading what is another's --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tail",
    [
        "env", "spec", "log", "log?attempt=1", "log?attempt=-1", "log?attempt=0", "log?offset=-100", "log?lines=5",
        "log?offset=9223372036854775807",
        "log?stream=err", "log?limit=-5", "log/follow", "log/follow?attempt=1", "log/follow?lines=9",
        "log/follow?from_attempt=1",
    ],
)  # fmt: skip
def test_the_log_or_environment_of_anothers_job(lab: Lab, hers: dict[str, int], tail: str) -> None:
    for job in (hers["ended"], hers["running"]):
        answer = lab.bob.http("GET", f"/jobs/{job}/{tail}")
        refused(answer, 403, 400)  # what is no number of an attempt, or no place in a file, is not even looked at
        assert SECRET.encode() not in answer.body


@pytest.mark.parametrize(
    "path",
    ["roost.db", "roost.db-wal", "roost.db-shm", "server.log", "up.json", "server.lock", "node/node.log", "node/node.sock",
     "node/active", "node/runs", "accounts/ANA", "accounts/ANA/runs", "accounts/ANA/node.sock", "accounts/ANA/node.log"],
)  # fmt: skip
def test_the_files_of_the_server_and_of_anothers_program(lab: Lab, hers: dict[str, int], path: str) -> None:
    file = lab.box.home / path.replace("ANA", lab.ana.name)
    assert file.exists() or "-" in path or path == "up.json", file
    for word in ("ls", "touch") if file.is_dir() else ("cat", "touch"):
        assert lab.bob.account.run([word, str(file)]).code != 0 or not file.exists(), (word, file)
    if file.is_socket():
        assert "PermissionError" in lab.bob.python("import socket,sys\nsocket.socket(1).connect(sys.argv[1])", str(file)).err


def test_a_listing_of_the_home_or_a_file_put_into_it(lab: Lab) -> None:
    for directory in (lab.box.home, lab.box.home / "accounts"):
        assert lab.bob.account.run(["ls", str(directory)]).code != 0
    for directory in (lab.box.home, lab.box.home / "accounts", lab.box.home / "program", lab.box.home / "sim"):
        assert lab.bob.account.run(["touch", str(directory / "x")]).code != 0


def test_secrets_in_the_arguments_of_any_process(lab: Lab) -> None:
    """Also of variables that no shell can name, which take another way."""
    env = {"PATH": PATH, "PLAIN": SECRET, "BASH_FUNC_x%%": "() { echo " + SECRET + "; }", "IFS": SECRET}
    command = ["python3", "-c", f"import os\nprint(str(os.environ).count('{SECRET[:7]}'))\nopen('started', 'w')\n"]
    command[-1] += "import time; time.sleep(600)"
    spec = {"command": ["env", "PYTHONUNBUFFERED=1", *command], "gpus": 0, "env": env}
    job = lab.ana.http("POST", "/jobs", {"jobs": [spec]}).json["ids"][0]
    until("it has begun", (lab.ana.account.home / "started").exists)
    found = lab.bob.shell("cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null").out
    assert SECRET not in found and "roost" in found
    assert lab.ana.do("log", job).strip() == "3"
    lab.ana.do("kill", job)


def test_the_memory_descriptors_and_maps_of_anothers_programs(lab: Lab, hers: dict[str, int]) -> None:
    theirs = [p for p in lab.ana.account.processes()] + [lab.box.server.pid, lab.box.node.pid]
    for pid in theirs:
        for name in ("environ", "mem", "maps", "fd/0", "cwd", "root"):
            script = (
                "import os,sys\np=sys.argv[1]\nprint(os.readlink(p) if p.endswith(('cwd','root')) else open(p,'rb').read(1))"
            )
            assert lab.bob.python(script, f"/proc/{pid}/{name}").code != 0, (pid, name)
        assert lab.bob.shell(f"kill -0 {pid}").code != 0


def test_descriptors_that_a_job_inherits(lab: Lab) -> None:
    """Its three streams, and nothing of the server's or of root's behind its parents."""
    script = "ls -l /proc/self/fd | sed -n 's/.* -> //p'; ls -l /proc/$PPID/fd | sed -n 's/.* -> //p'"
    _, said = lab.bob.sh(script)
    other = [
        line for line in said.splitlines() if not line.startswith(("/dev/null", f"{lab.bob.state}/", "/proc/", "pipe:"))
    ]
    assert not [line for line in other if "roost.db" in line or "server" in line or "socket:" in line], said
    assert all(
        Path(line.split(" (")[0]).exists() is False or os.stat(line).st_uid == lab.bob.account.uid
        for line in other
        if line.startswith("/")
    ), other


def test_the_administrators_pages(lab: Lab) -> None:
    for path in ("/log/server", "/audit"):
        refused(lab.bob.http("GET", path), 403)
    for method, path, body in (
        ("PUT", "/settings", {"users.private": True}), ("POST", "/shutdown", {}), ("POST", "/drain", {"targets": ["0"]}),
        ("PATCH", f"/users/{lab.bob.name}", {"admin": True}), ("DELETE", f"/users/{lab.ana.name}", None),
        ("POST", "/users", {"names": ["x"]}), ("POST", f"/users/{lab.ana.name}/link", {}), ("PUT", "/notice", {"text": "x"}),
        ("POST", "/archive", {"path": "/tmp/x"}), ("POST", "/backup", {"path": str(lab.bob.account.home / "copy")}),
        ("POST", "/gpus/actions", {"action": "disable", "gpus": ["0"]}), ("POST", "/scheduler", {"paused": True}),
    ):  # fmt: skip
        refused(lab.bob.http(method, path, body), 403)


def test_anothers_token_is_neither_seen_nor_ended(lab: Lab) -> None:
    made = lab.ana.http("POST", "/tokens", {"label": "laptop"}).json
    assert made["id"] not in [t["id"] for t in lab.bob.http("GET", "/tokens?all=true").json["tokens"]]
    refused(lab.bob.http("DELETE", f"/tokens/{made['id']}"), 404)
    assert lab.box.http("GET", "/me", tcp=True, Authorization=f"Bearer {made['token']}").status == 200


def test_a_token_of_somebody_locked_or_deleted(lab: Lab) -> None:
    with throw_away_accounts("eve") as (eve,):
        person = lab.person(eve)
        try:
            for change, back in (({"locked": True}, {"locked": False}), (None, None)):
                token = person.http("POST", "/tokens", {"label": "laptop"}).json["token"]
                answer = (
                    lab.box.http("PATCH", f"/users/{eve.name}", change)
                    if change
                    else lab.box.http("DELETE", f"/users/{eve.name}")
                )
                assert answer.status == 200
                if back:
                    assert lab.box.http("PATCH", f"/users/{eve.name}", back).status == 200
                assert lab.box.http("GET", "/me", tcp=True, Authorization=f"Bearer {token}").status == 401
        finally:
            person.close()


# -- claiming a name ------------------------------------------------------------------------------------------------------


def test_an_impostor_at_a_socket_gets_no_job_and_no_environment(lab: Lab, tmp_path: Path) -> None:
    """Somebody's server at a path that another was made to use."""
    trap = lab.bob.account.home / "trap"
    trap.mkdir()
    trap.chmod(0o755)
    lab.bob.account.home.chmod(0o755)
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(str(trap / "roost.sock"))
        (trap / "roost.sock").chmod(0o777)
        os.seteuid(lab.bob.account.uid)  # the kernel notes who listens
        try:
            listener.listen(4)
        finally:
            os.seteuid(0)
        ran = lab.ana.run("submit", "true", env={"ROOST_HOME": str(trap), "SECRET": SECRET})
        assert ran.code == 69 and f"uid {lab.bob.account.uid}" in ran.err, ran
        listener.settimeout(5)
        connection, _ = listener.accept()
        assert connection.recv(1) == b""
        connection.close()
    finally:
        listener.close()
        lab.bob.account.home.chmod(0o750)


def test_a_home_prepared_by_somebody_else_is_not_served(lab: Lab) -> None:
    home = lab.bob.account.home / "prepared"
    lab.bob.account.run(["mkdir", str(home)])
    ran = lab.box.run("up", "--detach", "--sim", "1x1G", env={"ROOST_HOME": str(home)})
    assert ran.code != 0 and "Traceback" not in ran.err, ran
    assert not (home / "roost.db").exists()


@pytest.mark.parametrize("kind", ["of-another", "symlink", "file"])
def test_a_state_directory_that_is_not_the_accounts_own(lab: Lab, kind: str) -> None:
    with throw_away_accounts("eve") as (eve,):
        state = lab.box.home / "accounts" / eve.name
        if kind == "of-another":
            state.mkdir(mode=0o700)
            os.chown(state, lab.bob.account.uid, lab.bob.account.gid)
        elif kind == "symlink":
            state.symlink_to(eve.home)
        else:
            state.touch()
        job = int(lab.root("submit", "-q", "-g", 0, "--owner", eve.name, "--", "true"))
        assert "is not that account's" in lab.box.ends(job, "cannot_start")["error"]
        state.rmdir() if kind == "of-another" else state.unlink()


def test_a_number_given_to_a_new_account_opens_nothing_of_the_old_one(lab: Lab) -> None:
    with throw_away_accounts("old") as (old,):
        person = lab.person(old)
        job, _ = person.sh(f"echo {SECRET}", env={"SECRET": SECRET})
        person.close()
        name, uid = old.name, old.uid
    new = f"new{name[3:]}"
    with throw_away_account(new, "-u", str(uid)) as account:
        person = lab.person(account)
        until("the server knows the new name", lambda: person.http("GET", "/me").json["user"] == new)
        for tail in ("env", "log"):
            refused(person.http("GET", f"/jobs/{job}/{tail}"), 403)
        person.close()


# -- too much -------------------------------------------------------------------------------------------------------------

TOO_MUCH: dict[str, dict[str, Any]] = {
    "a-name-of-a-megabyte": {"name": "x" * 1_000_000},
    "a-command-of-ten-megabytes": {"command": ["x" * 100_000] * 100},
    "an-argument-of-a-megabyte": {"command": ["x" * 1_000_000]},
    "ten-thousand-labels": {"labels": [f"l{i}" for i in range(10_000)]},
    "ten-thousand-gpus-named": {"gpu_ids": [str(i) for i in range(10_000)], "gpus": 1},
    "ten-thousand-dependencies": {"after_any": [1] * 10_000},
    "a-label-of-a-megabyte": {"labels": ["x" * 1_000_000]},
    "an-environment-of-ten-megabytes": {"env": {f"V{i}": "x" * 100_000 for i in range(100)}},
    "a-million-gpus": {"gpus": 1_000_000},
    "retries-for-ever": {"retries": 1 << 60},
}


@pytest.mark.parametrize("name", TOO_MUCH)
def test_too_much_of_something(lab: Lab, name: str) -> None:
    said = refused(lab.bob.http("POST", "/jobs", {"jobs": [{"command": ["true"], **TOO_MUCH[name]}]}), 400, 413, 422)
    assert len(said) < 300


def test_a_hundred_thousand_jobs_past_a_quota(lab: Lab) -> None:
    assert lab.box.http("PATCH", f"/users/{lab.bob.name}", {"max_queued": 1000}).status == 200
    try:
        before = count(lab)
        said = refused(
            lab.bob.http("POST", "/jobs", {"jobs": [{"command": ["true"], "hold": True}] * 100_000}), 400, 409, 413, 429
        )
        assert "1,000" in said or "large" in said or "bytes" in said, said
        body = {"job": {"command": ["true"], "hold": True}, "points": [{"x": n} for n in range(10_000)]}
        refused(lab.bob.http("POST", "/sweeps", body), 400, 409, 413, 429)
        assert count(lab) == before
    finally:
        lab.box.http("PATCH", f"/users/{lab.bob.name}", {"max_queued": None})


def test_a_thousand_tokens(lab: Lab) -> None:
    with throw_away_accounts("eve") as (eve,):
        person = lab.person(eve)
        answers = [person.http("POST", "/tokens", {"label": f"t{i}"}) for i in range(101)]
        person.close()
    assert [a.status for a in answers[:100]] == [201] * 100
    assert "100 tokens" in refused(answers[100], 409)
