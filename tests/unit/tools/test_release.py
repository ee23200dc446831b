"""What a release is made from: one version, and a Debian package for several versions of Python."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

import pytest
from tools import deb

import roost

ROOT = Path(__file__).parents[3]


def test_the_version_is_written_in_one_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["dynamic"] == ["version"] and "version" not in project["project"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/roost/__init__.py"


def test_the_newest_changes_are_those_of_this_version() -> None:
    newest = re.search(r"^## (\S+?),? ", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None and newest[1] == roost.__version__


@pytest.mark.parametrize(
    ("python", "debian"),
    [("1.2.3", "1.2.3"), ("1.0rc1", "1.0~rc1"), ("1.0a2", "1.0~a2"), ("1.0.dev3", "1.0~dev3"), ("1.0.post1", "1.0.post1")],
)
def test_a_release_candidate_sorts_before_its_release(python: str, debian: str) -> None:
    assert deb.debian_version(python) == debian


def files(folder: Path, **texts: str) -> Path:
    """A folder with these files; two underscores stand for a slash."""
    for name, text in texts.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_packages_for_two_pythons_are_merged(tmp_path: Path) -> None:
    deb.merge(files(tmp_path / "a", pkg__code="same", pkg__of_a="a"), tmp_path / "all")
    deb.merge(files(tmp_path / "b", pkg__code="same", pkg__of_b="b"), tmp_path / "all")
    assert {path.name for path in (tmp_path / "all" / "pkg").iterdir()} == {"code", "of_a", "of_b"}


def test_a_file_that_differs_between_two_pythons_stops_the_build(tmp_path: Path) -> None:
    deb.merge(files(tmp_path / "a", pkg__code="for one"), tmp_path / "all")
    with pytest.raises(SystemExit, match="pkg/code differs"):
        deb.merge(files(tmp_path / "b", pkg__code="for the other"), tmp_path / "all")


def test_the_installers_notes_may_differ(tmp_path: Path) -> None:
    for name in ("a", "b"):
        made = files(tmp_path / name / "pkg.dist-info", RECORD=name)
        deb.merge(made.parent, tmp_path / "all")
    assert (tmp_path / "all" / "pkg.dist-info" / "RECORD").read_text() == "a"


# --- hooks and workflows ---

HABITS = (".pre-commit-config.yaml", *(f".github/workflows/{name}.yml" for name in ("checks", "release")))


@pytest.mark.parametrize("name", HABITS)
def test_hooks_and_workflows_call_what_there_is(name: str) -> None:
    text, makefile = (ROOT / name).read_text(), (ROOT / "Makefile").read_text()
    tools = re.findall(r"(?:entry|run): (tools/\w+)", text)
    goals = re.findall(r"(?:entry|run): (?:sudo .*)?make (\w+)", text)
    assert tools or goals
    assert [tool for tool in tools if not os.access(ROOT / tool, os.X_OK)] == []
    assert [goal for goal in goals if not re.search(rf"^{goal}:", makefile, re.MULTILINE)] == []
