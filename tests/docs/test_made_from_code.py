"""Pages that are made from tables, or must agree with them."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from tests.docs.pages import ROOT, code_spans, read

from roost.api.app import document
from roost.core.reasons import Reason
from roost.core.settings import TABLE as SETTINGS
from roost.core.spec import JobSpec
from roost.core.states import TABLE as STATES
from roost.core.states import Outcome, State


@pytest.mark.parametrize("tool", ["cli_reference", "openapi_file", "settings_page", "state_chart"])
def test_a_made_page_is_current(tool: str) -> None:
    command = [sys.executable, str(ROOT / "tools" / f"{tool}.py"), "--check"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=ROOT)
    assert (ran.returncode, ran.stdout + ran.stderr) == (0, "")


def test_the_chart_is_the_table() -> None:
    chart = re.search(r"```mermaid\n(.*?)```", read("docs/explanation/architecture.md"), re.S)
    assert chart is not None
    drawn = set(re.findall(r"^ +(\w+) --> (\w+): (.+)$", chart[1], re.M))
    assert drawn == {(before.value, after.value, change.value) for (before, change), after in STATES.items()}


@pytest.mark.parametrize("page", ["docs/reference/glossary.md", "docs/explanation/architecture.md"])
def test_every_outcome_is_named(page: str) -> None:
    text = read(page)
    assert [o.value for o in Outcome if o.value not in text] == []


def test_every_state_and_outcome_is_explained() -> None:
    glossary, help_page = read("docs/reference/glossary.md"), read("docs/how-to/troubleshooting.md")
    assert [s.value for s in State if s.value not in glossary] == []
    ended_badly = [o.value for o in Outcome if o is not Outcome.SUCCEEDED]
    assert [o for o in ended_badly if f"| `{o}` |" not in help_page] == []


def test_settings_that_pages_name_exist() -> None:
    known = {row.key for row in SETTINGS}
    groups = {key.partition(".")[0] for key in known if "." in key}
    for page in (
        "README.md",
        "docs/how-to/troubleshooting.md",
        "docs/reference/api.md",
        "docs/design/0005-logs-are-bounded-by-holes.md",
    ):
        named = {span for span in code_spans(read(page)) if re.fullmatch(r"[a-z]+\.[a-z_]+", span)}
        assert {name for name in named if name.partition(".")[0] in groups} <= known


def test_every_route_is_in_the_api_page() -> None:
    page = read("docs/reference/api.md")
    paths = document()["paths"]
    routes = [
        f"{method.upper()} {path.removeprefix('/api/v1').replace('{job}', '{id}')}"
        for path, methods in paths.items()
        for method in methods
    ]
    assert [route for route in routes if not re.search(re.escape(f"`{route}") + r"[`?]", page)] == []
    named = re.findall(r"`((?:GET|POST|PUT|DELETE) /[^`? ]*)", page)
    assert [route for route in named if route not in routes] == []


def test_every_key_of_a_job_and_every_reason_is_in_the_api_page() -> None:
    spans = set(code_spans(read("docs/reference/api.md")))
    assert [key for key in JobSpec.__struct_fields__ if key not in spans] == []
    assert [code for code in _codes(Reason) if code not in spans] == []


def _codes(kind: type[Reason]) -> list[str]:
    below = kind.__subclasses__()
    own = kind.__struct_config__.tag
    return [str(own)] * (not below and own is not None) + [code for each in below for code in _codes(each)]
