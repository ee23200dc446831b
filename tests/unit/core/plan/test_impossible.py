"""What can never run is refused, with the most there is."""

from __future__ import annotations

import pytest
from tests.builders import MEM, cluster, node

from roost.core import events as ev
from roost.core.cluster import Cluster
from roost.core.model import GpuRules, Request
from roost.core.plan.placement import impossible
from roost.messages import Message


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (Request(99), "99 GPUs requested; this machine has 4"),
        (Request(1, mem_mib=MEM + 1), f"the largest GPU has {MEM} MiB"),
        (Request(1, gpu_ids=("7",)), "there is no GPU 7; GPUs: n1:0"),
        (Request(2, gpu_ids=("1",)), "only 1 of those named"),
        (Request(1, models=("H100",)), "1 GPU requested (model H100); 0 of 4 × "),
        (Request(5, min_gpu_mem_mib=1), "5 GPUs requested (at least 1 MiB of memory); 4 of 4 × "),
    ],
)
def test_one_line_says_what_there_is(request_: Request, words: str) -> None:
    found = impossible(cluster(gpus=4), request_)
    assert found is not None and words in str(found)


@pytest.mark.parametrize("request_", [Request(4), Request(0), Request(1, mem_mib=MEM), Request(1, gpu_ids=("n1:3",))])
def test_what_fits_an_empty_cluster_is_possible(request_: Request) -> None:
    assert impossible(cluster(gpus=4), request_) is None


def test_the_largest_node_counts_not_the_sum() -> None:
    found = impossible(cluster(nodes=[node("n1", 2), node("n2", 3)]), Request(4))
    assert found == Message("gpu.too_many", asked=4, largest=3)


def test_a_node_that_is_not_there() -> None:
    few = impossible(cluster(nodes=[node("n2", 2), node("n1", 3)]), Request(1, nodes=("n9",)))
    assert few == Message("node.unknown", node="n9", known=["n1", "n2"])
    many = impossible(cluster(nodes=[node(f"n{number}", 1) for number in range(30)]), Request(1, nodes=("lab",)))
    assert many is not None and str(many).endswith("n14, n15 and 22 more")


def test_many_nodes_without_a_gpu() -> None:
    found = impossible(cluster(nodes=[node("n1", 0), node("n2", 0)]), Request(1))
    assert found == Message("gpu.none")


def test_a_disabled_gpu_does_not_count_and_a_drained_one_does() -> None:
    here = cluster(gpus=2)
    here.apply(ev.GpuRuled("n1-0", GpuRules(drained=True)))
    assert impossible(here, Request(2)) is None
    here.apply(ev.GpuRuled("n1-0", GpuRules(disabled=True)))
    assert impossible(here, Request(2)) is not None


def test_without_any_node_nothing_can_run() -> None:
    assert impossible(Cluster(), Request(0)) is not None
    assert impossible(Cluster(), Request(1)) is not None
