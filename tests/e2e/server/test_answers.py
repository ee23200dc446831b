"""The servers of these tests check every answer that they give, also those for the command line (`tests/checked`)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.box import ROOT, Box


@pytest.fixture
def doubtful(tmp_path: Path) -> Iterator[Box]:
    """A server whose document does not know that a job has a story."""
    document = json.loads((ROOT / "docs" / "openapi.json").read_text(encoding="utf-8"))
    del document["components"]["schemas"]["JobShown"]["properties"]["story"]
    document["components"]["schemas"]["JobShown"]["required"].remove("story")
    (tmp_path / "openapi.json").write_text(json.dumps(document))
    box = Box()
    box.env["TESTS_DOCUMENT"] = str(tmp_path / "openapi.json")
    try:
        yield box.up()
    finally:
        box.close()


def test_a_field_that_is_sent_to_the_command_line_and_not_declared_fails(doubtful: Box) -> None:
    job = doubtful.submit("-g", "0", "true")
    assert "is not what docs/openapi.json says" in doubtful.refused(70, "show", job)
    assert "'story' was unexpected" in (doubtful.home / "server.log").read_text()
    assert f" {job} " in doubtful.do("ls", "--all")
