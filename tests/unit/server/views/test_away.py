"""When a job is shown as unknown: its node has been away for a moment, whatever was done to the clock meanwhile."""

from __future__ import annotations

import pytest

from roost.core.cluster import Cluster
from roost.core.nodes import Node
from roost.server.views.job_views import AWAY_MS, shown_state

NOW = 1_800_000_000_000


@pytest.mark.parametrize(
    ("since_ms", "shown"), [(0, "running"), (AWAY_MS - 1, "running"), (AWAY_MS, "unknown"), (-7_200_000, "unknown")]
)
def test_a_job_of_a_node_that_is_away_is_unknown(since_ms: int, shown: str) -> None:
    cluster = Cluster()
    cluster.nodes["far"] = Node("far", away_ms=NOW - since_ms)
    assert shown_state(cluster, "running", "far", NOW)[0] == shown
