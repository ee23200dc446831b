from __future__ import annotations

from pathlib import Path

from roost.client import paths
from roost.client.server_api import is_foreign, server_address


def test_roost_home_puts_everything_in_one_place() -> None:
    env = {"ROOST_HOME": "/data/roost", "XDG_RUNTIME_DIR": "/run/user/1", "HOME": "/home/ana"}
    assert paths.home(env, uid=1) == "/data/roost"
    assert paths.socket_path(env, uid=0) == "/data/roost/roost.sock"


def test_root_has_the_system_directories() -> None:
    assert paths.home({}, uid=0) == "/var/lib/roost"
    assert paths.socket_path({}, uid=0) == "/run/roost/roost.sock"


def test_a_user_has_the_xdg_directories(tmp_path: Path) -> None:
    env = {"HOME": "/home/ana", "XDG_RUNTIME_DIR": str(tmp_path)}
    assert paths.home(env, uid=1000) == "/home/ana/.local/state/roost"
    assert paths.socket_path(env, uid=1000) == f"{tmp_path}/roost/roost.sock"
    assert paths.home({**env, "XDG_STATE_HOME": "/big"}, uid=1000) == "/big/roost"


def test_without_a_runtime_directory_the_socket_is_with_the_state() -> None:
    env = {"HOME": "/home/ana", "XDG_RUNTIME_DIR": "/no/such/directory"}
    assert paths.socket_path(env, uid=1000) == "/home/ana/.local/state/roost/roost.sock"


def test_a_named_server_wins_and_is_not_ours() -> None:
    env = {"ROOST_HOME": "/data/roost", "ROOST_SERVER": "http://127.0.0.1:7171"}
    assert server_address(env) == "http://127.0.0.1:7171"
    assert is_foreign(env)
    assert not is_foreign({"ROOST_HOME": "/data/roost"})
