"""What logind and sshd are set to, from their own words."""

from __future__ import annotations

import pytest

from roost.node.commands.login_sessions import kills, parse_logind, parse_max_sessions
from roost.node.system.home_dir import find_file_system

FILE = "[Login]\n#KillUserProcesses=yes\nKillUserProcesses = yes\nKillExcludeUsers=root lab\n; RemoveIPC=yes\nNAutoVTs=6\n"


def test_settings_are_read_and_comments_are_not() -> None:
    assert parse_logind(FILE) == {"KillUserProcesses": "yes", "KillExcludeUsers": "root lab"}
    assert parse_logind("KillUserProcesses=yes\nKillUserProcesses=no\n") == {"KillUserProcesses": "no"}


@pytest.mark.parametrize(
    ("values", "login", "is_killed"),
    [
        ({}, "ana", False),
        ({"KillUserProcesses": "no"}, "ana", False),
        ({"KillUserProcesses": "yes"}, "ana", True),
        ({"KillUserProcesses": "1"}, "ana", True),
        ({"KillUserProcesses": "yes"}, "root", False),
        ({"KillUserProcesses": "yes", "KillExcludeUsers": ""}, "root", True),
        ({"KillUserProcesses": "yes", "KillExcludeUsers": "root ana"}, "ana", False),
        ({"KillUserProcesses": "yes", "KillOnlyUsers": "bo"}, "ana", False),
        ({"KillUserProcesses": "yes", "KillOnlyUsers": "bo ana"}, "ana", True),
        ({"KillUserProcesses": "yes"}, None, True),
    ],
)
def test_whose_processes_end_with_the_session(values: dict[str, str], login: str | None, is_killed: bool) -> None:
    assert kills(values, login) is is_killed


def test_sessions_of_one_connection() -> None:
    assert parse_max_sessions(["# MaxSessions 3\n", "Port 22\n"]) == 10
    assert parse_max_sessions(["maxsessions 4\n", "MaxSessions 5\n"]) == 4
    assert parse_max_sessions(["Match User ana\nMaxSessions 1\n", "MaxSessions=7\n"]) == 7


def test_the_file_system_of_a_path_is_that_of_the_last_longest_mount() -> None:
    mounts = (
        "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n"
        "2 1 0:50 / /home rw shared:1 - autofs systemd rw\n"
        "3 2 0:51 / /home rw shared:2 - nfs4 files:/home rw\n"
        "4 1 0:52 / /home/an\\040a rw - tmpfs tmpfs rw\n"
        "nonsense\n"
    )
    assert find_file_system(mounts, "/home/ana") == "nfs4"
    assert find_file_system(mounts, "/home/an a/x") == "tmpfs"
    assert find_file_system(mounts, "/homes") == "ext4"
    assert find_file_system("", "/") is None
