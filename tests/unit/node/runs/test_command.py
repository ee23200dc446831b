"""Filling in, finding, and the variables that a shell would lose."""

from __future__ import annotations

from pathlib import Path

import pytest

from roost.node.gpus.driver import Gpu
from roost.node.runs import command
from roost.node.runs.command import CannotStart, fill, find_command, with_odd_names
from roost.node.runs.environment import Place, build_environment
from roost.node.runs.run_spec import parse_spec


def test_only_what_is_known_is_filled_in() -> None:
    values = {"gpu": "3", "gpus": "3,4"}
    assert fill("--gpu={gpu} {gpus} {x} {} {{gpu}}", values) == "--gpu=3 3,4 {x} {} {3}"
    assert fill("{gpu}", {}) == "{gpu}"


def test_a_port_is_looked_for_only_where_it_is_used() -> None:
    gpus = [Gpu("u", 2, "", 0, False)]
    assert command.fill_values("7.3", gpus, ["x"]) == {"gpus": "2", "gpu": "2", "job": "7"}
    assert command.fill_values("7.3", [], ["{port}"])["port"].isdigit()


def test_names_that_no_shell_knows_are_put_on_behind_it_and_seen_by_nobody() -> None:
    argv, environment = with_odd_names(["a=b", "c"], {"PATH": "/bin", "f%%": "() { :; }"})
    assert argv[-2:] == ["a=b", "c"] and "f%%" not in " ".join(argv)
    assert environment == b"PATH=/bin\0f%%=() { :; }"
    assert with_odd_names(["x"], {"A": "1"}) == (["x"], None)


def test_a_command_is_found_along_the_path(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    program = tmp_path / "two" / "tool"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    search = f"{tmp_path}/one:{tmp_path}/two"
    assert find_command("tool", search, "/") == str(program)
    program.unlink()
    with pytest.raises(CannotStart, match=r"attempt\.no_command.*tool"):
        find_command("tool", search, "/")
    assert find_command("./x", "", str(_script(tmp_path / "x"))) == f"{tmp_path}/x/./x"


def _script(folder: Path) -> Path:
    folder.mkdir()
    (folder / "x").write_text("echo\n")
    (folder / "x").chmod(0o755)
    return folder


def test_the_environment_has_an_order_of_right() -> None:
    given = {"A": "env", "HOME": "/h", "_": "x", "ROOST_SIM_DIR": "old"}
    spec = parse_spec({"argv": ["x"], "env": given, "vars": {"A": "vars"}})
    env = build_environment(spec, [], Place("n", "id:1.1", "/r", None))
    assert (env["A"], env["HOME"], env["PWD"], env["ROOST_RUN"]) == ("vars", "/h", "/", "id:1.1")
    assert not {"_", "ROOST_SIM_DIR", "ROOST_PID"} & set(env)
    assert env["PATH"] and env["USER"]
