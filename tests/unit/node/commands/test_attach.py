"""Starting a daemon: a failure is reported with its cause."""

from __future__ import annotations

from pathlib import Path

from roost.node.commands.attach import start_daemon


def test_a_program_that_is_not_there_is_said() -> None:
    assert start_daemon(["/nonexistent/python"]).startswith("the node program cannot be started: [Errno 2] No such file")


def test_a_program_that_may_not_be_run_is_said(tmp_path: Path) -> None:
    (tmp_path / "python").write_text("")
    assert "Permission denied" in start_daemon([str(tmp_path / "python")])
