"""Why an attempt ended, from the very codes of the node program: with the node in it, in both languages."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from roost.messages import Message, render
from roost.node.commands.attach_as import find_account
from roost.node.runs.command import CannotStart, enter, find_command, output_error
from roost.node.runs.sayings import said
from roost.node.state_dir import StateError
from roost.server.rounds.start_errors import believed, with_node


def _error_of(call: object, *arguments: object) -> str:
    with pytest.raises((CannotStart, StateError)) as raised:
        call(*arguments)  # type: ignore[operator]
    return str(raised.value)


def shown(error: str | None, node: str = "lab3") -> str:
    """What people read of an attempt on another machine."""
    assert error is not None
    return str(Message.of_text(with_node(error, node)))


def test_a_directory_that_is_not_there() -> None:
    error = _error_of(enter, "/home/nosuch/x")
    perhaps = "is it not shared with that node? copy it there, or name another with --cwd or --node"
    assert shown(error) == f"on lab3: no such directory: /home/nosuch/x ({perhaps})"
    assert str(Message.of_text(believed(error) or "")) == "no such directory: /home/nosuch/x"
    assert "目录不存在：/home/nosuch/x" in render(Message.of_text(with_node(error, "lab3")), "zh")


def test_a_user_without_an_account_there() -> None:
    error = _error_of(find_account, "nosuchperson")
    wanted = "nosuchperson has no account on lab3: have one made there, or choose another node with --node"
    assert shown(error) == wanted
    assert shown(f"roost-node: {error}") == wanted


def test_commands_files_and_interpreters(tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text("#!/no/such/bash\n")
    (tmp_path / "job.sh").chmod(0o755)
    (tmp_path / "plain").touch()
    error = _error_of(find_command, "nosuch", "/bin", "/")
    assert shown(error) == "on lab3: no such command: nosuch (not in PATH)"
    error = _error_of(find_command, "plain", "/bin", str(tmp_path))
    assert shown(error).endswith("plain (not in PATH; there is a file of that name here, try: ./plain)")
    error = _error_of(find_command, "./train.py", "/bin", str(tmp_path))
    assert shown(error).startswith("on lab3: no such file: ./train.py (is it not shared")
    error = _error_of(find_command, "./job.sh", "/bin", str(tmp_path))
    assert shown(error) == "on lab3: no such interpreter: /no/such/bash, named in the first line of ./job.sh"
    error = _error_of(find_command, "./plain", "/bin", str(tmp_path))
    assert shown(error) == "on lab3: not executable: ./plain (try: chmod +x ./plain)"
    error = _error_of(enter, str(tmp_path / "plain"))
    assert shown(error).startswith(f"on lab3: not a directory: {tmp_path}/plain (is it not shared")


def test_output_files() -> None:
    missing = str(output_error(FileNotFoundError(), "/data/out/1.log"))
    assert shown(missing).startswith("on lab3: no such directory for the output file: /data/out (is it not shared with that")
    there = str(output_error(FileExistsError(), "/data/1.log"))
    assert shown(there).startswith("on lab3: output file exists already: /data/1.log")
    denied = str(output_error(PermissionError(13, os.strerror(13)), "/data/1.log"))
    assert shown(denied) == "on lab3: permission denied: output file /data/1.log"


def test_what_has_braces_in_it_or_is_no_text_stays_readable() -> None:
    assert shown(_error_of(enter, "/x/{0}{node}")).startswith("on lab3: no such directory: /x/{0}{node} (")
    assert shown(said("attempt.no_directory", path="/x/\udc80")).startswith("on lab3: no such directory: /x/? (")


def test_a_text_of_an_earlier_release_stands_as_it_is() -> None:
    assert shown("no such directory: /x") == "on lab3: no such directory: /x"
    assert believed("CUDA out of memory (from the log): x") == "CUDA out of memory (from the log): x"


@pytest.mark.parametrize(
    "error",
    [
        '{"code":"reason.all","params":{"reasons":["x"]}}',
        '{"code":"attempt.no_file","params":{"path":{"code":"login.weak","params":{}}}}',
        '{"code":"attempt.no_file","params":{"path":["a","b"]}}',
        '{"code":"attempt.no_file"',
    ],
)
def test_a_node_puts_no_other_words_into_the_servers_mouth(error: str) -> None:
    assert str(Message.of_text(believed(error) or "")) == error and shown(error) == f"on lab3: {error}"
