"""People: added, locked, deleted; tokens and logins from elsewhere; defaults, the notice, the audit. All as it is typed."""

from __future__ import annotations

import json
import os
import pwd
from collections.abc import Callable
from typing import Any

import pytest
from tests.box import Box, Ran, until

ME = pwd.getpwuid(os.getuid()).pw_name
PASSWORD = "violet harbour seven"
Elsewhere = Callable[..., Ran]


def names(box: Box) -> list[str]:
    return [user["user"] for user in box.json("users")["users"]]


def elsewhere(box: Box, token: str = "") -> Elsewhere:
    """`roost …` as on another computer: the server is known by its URL alone."""
    env = {
        "ROOST_HOME": str(box.work / "nothing"),
        "ROOST_SERVER": box.url,
        "ROOST_TOKEN": token,
        "XDG_CONFIG_HOME": str(box.work / "config"),
    }

    def run(*words: str | int, **more: Any) -> Ran:
        return box.run(*words, env=env | more.pop("env", {}), **more)

    return run


def choose(link: str, box: Box, **body: str) -> None:
    """Open a one-time link in a browser and choose a password there."""
    answer = box.http(
        "POST", f"/link/{link.strip().rpartition('/')[2]}", {"password": PASSWORD, **body}, tcp=True, Authorization=""
    )
    assert answer.status == 200, answer


def user_elsewhere(box: Box, name: str = "ana") -> Elsewhere:
    """A user who is no administrator and has no account here, logged in from another computer."""
    link = box.do("user", "add", name, "--unix", "none").split()[1]
    choose(link, box)
    there = elsewhere(box)
    ran = there("login", box.url, "--user", name, text=PASSWORD + "\n")
    assert ran.code == 0, ran
    return there


# Users


def test_several_users_are_added_locked_unlocked_and_deleted(box: Box) -> None:
    made = box.do("user", "add", "ana", "bob", "eve", "--unix", "none").splitlines()
    assert [line.split()[0] for line in made] == ["ana", "bob", "eve"]
    assert all(line.split()[1].startswith(f"{box.url}/welcome/") for line in made)
    assert names(box) == ["ana", "bob", "eve"]
    box.do("user", "lock", "ana", "bob")
    assert [user["locked"] for user in box.json("users")["users"]] == [True, True, False]
    box.do("user", "unlock", "bob")
    box.do("user", "admin", "bob", "eve")
    box.do("user", "admin", "eve", "--off")
    assert [(u["locked"], u["admin"]) for u in box.json("users")["users"]] == [(True, False), (False, True), (False, False)]
    box.do("user", "set", "ana", "eve", "--max-gpus", 2)
    assert [user["max_gpus"] for user in box.json("user", "show", "ana", "eve")["users"]] == [2, 2]
    job = box.submit("--hold", "--owner", "ana", "true")
    ran = box.run("user", "del", "-y", "ana", "bob")
    assert (ran.code, ran.err) == (0, "roost: deleted ana and ended 1 job\nroost: deleted bob and ended 0 jobs\n")
    assert names(box) == ["eve"]
    assert box.state(job) == "killed"


def test_users_from_a_file(own: Box) -> None:
    path = own.file("names.txt")
    path.write_text(f"# the lab\nana none\n\nbob {ME}  # is me from now on\n")
    own.do("user", "add", "--from", str(path))
    assert {user["user"]: user["unix"] for user in own.json("users")["users"]} == {"ana": None, "bob": ME}
    assert f"you:        bob, administrator, jobs run as {ME}" in own.do("status").splitlines()
    own.do("user", "add", "--from", "-", "--unix", "none", text="carl\n")
    assert names(own) == ["ana", "bob", "carl"]


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("new none\nbad name here\n", 2, "line 2: expected a name and at most one UNIX account"),
        ("new none\n-x\n", 2, "line 2: invalid name '-x'"),
        ("new none\nthere none\n", 1, "user there already exists"),
        ("new no-such-account\n", 2, "this machine has no account no-such-account"),
        (f"new {ME}\nold {ME}\n", 1, f"{ME} cannot be linked to both new and old"),
    ],
)
def test_of_a_file_with_one_bad_line_nobody_is_added(box: Box, text: str, code: int, said: str) -> None:
    box.do("user", "add", "there", "--unix", "none")
    assert said in box.refused(code, "user", "add", "--from", "-", text=text)
    assert names(box) == ["there"]


def test_wrong_names_are_refused_before_anything_is_done(box: Box) -> None:
    box.do("user", "add", "ana", "--unix", "none")
    for verb in ("lock", "admin", "del", "link"):
        assert "no such user: not-here" in box.refused(2, "user", verb, "ana", "not-here")
    assert "invalid user name" in box.refused(2, "user", "add", "eve", "a/b")
    assert "user ana already exists" in box.refused(1, "user", "add", "eve", "ana", "--unix", "none")
    assert "you cannot lock yourself" in box.refused(1, "user", "lock", ME)
    assert "you cannot delete yourself" in box.refused(1, "user", "del", "-y", ME)
    (ana,) = [user for user in box.json("users")["users"] if user["added"]]
    assert (ana["user"], ana["locked"], ana["admin"]) == ("ana", False, False)


# From elsewhere


def test_a_token_speaks_for_its_user_until_it_is_revoked(box: Box) -> None:
    token = box.do("token", "new", "laptop").strip()
    there = elsewhere(box, token)
    assert f"you:        {ME}, administrator, jobs run as {ME}" in there("status").out.splitlines()
    job = int(there("submit", "-q", "sh", "-c", "echo $ROOST_TOKEN; echo done").out)
    box.ends(job, "succeeded")
    assert there("log", job, "--out").out == "\ndone\n"
    assert there("run", "-g", 0, "echo", "here").out == "here\n"
    (listed,) = [each for each in box.json("token", "ls")["tokens"] if each["label"] == "laptop"]
    assert token not in box.do("token", "ls", "--json") + box.do("audit", "--json")
    box.do("token", "revoke", listed["id"])
    refused = there("ls")
    assert (refused.code, refused.err.splitlines()[0]) == (77, "roost: this token is not valid, or has expired")
    assert "there is no token" in box.refused(2, "token", "revoke", listed["id"])


def test_a_token_that_has_expired_is_void(box: Box) -> None:
    there = elsewhere(box, box.do("token", "new", "short", "--expires", "1s").strip())
    until("it has expired", lambda: there("ls").code == 77)
    assert elsewhere(box, "roost_wrong")("ls").code == 77
    assert elsewhere(box)("ls").code == 77


def test_a_login_by_password_and_out_again(own: Box) -> None:
    assert "at least 10 are required" in own.refused(2, "password", text="short\n")
    own.do("password", text=PASSWORD + "\n")
    there = elsewhere(own)
    ran = there("login", own.url, text=PASSWORD + "\n")
    assert (ran.code, ran.out) == (0, "")
    kept = own.work / "config" / "roost" / "tokens.json"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert json.loads(kept.read_text())["servers"][own.url]["token"] not in ran.err
    assert there("submit", "-q", "--hold", "true").out == "1\n"
    assert there("login", own.url, text=PASSWORD + "\n").code == 0
    assert len(own.json("token", "ls")["tokens"]) == 1
    link = there("web").out.strip()
    assert own.http("POST", f"/link/{link.rpartition('/')[2]}", {}, tcp=True, Authorization="").json["user"] == ME
    kept.chmod(0o644)
    assert "is open to others and is not used" in there("ls").err
    kept.chmod(0o600)
    assert there("logout").code == 0
    assert own.json("token", "ls")["tokens"] == []
    assert there("ls").code == 77
    assert there("logout").code == 2
    assert there("login", own.url, "--token", text=own.do("token", "new", "other")).code == 0
    assert there("ls", "-q").out == "1\n"


def test_guessing_passwords_is_slowed_down(own: Box) -> None:
    own.do("password", text=PASSWORD + "\n")
    there = elsewhere(own)
    tries = [there("login", own.url, text=f"wrong password {n}\n") for n in range(5)]
    assert {(ran.code, ran.err.splitlines()[0]) for ran in tries} == {(77, "roost: wrong user name or password")}

    def slowed_down() -> Ran | None:
        ran = there("login", own.url, text="wrong again\n")
        return ran if ran.code == 75 else None

    slowed = until("it is slowed", slowed_down)
    assert slowed.err.splitlines()[0] == "roost: too many wrong passwords"
    assert slowed.err.splitlines()[1].startswith("hint: try again in ")
    refused = own.json("audit", "--action", "login refused")["audit"]
    assert {(line["user"], line["address"]) for line in refused} == {(ME, "127.0.0.1")} and len(refused) >= 5


def test_a_user_like_all_others_sees_all_and_rules_nothing(own: Box) -> None:
    there = user_elsewhere(own)
    job = own.submit("--hold", "true")
    assert there("ls", "-q").out == f"{job}\n"
    for words in (["user", "add", "eve"], ["audit"], ["notice", "x"], ["set", "queue.max", "1"], ["user", "admin", "ana"]):
        assert there(*words).code == 77, words
    assert there("kill", job).code != 0 and own.state(job) == "held"
    assert "no UNIX account is linked to ana" in there("submit", "true").err
    assert "you:        ana, cannot run jobs: no linked UNIX account" in there("status").out.splitlines()
    changed = there("password", text=f"{PASSWORD}\nsome other nine words\n")
    assert changed.code == 0, changed
    assert there("password", text="wrong old one\nyet another nine words\n").code == 77


def test_a_lock_ends_tokens_at_once(own: Box) -> None:
    there = user_elsewhere(own)
    assert there("ls").code == 0
    own.do("user", "lock", "ana")
    assert there("ls").code == 77
    own.do("user", "unlock", "ana")
    assert there("ls").code == 77
    assert there("login", own.url, "--user", "ana", text=PASSWORD + "\n").code == 0
    own.do("user", "del", "-y", "ana")
    assert there("ls").code == 77
    assert there("login", own.url, "--user", "ana", text=PASSWORD + "\n").code == 77


def test_the_first_administrator_comes_by_a_link(new_box: Callable[..., Box]) -> None:
    box = new_box()
    said = box.run("up", "--detach", "--sim", "1").err
    link = said.partition("one-time login link for the first administrator: ")[2]
    choose(link, box, name="boss")
    assert box.json("user", "show", "boss")["admin"]
    assert box.http("POST", f"/link/{link.strip().rpartition('/')[2]}", {"password": PASSWORD, "name": "eve"}).status == 404
    box.do("down")
    assert "first administrator" not in box.run("up", "--detach").err
    there = elsewhere(box)
    assert there("login", box.url, "--user", "boss", text=PASSWORD + "\n").code == 0
    assert there("user", "add", "ana", "--unix", "none").out.startswith(f"ana  {box.url}/welcome/")
    answer = box.http("POST", "/administrator/link", {}, tcp=True, Authorization="")
    assert answer.status == 401


# Defaults


def test_defaults_apply_to_submit_api_and_sweep_and_flags_win(box: Box) -> None:
    assert box.do("defaults", "set", "mem=2G", "time=1h", "label=mine", "preemptible=on", "priority=3").splitlines() == [
        "mem=2G",
        "label=mine",
        "priority=3",
        "time=1h",
        "preemptible=on",
    ]
    by_cli = box.submit("--hold", "true")
    by_api = box.http("POST", "/jobs", {"jobs": [{"command": ["true"], "hold": True}]}).json["ids"][0]
    by_sweep = json.loads(box.do("sweep", "--json", "-p", "a=1", "--hold", "echo {a}"))["ids"][0]
    from_file = int(box.do("submit", "-q", "--from", "-", text="--hold true\n"))
    for job in (by_cli, by_api, by_sweep, from_file):
        found = box.job(job)
        assert (found["request"]["mem_mib"], found["time_limit_s"], found["labels"]) == (2048, 3600, ["mine"]), job
        assert (found["preemptible"], found["priority"]) == (True, 3), job
    said = box.job(box.submit("--hold", "-g", 2, "--mem", "4G", "-t", "5m", "-l", "own", "-p", 0, "true"))
    assert (said["gpus"], said["request"]["mem_mib"], said["time_limit_s"]) == (2, 4096, 300)
    assert (said["labels"], said["priority"]) == (["own"], 0)
    without = box.job(box.submit("--hold", "--without", "mem,preemptible,label,time", "true"))
    assert (without["request"]["mem_mib"], without["time_limit_s"], without["labels"]) == (None, None, [])
    assert (without["preemptible"], without["priority"]) == (False, 3)
    plain = box.job(box.submit("--hold", "--without", "all", "true"))
    assert (plain["request"]["mem_mib"], plain["preemptible"], plain["priority"]) == (None, False, 0)
    assert box.job(box.submit("--hold", "-g", 0, "true"))["request"]["mem_mib"] is None


def test_defaults_are_unset_cleared_and_kept(own: Box) -> None:
    own.do("defaults", "set", "mem=2G", "gpus=2", "merge=on")
    own.do("defaults", "set", "exclusive=on")
    assert own.do("defaults").split() == ["gpus=2", "merge=on", "exclusive=on"]
    own.kill_server()
    own.up()
    assert own.do("defaults", "unset", "gpus", "exclusive").split() == ["merge=on"]
    own.do("defaults", "clear")
    assert own.json("defaults")["defaults"] == {}
    assert "possible keys: gpus, mem" in own.refused(2, "defaults", "set", "speed=9")
    assert "must be between" in own.refused(2, "defaults", "set", "priority=99999999")


# What everybody sees, and what is seen of everybody


def test_a_notice_is_seen_until_it_is_taken_away(own: Box) -> None:
    own.do("notice", "new driver", "at 18:00")
    own.kill_server()
    own.up()
    line = f"notice: new driver at 18:00 ({ME})"
    for words in (["ls"], ["status"], ["gpus"], ["submit", "true"]):
        assert own.run(*words).err.splitlines()[-1] == line, words
    assert own.run("submit", "-q", "true").err == ""
    assert own.json("ls")["notice"]["text"] == "new driver at 18:00"
    own.do("notice", "--clear")
    assert [own.run(*words).err for words in (["status"], ["gpus"], ["submit", "true"])] == ["", "", ""]
    assert own.json("notice")["notice"] is None


def test_the_audit_says_who_did_what_from_where(box: Box) -> None:
    token = box.do("token", "new", "my laptop").strip()
    job = box.submit("--hold", "--owner", "zoe", "true")
    assert elsewhere(box, token)("kill", job).code == 0
    box.do("user", "add", "ana", "--unix", "none")
    lines = box.json("audit", "-n", 4)["audit"]
    told = [(line["user"], line["via"], line["address"], line["action"], line["target"]) for line in lines]
    assert told[1:] == [
        (ME, "socket", "", "user add", "ana"),
        (ME, "token my laptop", "127.0.0.1", "kill", str(job)),
        (ME, "socket", "", "submit", str(job)),
    ]
    assert told[0][3:] == ("link", "ana")
    assert {line["action"] for line in box.json("audit", "--action", "user add")["audit"]} == {"user add"}
    assert box.json("audit", "--user", "nobody-at-all")["audit"] == []
    assert box.json("audit", "--since", "2099-01-01")["audit"] == []
    assert len(box.json("audit", "--since", "1h", "-n", 2)["audit"]) == 2
    head, *shown = box.do("audit", "-n", 3, "--wide").splitlines()
    assert head.split() == ["WHEN", "USER", "FROM", "ACTION", "WHAT"] and len(shown) == 3
    assert "token my laptop 127.0.0.1" in shown[2]
    assert "expected a time like" in box.refused(2, "audit", "--since", "yore")


# Whose job it is


def test_the_last_job_is_also_one_that_was_submitted_for_another(box: Box) -> None:
    first, others = box.submit("--hold", "true"), box.submit("--hold", "--owner", "ana", "true")
    assert (box.json("show", "@")["id"], box.json("show", "@~1")["id"]) == (others, first)
    shown = box.do("show", "@").splitlines()
    assert [line.split(":")[1].strip() for line in shown if ":" in line][2:5] == ["ana", ME, ME]
    assert "submitted by" not in box.do("show", first) and "runs as" not in box.do("show", first)
    assert "you have no such job yet" in box.refused(2, "show", "@~2")
    third = box.submit("--hold", "true")
    assert [box.json("show", f"@~{n}")["id"] for n in range(3)] == [third, others, first]
