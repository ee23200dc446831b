"""What is tried again, at whose cost, after how long, and with how much room."""

from __future__ import annotations

import pytest
from tests.builders import MEM, NOW, cluster, job, node

from roost.core import events as ev
from roost.core.cluster import Cluster
from roost.core.model import Active, Conditions, GpuRules, Request, Stop
from roost.core.plan.retries import Tries, difference, pause_ms, roomier, why_again
from roost.core.states import Outcome

O = Outcome  # noqa: E741


@pytest.mark.parametrize(
    ("outcome", "stop", "asked", "why"),
    [
        (O.SUCCEEDED, None, None, None),
        (O.FAILED, None, None, "retry"),
        (O.LOST, None, None, "retry"),
        (O.KILLED, None, None, "retry"),  # from outside Roost
        (O.KILLED, None, "kill", None),
        (O.OUT_OF_MEMORY, None, None, "oom"),
        (O.TIMED_OUT, None, None, None),
        (O.CANNOT_START, None, None, None),
        (O.FAILED, "kill", None, None),
        (O.OUT_OF_MEMORY, "rm", None, None),
        (O.LOST, "kill", None, None),
        (O.KILLED, "kill", "preempt", None),
        (O.KILLED, "preempt 17", "preempt", "preempt"),
        (O.KILLED, None, "preempt", "preempt"),
        (O.LOST, "preempt", None, "preempt"),
        (O.SUCCEEDED, "preempt", "preempt", None),
        (O.FAILED, "preempt", None, "retry"),  # it had failed before it was told
        (O.TIMED_OUT, "preempt", None, None),
    ],
)
def test_which_ends_are_tried_again(outcome: Outcome, stop: str | None, asked: str | None, why: str | None) -> None:
    assert why_again(outcome, Stop.parse(stop) if stop else None, asked) == why


def test_the_budgets_do_not_pay_for_one_another() -> None:
    tries = Tries(retries=1, retry_oom=1)
    assert tries.after("retry").allow("oom") and not tries.after("retry").allow("retry")
    assert tries.after("oom").allow("retry") and not tries.after("oom").allow("oom")
    assert tries.after("preempt") == tries and Tries().allow("preempt") and not Tries().allow("retry")


def test_the_pause_doubles_up_to_a_minute() -> None:
    pauses = [pause_ms(Tries(retried=n), "retry") for n in range(9)]
    assert pauses == [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000, 60_000]
    assert pause_ms(Tries(retried=3), "preempt") == 1000


def running(here: Cluster, **asked: object) -> Active:
    """A job that asked so and runs on the first GPUs of n1."""
    this = job(1, **asked)  # type: ignore[arg-type]
    gpus = tuple(f"n1-{i}" for i in range(this.shape.request.gpus))
    here.apply(ev.Submitted(1, NOW, this, Conditions(), False))
    here.apply(ev.StartIntended(1, NOW, 1, "n1", gpus))
    return here.active[1]


@pytest.mark.parametrize("asked", [{"mem_mib": 4000}, {"mem_auto": True}, {"mem_mib": 4000, "gpus": 2}])
def test_one_that_shared_is_to_be_alone_first(asked: dict[str, int]) -> None:
    here = cluster(nodes=(node("n1", 2), node("n2", 2, mem_mib=2 * MEM)))
    assert roomier(here, running(here, **asked)) == Request(asked.get("gpus", 1), exclusive=True)


def test_one_in_a_slot_shared_too() -> None:
    here = cluster(nodes=(node("n1", 1), node("n2", 1, mem_mib=2 * MEM)))
    here.apply(ev.GpuRuled("n1-0", GpuRules(slots=2)))
    assert roomier(here, running(here)) == Request(exclusive=True)


def test_one_that_was_alone_wants_a_larger_gpu_if_there_is_one() -> None:
    here = cluster(nodes=(node("n1", 2), node("n2", 1, mem_mib=2 * MEM)))
    assert roomier(here, running(here)) == Request(exclusive=True, min_gpu_mem_mib=MEM + 1)


@pytest.mark.parametrize("asked", [{"gpus": 2}, {"gpu_ids": ("0",), "nodes": ("n1",)}, {"models": ("A100",)}])
def test_otherwise_the_same_again_alone(asked: dict[str, object]) -> None:
    here = cluster(nodes=(node("n1", 2), node("n2", 1, mem_mib=2 * MEM)))
    found = roomier(here, running(here, **asked))
    assert found.exclusive and found.min_gpu_mem_mib is None and found.gpu_ids == asked.get("gpu_ids", ())


def test_a_larger_gpu_that_is_disabled_does_not_count() -> None:
    here = cluster(nodes=(node("n1", 1), node("n2", 1, mem_mib=2 * MEM)))
    here.apply(ev.GpuRuled("n2-0", GpuRules(disabled=True)))
    assert roomier(here, running(here)) == Request(exclusive=True)


def test_the_difference_in_words() -> None:
    assert str(difference(Request(mem_mib=9), Request(exclusive=True))) == "alone on its GPU"
    assert str(difference(Request(2, mem_mib=9), Request(2, exclusive=True))) == "alone on its GPUs"
    larger = difference(Request(), Request(exclusive=True, min_gpu_mem_mib=24_577))
    assert str(larger) == "on a GPU with more than 24 GiB"
    assert difference(Request(exclusive=True), Request(exclusive=True)) is None
