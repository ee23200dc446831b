"""Reasons that name the node, from the very words of the node program."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from roost.node.commands.attach_as import find_account
from roost.node.runs.command import CannotStart, enter, find_command, output_error
from roost.node.state_dir import StateError
from roost.server.rounds.start_errors import name_node


def _words_of(call: object, *arguments: object) -> str:
    with pytest.raises((CannotStart, StateError)) as raised:
        call(*arguments)  # type: ignore[operator]
    return str(raised.value)


def test_a_directory_that_is_not_there() -> None:
    error = _words_of(enter, "/home/nosuch/x")
    perhaps = "is it not shared with that node? copy it there, or name another with --cwd or --node"
    assert name_node(error, "lab3") == f"no such directory on lab3: /home/nosuch/x ({perhaps})"


def test_a_user_without_an_account_there() -> None:
    error = _words_of(find_account, "nosuchperson")
    wanted = "nosuchperson has no account on lab3: have one made there, or choose another node with --node"
    assert name_node(error, "lab3") == wanted
    assert name_node(f"roost-node: {error}", "lab3") == wanted


def test_commands_files_and_interpreters(tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text("#!/no/such/bash\n")
    (tmp_path / "job.sh").chmod(0o755)
    (tmp_path / "plain").touch()
    said = _words_of(find_command, "nosuch", "/bin", "/")
    assert name_node(said, "lab3") == "no such command on lab3: nosuch (not in the PATH there)"
    said = _words_of(find_command, "plain", "/bin", str(tmp_path))
    assert name_node(said, "lab3").endswith("plain (not in the PATH there; there is a file of that name here, try: ./plain)")
    said = _words_of(find_command, "./train.py", "/bin", str(tmp_path))
    assert name_node(said, "lab3").startswith("no such file on lab3: ./train.py (is it not shared")
    said = _words_of(find_command, "./job.sh", "/bin", str(tmp_path))
    assert name_node(said, "lab3") == "no such interpreter on lab3: /no/such/bash, named in the first line of ./job.sh"
    said = _words_of(find_command, "./plain", "/bin", str(tmp_path))
    assert name_node(said, "lab3") == "on lab3: not executable: ./plain (try: chmod +x ./plain)"
    said = _words_of(enter, str(tmp_path / "plain"))
    assert name_node(said, "lab3").startswith(f"not a directory on lab3: {tmp_path}/plain (is it not shared")


def test_output_files() -> None:
    missing = output_error(FileNotFoundError(), "/data/out/1.log")
    wanted = "no such directory on lab3 for the output file: /data/out (is it not shared with that node?"
    assert name_node(missing, "lab3").startswith(wanted)
    there = output_error(FileExistsError(), "/data/1.log")
    assert name_node(there, "lab3").startswith("on lab3: output file exists already: /data/1.log")
    denied = output_error(PermissionError(13, os.strerror(13)), "/data/1.log")
    assert name_node(denied, "lab3") == "permission denied on lab3: output file /data/1.log"


def test_what_has_braces_in_it_stays_as_it_is() -> None:
    assert name_node("no such directory: /x/{0}{node}", "lab3").startswith("no such directory on lab3: /x/{0}{node} (")
