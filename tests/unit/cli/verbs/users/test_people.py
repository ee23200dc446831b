"""People on the command line: names from files, defaults as they are typed, tokens, the audit, questions asked."""

from __future__ import annotations

import io
import json
import sys
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.cli.conftest import Roost
from tests.unit.client.fake_server import FakeServer, error

from roost.cli.parse import job_options, values
from roost.cli.parse.options import UsageError
from roost.cli.runtime import prompt
from roost.cli.text.output import Screen, listed
from roost.cli.verbs.defaults import default_options
from roost.cli.verbs.tokens import token_ls
from roost.cli.verbs.users import audit
from roost.cli.verbs.users.user_names import is_name, names_in
from roost.core.spec import JobSpec

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
NAME = st.from_regex(r"[a-z_][a-z0-9_.-]{0,10}", fullmatch=True)


def user(name: str, **more: Any) -> dict[str, Any]:
    rules = {"weight": 1.0, "max_gpus": None, "max_jobs": None, "max_queued": None}
    roles = {"admin": False, "locked": False, "unix": None, "password": False, "added": True}
    return {"user": name, "gpus": 0, "running": 0, "queued": 0, "account": False, **rules, **roles, **more}


# Names


def test_names_of_a_file() -> None:
    text = "# the lab\nana\n\n  bob   labbob # the account\r\neve\tnone\n"
    assert names_in(text, "names.txt") == {"ana": None, "bob": "labbob", "eve": "none"}


@given(st.dictionaries(NAME, st.none() | NAME, min_size=1, max_size=20))
def test_whatever_is_written_is_read(wanted: dict[str, str | None]) -> None:
    text = "".join(f"{name} {account or ''}\n" for name, account in wanted.items())
    assert names_in(text, "x") == wanted


def test_bad_lines_are_named_by_number() -> None:
    with pytest.raises(UsageError) as refused:
        names_in("ana\n-x\na b c\nana\nbob\n", "names.txt")
    first, second, third = refused.value.message.removeprefix("names.txt: ").split("; ")
    assert first == "line 2: invalid name '-x'"
    assert second == "line 3: expected a name and at most one UNIX account"
    assert third == "line 4: ana is listed twice"
    with pytest.raises(UsageError, match="and 7 more"):
        names_in("-\n" * 12, "names.txt")
    with pytest.raises(UsageError, match="contains no names"):
        names_in("# nobody\n", "names.txt")


@pytest.mark.parametrize(("name", "good"), [("ana", True), ("a.b-c+d@e", True), ("pc$", True), ("$", False), ("", False),
                                            ("-a", False), ("á", False), ("a/b", False), ("x" * 65, False)])  # fmt: skip
def test_what_is_a_name(name: str, good: bool) -> None:
    assert is_name(name) is good


# Users


def test_a_name_that_is_not_there_stops_all_of_it(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /users/ana"] = user("ana")
    server.routes["GET /users/eve"] = user("eve", added=False)
    for verb in ("lock", "unlock", "admin", "del", "link"):
        shown = roost("user", verb, "ana", "eve")
        assert (shown.code, shown.out) == (2, "")
        assert shown.err.splitlines()[0] == "roost: no such user: eve; nothing was changed"
    assert {name.partition(" ")[0] for name, _, _ in server.asked} == {"GET"}


def test_users_are_added_with_their_links(roost: Roost, server: FakeServer, tmp_path: Any) -> None:
    made = [{**user("ana", unix="ana"), "link": "http://h/welcome/a"}, {**user("bobby"), "link": "http://h/welcome/b"}]
    server.routes["POST /users"] = lambda _q, _b: (201, {"version": 1, "users": made})
    path = tmp_path / "names.txt"
    path.write_text("bobby none\n")
    shown = roost("user", "add", "ana", "--from", str(path), "--admin")
    assert (shown.code, shown.out) == (0, "ana    http://h/welcome/a\nbobby  http://h/welcome/b\n")
    assert "bobby cannot run jobs yet; link an account: roost user set bobby --unix ACCOUNT" in shown.err
    sent = {"names": ["ana", "bobby"], "unix": None, "admin": True, "ties": {"bobby": "none"}}
    assert server.bodies("POST /users") == [sent]


def test_a_deletion_says_what_it_ended_and_who_can_still_come(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /users/ana"] = user("ana", running=2)
    server.routes["DELETE /users/ana"] = {"user": "ana", "ended": [1, 2], "admitted": True}
    refused = roost("user", "del", "ana")
    assert refused.code == 2 and "not a terminal: cannot ask for confirmation; nothing was done" in refused.err
    assert server.bodies("DELETE /users/ana") == []
    shown = roost("user", "del", "-y", "ana")
    assert shown.code == 0
    assert shown.err.splitlines()[0] == "roost: deleted ana and ended 2 jobs"
    assert "roost user lock ana" in shown.err and "roost set users.admit known" in shown.err


class Terminal(io.StringIO):
    """Somebody who types."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("typed", "code"), [("y\n", 0), ("yes\n", 0), ("\n", 1), ("n\n", 1), ("", 1)])
def test_on_a_terminal_a_deletion_is_asked_for(
    roost: Roost, server: FakeServer, monkeypatch: pytest.MonkeyPatch, typed: str, code: int
) -> None:
    server.routes["GET /users/ana"] = user("ana", queued=1)
    server.routes["DELETE /users/ana"] = {"user": "ana", "ended": [], "admitted": False}
    monkeypatch.setattr(sys, "stdin", Terminal(typed))
    shown = roost("user", "del", "ana")
    assert (shown.code, shown.err.startswith("delete ana and end 1 job? [y/N] ")) == (code, True)
    assert len(server.bodies("DELETE /users/ana")) == (code == 0)


# Secrets


def test_a_password_is_typed_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    said = iter(["one two three", "one two three", "one two three", "one two four"])
    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr("getpass.getpass", lambda _prompt: next(said))
    assert prompt.new_password() == "one two three"
    with pytest.raises(UsageError, match="passwords differ"):
        prompt.new_password()


def test_without_a_terminal_it_is_read_from_stdin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("a pass word\nmore"))
    assert prompt.new_password() == "a pass word"
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    with pytest.raises(UsageError, match="no password given"):
        prompt.secret("Password")


def test_tokens_as_a_table() -> None:
    tokens = [
        {"id": 1, "user": "ana", "label": "laptop", "scope": "operate", "created_at": "2026-11-20T11:00:00Z",
         "expires_at": None, "used_at": None},
        {"id": 12, "user": "ana", "label": "ci\x1b[1m", "scope": "read", "created_at": "2026-11-19T12:00:00Z",
         "expires_at": "2026-11-21T12:00:00Z", "used_at": "2026-11-20T11:59:00Z"},
    ]  # fmt: skip
    assert listed(token_ls.columns(NOW), tokens, Screen(80)) == [
        "ID  USER    CREATED   EXPIRES       USED  SCOPE    LABEL",
        " 1  ana   1h00m ago     never          -  operate  laptop",
        "12  ana   1d00h ago  in 1d00h  1m00s ago  read     ci\\x1b[1m",
    ]


def test_a_token_is_printed_once_and_its_life_said(roost: Roost, server: FakeServer) -> None:
    server.routes["POST /tokens"] = lambda _q, _b: (201, {"version": 1, "id": 4, "token": "roost_abc"})
    shown = roost("token", "new", "my laptop", "--expires", "90d")
    assert shown == (0, "roost_abc\n", "roost: token 4, valid for 90 d; it is not shown again\n")
    assert server.bodies("POST /tokens") == [{"label": "my laptop", "lives_s": 90 * 86400, "scope": "operate"}]


def test_a_scope_that_is_none_is_refused(roost: Roost, server: FakeServer) -> None:
    assert roost("token", "new", "x", "--scope", "all").err == "roost: --scope must be read, submit or operate, not all\n"
    assert server.asked == []


def test_tokens_are_named_by_number_or_label_all_or_none(roost: Roost, server: FakeServer) -> None:
    mine = [{"id": number, "label": label} for number, label in ((4, "laptop"), (5, "ci"), (6, "ci"))]
    server.routes["GET /tokens"] = lambda _q, _b: (200, {"version": 1, "tokens": mine})
    assert roost("token", "revoke", "3", "ci").err.startswith("roost: several of your tokens have the label ci: 5, 6")
    assert roost("token", "revoke", "3", "none").err.startswith("roost: you have no token with the label none")
    assert server.bodies("DELETE /tokens/3") == []
    for number in (3, 4):
        ended = {"version": 1, "id": number, "user": "ana", "label": "x"}
        server.routes[f"DELETE /tokens/{number}"] = lambda _q, _b, ended=ended: (200, ended)
    said = roost("token", "revoke", "3", "laptop").err.splitlines()
    assert said == ["roost: revoked token 3 of ana: x", "roost: revoked token 4 of ana: x"]


def test_who_is_not_let_in_ends_with_77(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /audit"] = lambda _q, _b: (403, error("not_permitted", "only an administrator may do that", "ask"))
    assert roost("audit") == (77, "", "roost: only an administrator may do that\nhint: ask\n")
    server.routes["GET /tokens"] = lambda _q, _b: (401, error("not_known", "log in first", None))
    assert roost("token").code == 77
    server.routes["GET /tokens"] = lambda _q, _b: (429, error("too_fast", "more than 100 requests a second", None))
    assert roost("token").code == 75


# The audit and the notice


def test_the_audit_as_a_table() -> None:
    lines = listed(
        audit.COLUMNS,
        [
            {
                "at": None,
                "user": "ana",
                "via": "token x",
                "address": "::1",
                "action": "kill",
                "target": "3-7",
                "detail": "TERM",
            },
            {"at": None, "user": "b\n", "via": "socket", "address": "", "action": "notice", "target": "none", "detail": ""},
        ],
        Screen(80),
    )
    assert lines == [
        "WHEN  USER  FROM         ACTION  WHAT",
        "-     ana   token x ::1  kill    3-7 TERM",
        "-     b     socket       notice  none",
    ]


def test_the_audit_is_read_page_after_page(roost: Roost, server: FakeServer) -> None:
    def page(query: dict[str, str], _body: Any) -> tuple[int, Any]:
        first = int(query.get("cursor", 30_000))
        count = int(query["limit"])
        return 200, {"version": 1, "audit": [{"id": first - n} for n in range(count)], "next": first - count}

    server.routes["GET /audit"] = page
    found = json.loads(roost("audit", "-n", "15000", "--user", "ana", "--action", "user add", "--json").out)["audit"]
    assert [line["id"] for line in found] == list(range(30_000, 15_000, -1))
    asked = server.queries("GET /audit")
    assert [query["limit"] for query in asked] == ["10000", "5000"]
    assert {(query["user"], query["action"]) for query in asked} == {("ana", "user add")}


def test_since_when() -> None:
    assert values.since("2h", now_s=7200) == "1970-01-01T00:00:00Z"
    assert values.since("2026-11-20T08:00:00Z") == "2026-11-20T08:00:00Z"
    for text in ("yesterday", "2026-13-45", ""):
        with pytest.raises(ValueError, match="like 2"):
            values.since(text)


@pytest.mark.parametrize("verb", ["ls", "gpus", "status", "submit"])
def test_a_notice_stands_on_stderr(roost: Roost, server: FakeServer, verb: str) -> None:
    notice = {"text": "new driver\x1b[2J at 18:00", "by": "root", "at": "2026-11-20T11:00:00Z"}
    server.routes["GET /jobs"] = {"version": 1, "jobs": [], "counts": {}, "next": None, "notice": notice}
    server.routes["GET /gpus"] = {"version": 1, "gpus": [], "notice": notice}
    server.routes["GET /status"] = {"version": 1, "server": {}, "notice": notice}
    server.routes["POST /jobs"] = lambda _q, _b: (201, {"ids": [1], "notice": notice})
    words = [verb, "true"] if verb == "submit" else [verb]
    assert roost(*words).err.splitlines()[-1] == "notice: new driver\\x1b[2J at 18:00 (root)"
    assert "notice" not in roost(*words[:1], "--json", *words[1:]).err


def test_a_notice_is_set_in_words_and_taken_away(roost: Roost, server: FakeServer) -> None:
    server.routes["PUT /notice"] = lambda _q, body: (200, {"notice": body["text"] and {"text": body["text"], "by": "root"}})
    assert roost("notice", "new", "driver").out == "new driver (root)\n"
    assert roost("notice", "--clear") == (0, "", "roost: notice removed\n")
    assert server.bodies("PUT /notice") == [{"text": "new driver"}, {"text": None}]
    assert roost("notice", "--clear", "x").code == 2


# Defaults


@pytest.mark.parametrize(
    ("typed", "spec"),
    [
        ("gpus=2 mem=8G", {"gpus": 2, "mem_mib": 8192}),
        ("mem=auto", {"mem_auto": True}),
        ("time=2h30m grace=10s", {"time_limit_s": 9000, "grace_s": 10}),
        ("label=a,b priority=-5", {"labels": ["a", "b"], "priority": -5}),
        ("preemptible=on fill=on", {"preemptible": True, "fill": True}),
        ("append=on merge=on", {"open": "append", "stderr": "stdout"}),
        ("gpu-model=A100|H100 min-gpu-mem=1500M", {"gpu_models": ["A100", "H100"], "min_gpu_mem_mib": 1500}),
        ("output=%j.log retries=3", {"stdout": "%j.log", "retries": 3}),
    ],
)
def test_defaults_as_they_are_typed(typed: str, spec: dict[str, Any]) -> None:
    assert default_options.assigned(typed.split()) == spec
    assert default_options.assigned(default_options.typed(spec)) == spec


def test_other_spellings_of_a_default() -> None:
    assert default_options.assigned(["labels=a", "gpu_model=H100", "--mem=1G", "exclusive=no"]) == {
        "labels": ["a"],
        "gpu_models": ["H100"],
        "mem_mib": 1024,
        "exclusive": None,
    }


@pytest.mark.parametrize(
    ("pair", "said"),
    [
        ("speed=9", "speed cannot be a default"),
        ("hold=on", "hold cannot be a default"),
        ("after=3", "after cannot be a default"),
        ("cwd=/x", "cwd cannot be a default"),
        ("mem", "mem: expected mem=SIZE|auto"),
        ("mem=much", "--mem much: expected a size like 8G, 800M or 1.5G"),
        ("preemptible=maybe", "preemptible=maybe: must be on or off"),
    ],
)
def test_what_cannot_be_a_default(roost: Roost, server: FakeServer, pair: str, said: str) -> None:
    shown = roost("defaults", "set", pair)
    assert (shown.code, shown.err.splitlines()[0]) == (2, f"roost: {said}")
    assert server.asked == []
    if "called so" in said:
        assert "these can be: gpus, mem, " in shown.err


def test_what_excludes_another_takes_its_place() -> None:
    before = {"mem_mib": 8192, "priority": 5}
    assert default_options.merged(before, {"mem_auto": True}) == {"priority": 5, "mem_auto": True}
    assert default_options.merged(before, {"exclusive": True}) == {"priority": 5, "exclusive": True}
    assert default_options.merged(before, {"priority": None}) == {"mem_mib": 8192}


def test_defaults_are_set_beside_the_others_and_unset(roost: Roost, server: FakeServer) -> None:
    server.routes["GET /defaults"] = {"version": 1, "defaults": {"mem_mib": 8192, "labels": ["a"]}}
    server.routes["PUT /defaults"] = lambda _q, body: (200, {"version": 1, "defaults": body})
    assert roost("defaults").out == roost("defaults", "show").out == "mem=8G\nlabel=a\n"
    assert roost("defaults", "set", "time=2h").out == "mem=8G\nlabel=a\ntime=2h\n"
    assert roost("defaults", "unset", "mem").out == "label=a\n"
    assert roost("defaults", "clear").out == ""
    sent = server.bodies("PUT /defaults")
    assert sent == [{"mem_mib": 8192, "labels": ["a"], "time_limit_s": 7200}, {"labels": ["a"]}, {}]


def submitted(roost: Roost, server: FakeServer, *words: str) -> dict[str, Any]:
    server.routes["POST /jobs"] = lambda _q, _b: (201, {"ids": [1]})
    assert roost("submit", *words).code == 0
    found: dict[str, Any] = server.bodies("POST /jobs")[-1]["jobs"][0]
    return found


def test_nothing_is_sent_that_was_not_said(roost: Roost, server: FakeServer) -> None:
    assert set(submitted(roost, server, "python", "t.py")) == {"command", "cwd", "env", "umask"}


def test_a_default_is_taken_back_for_one_job(roost: Roost, server: FakeServer) -> None:
    sent = submitted(roost, server, "--without", "mem,preemptible,label", "--without", "time", "true")
    said: dict[str, Any] = {"mem_mib": None, "mem_auto": False, "preemptible": False, "labels": [], "time_limit_s": None}
    assert {key: sent[key] for key in said} == said
    assert submitted(roost, server, "--without", "mem", "--mem", "2G", "true")["mem_mib"] == 2048
    everything = submitted(roost, server, "--without", "all", "true")
    assert (everything["gpus"], everything["open"], everything["warn_signal"], everything["name"]) == (
        1,
        "new",
        "USR2",
        None,
    )
    shown = roost("submit", "--without", "speed", "true")
    assert (shown.code, shown.err.splitlines()[0]) == (2, "roost: speed cannot be a default")


def test_without_any_default_a_job_is_as_roost_would_have_it() -> None:
    assert msgspec.convert({"command": ["true"], **job_options.left_out(["all"])}, JobSpec) == JobSpec(["true"])


def test_a_token_is_not_sent_with_a_job(roost: Roost, server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOST_TOKEN", "roost_secret")
    assert "ROOST_TOKEN" not in submitted(roost, server, "true")["env"]
    assert submitted(roost, server, "--env", "ROOST_TOKEN", "true")["env"]["ROOST_TOKEN"] == "roost_secret"
    from roost.client import Roost as Client

    Client().submit("true")
    assert "ROOST_TOKEN" not in server.bodies("POST /jobs")[-1]["jobs"][0]["env"]


# Who you are


@pytest.mark.parametrize(
    ("you", "line"),
    [
        ({"user": "ana", "admin": True, "runs_as": "ana"}, "ana, administrator, jobs run as ana"),
        ({"user": "web", "admin": False, "runs_as": None}, "web, cannot run jobs: no linked UNIX account"),
    ],
)
def test_status_says_who_you_are(roost: Roost, server: FakeServer, you: dict[str, Any], line: str) -> None:
    server.routes["GET /status"] = {"version": 1, "server": {}, "you": you}
    assert f"you:        {line}" in roost("status").out.splitlines()
