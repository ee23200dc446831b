"""docs/explanation/tour.md follows a job through the code; every function that it names exists where it says."""

from __future__ import annotations

import importlib
import re

import pytest
from tests.docs.pages import ROOT, read

MIN_STOPS = 15
STOP = re.compile(r"^`(src/[^`]+\.py)` · `([^`]+)`$", re.MULTILINE)


def stops(text: str) -> list[tuple[str, str]]:
    """The stops of the tour: lines with a file and a function or class in it, and nothing else."""
    return STOP.findall(text)


def problem(path: str, name: str) -> str | None:
    """What is wrong with a stop."""
    if not (ROOT / path).is_file():
        return f"{path}: no such file"
    parts = path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").split("/")
    found: object = importlib.import_module(".".join(parts))
    module = found
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        return f"{path}: no function {name}"
    if getattr(found, "__module__", None) != getattr(module, "__name__", ""):
        return f"{path}: {name} is imported there; it is in {getattr(found, '__module__', None)}"
    return None


def test_every_stop_exists() -> None:
    found = stops(read("docs/explanation/tour.md"))
    assert [line for line in (problem(*stop) for stop in found) if line] == []
    assert len(found) >= MIN_STOPS
    assert len(set(found)) == len(found)


def test_every_path_and_function_of_the_page_is_part_of_a_stop() -> None:
    """A line that is nearly a stop would not be checked."""
    text = read("docs/explanation/tour.md")
    assert text.count("`src/") == len(stops(text))


@pytest.mark.parametrize(
    ("path", "name", "wrong"),
    [
        ("src/roost/store/store.py", "Store.commit", None),
        ("src/roost/cli/__init__.py", "main", None),
        ("src/roost/store/nowhere.py", "Store", "src/roost/store/nowhere.py: no such file"),
        ("src/roost/store/store.py", "Store.nothing", "src/roost/store/store.py: no function Store.nothing"),
        (
            "src/roost/store/store.py",
            "Batch",
            "src/roost/store/store.py: Batch is imported there; it is in roost.store.writes",
        ),
    ],
)
def test_a_stop_that_is_wrong_is_told(path: str, name: str, wrong: str | None) -> None:
    assert problem(path, name) == wrong


def test_only_whole_lines_are_stops() -> None:
    assert stops("`src/a.py` · `f`\n: text `src/b.py` · `g`\n`src/c.py`, `h`\n") == [("src/a.py", "f")]
