"""A machine whose node program never answered is not said to have no GPU."""

from __future__ import annotations

from roost.core import events as ev
from roost.core.cluster import Cluster
from roost.core.model import Request
from roost.core.plan.placement import impossible


def test_what_is_not_known_is_not_denied() -> None:
    here = Cluster()
    here.node("vm")
    said = impossible(here, Request(gpus=1))
    assert said is not None and (said.code, said.params) == ("gpu.none_known", {"nodes": ["vm"]})
    here.apply(ev.NodeSeen("vm", 2, 1000, ()))
    here.apply(ev.NodeAttached("vm"))
    said = impossible(here, Request(gpus=1))
    assert said is not None and said.code == "gpu.none_here"
