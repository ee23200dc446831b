"""What `roost login` keeps: readable only by its owner, never half written; and which server a command uses then."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from roost.client import logins, paths
from roost.client.client import Roost
from roost.client.errors import ApiError, RoostError
from roost.client.http import Connection
from roost.client.server_api import is_foreign, server_address, token_for

URL = "https://lab.example.org:7171"
LOGIN = {"user": "ana", "token": "roost_abc", "id": 3}


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Somebody's configuration, without a server anywhere."""
    for name in ("ROOST_SERVER", "ROOST_HOME", "ROOST_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.setattr(paths, "SYSTEM_SOCKET", str(tmp_path / "none" / "roost.sock"))
    return tmp_path / "config" / "roost" / "tokens.json"


def test_a_login_is_kept_for_its_owner_alone(config: Path) -> None:
    assert token_for(URL) is None
    logins.keep(URL, LOGIN)
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
    assert stat.S_IMODE(config.parent.stat().st_mode) == 0o700
    assert [path.name for path in config.parent.iterdir()] == ["tokens.json"]
    assert token_for(URL) == token_for("HTTPS://Lab.Example.org:7171/") == "roost_abc"
    assert token_for("https://elsewhere.example.org:7171") is None
    assert token_for("/run/roost/roost.sock") is None


def test_a_token_of_the_environment_goes_first(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logins.keep(URL, LOGIN)
    monkeypatch.setenv("ROOST_TOKEN", "roost_env")
    assert token_for(URL) == "roost_env"


def test_one_login_after_the_other(config: Path) -> None:
    logins.keep(URL, LOGIN)
    logins.keep("http://127.0.0.1:1", {**LOGIN, "token": "roost_def"})
    assert logins.default() == "http://127.0.0.1:1"
    assert (logins.token(URL), logins.token("http://127.0.0.1:1")) == ("roost_abc", "roost_def")
    logins.forget("http://127.0.0.1:1")
    assert (logins.default(), logins.token("http://127.0.0.1:1"), logins.token(URL)) == (None, None, "roost_abc")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_file_that_is_open_to_others_is_not_used(config: Path, mode: int) -> None:
    logins.keep(URL, LOGIN)
    config.chmod(mode)
    with pytest.raises(RoostError, match="is open to others and is not used") as refused:
        token_for(URL)
    assert (refused.value.exit_code, "roost_abc" in str(refused.value)) == (77, False)


def test_a_file_of_somebody_else_is_not_used(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logins.keep(URL, LOGIN)
    monkeypatch.setattr(os, "geteuid", lambda: config.stat().st_uid + 1)
    with pytest.raises(RoostError, match="belongs to somebody else"):
        token_for(URL)
    with pytest.raises(RoostError, match="belongs to somebody else"):
        logins.keep(URL, LOGIN)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"default": null}', '{"default": null, "servers": 3}', "\xff"])
def test_a_file_that_is_something_else_is_said_so(config: Path, text: str) -> None:
    logins.keep(URL, LOGIN)
    config.write_text(text, encoding="latin-1")
    with pytest.raises(RoostError, match="is not what `roost login` wrote"):
        logins.kept()


def test_a_write_that_fails_leaves_what_was_there(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    logins.keep(URL, LOGIN)
    before = config.read_text()

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        logins.keep("http://127.0.0.1:1", LOGIN)
    assert config.read_text() == before
    assert [path.name for path in config.parent.iterdir()] == ["tokens.json"]


@pytest.mark.parametrize("text", ["lab.example.org", "/run/roost.sock", "ftp://lab", "https://", "https://ana:x@lab"])
def test_what_is_no_url_of_a_server(text: str) -> None:
    with pytest.raises(ValueError, match="expected a URL like"):
        logins.address_of(text)


def test_the_server_of_a_login_is_meant_where_there_is_no_other(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_foreign()
    logins.keep(URL, LOGIN)
    assert server_address() == URL
    assert is_foreign()
    monkeypatch.setenv("ROOST_SERVER", "http://127.0.0.1:1")
    assert server_address() == "http://127.0.0.1:1"
    monkeypatch.delenv("ROOST_SERVER")
    monkeypatch.setenv("ROOST_HOME", "/data/roost")
    assert server_address() == "/data/roost/roost.sock"
    monkeypatch.delenv("ROOST_HOME")
    here = Path(paths.own_socket_path(uid=1000))
    here.parent.mkdir(parents=True, exist_ok=True)
    here.touch()
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    assert server_address() == str(here)
    assert not is_foreign()


@pytest.mark.parametrize("token", ["a b", "a\r\nX: y", "né", ""])
def test_what_is_no_token_is_never_sent(token: str) -> None:
    if token:
        with pytest.raises(RoostError, match="that is not a token"):
            Connection("http://127.0.0.1:1", token=token)
    head = Connection("http://127.0.0.1:1", token="roost_x")._head("GET", "/", None)
    assert b"\r\nAuthorization: Bearer roost_x\r\n" in head
    assert b"Authorization" not in Connection("http://127.0.0.1:1")._head("GET", "/", None)


def test_links_lead_to_the_server_as_it_is_reached(config: Path) -> None:
    assert Roost(URL).people._reachable("http://127.0.0.1:9/welcome/abc") == f"{URL}/welcome/abc"
    assert Roost("/x.sock").people._reachable("http://127.0.0.1:9/welcome/abc") == "http://127.0.0.1:9/welcome/abc"


@pytest.mark.parametrize(
    ("status", "code", "exit_code"),
    [(401, "not_known", 77), (403, "not_permitted", 77), (429, "too_fast", 75), (429, "over_quota", 2)],
)
def test_the_exit_code_of_a_refusal(status: int, code: str, exit_code: int) -> None:
    assert ApiError(status, code, "no").exit_code == exit_code


def test_what_is_kept_is_json(config: Path) -> None:
    logins.keep(URL, LOGIN)
    assert json.loads(config.read_text()) == {"version": 1, "default": URL, "servers": {URL: LOGIN}}
