"""The policy that the documents show is one: named by the server, switched to live, used by the plan."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.builders import NOW, cluster, job
from tests.contract.conftest import Api
from tests.docs.pages import read

from roost.core import events as ev
from roost.core import policy
from roost.core.plan.planner import plan
from roost.core.settings import TABLE
from roost.links import messages as m

PAGE = "docs/explanation/policies.md"


@pytest.fixture
def narrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The page's example as a file beside the policies there are; its text."""
    (text,) = re.findall(r"^```python\n(.*?)^```", read(PAGE), re.M | re.S)
    (tmp_path / "narrow.py").write_text(text)
    monkeypatch.setattr(policy, "__path__", [*policy.__path__, str(tmp_path)])
    yield text
    sys.modules.pop("roost.core.policy.narrow", None)
    vars(policy).pop("narrow", None)


def test_it_has_twenty_lines_at_most(narrow: str) -> None:
    assert len(narrow.splitlines()) <= 20


async def test_the_server_names_it_and_switches_to_it(narrow: str, api: Api) -> None:
    assert "narrow" in (await api.get("/policy"))["policies"]
    answer = await api.call("PUT", "/policy", {"policy": "narrow"})
    assert answer.status == 200 and (await api.get("/policy"))["policy"] == "narrow"
    held = await api.submit(gpus=2)
    wide, one = await api.submit(gpus=2), await api.submit(gpus=1)
    await api.tell(m.RunExited(f"{held}.1", 0, 0, None, pid=77, started_ms=0))
    assert one in api.server.engine.cluster.active and wide in api.server.engine.cluster.jobs


def test_the_plan_uses_it(narrow: str) -> None:
    here = cluster(job(1, gpus=2), job(2), job(3), gpus=2)
    assert [found.job.id for found in plan(here, NOW).starts] == [1]
    here.apply(ev.SettingChanged("policy", "narrow"))
    assert [found.job.id for found in plan(here, NOW).starts] == [2, 3]
    younger = msgspec.structs.replace(job(4), submitted_ms=NOW + 60_000)
    late = cluster(job(1, gpus=2), younger, gpus=2)
    late.apply(ev.SettingChanged("policy", "narrow"))
    assert [found.job.id for found in plan(late, NOW + 86_400_000).starts] == [1]


def test_every_policy_and_every_setting_of_theirs_is_on_the_page() -> None:
    page = read(PAGE)
    assert [name for name in policy.names() if f"| `{name}` |" not in page] == []
    assert [row.key for row in TABLE if row.key.startswith("policy") and f"| `{row.key}` |" not in page] == []
