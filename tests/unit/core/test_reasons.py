"""The words of every reason."""

from __future__ import annotations

import msgspec
import pytest

from roost.answers.reasons import shown
from roost.core import reasons as r
from roost.core.model import Claimant, Process

HOLDERS = tuple(r.Holder(i, "ada", "running") for i in range(1, 7))
PROC = Process(7, "eve", "python", 100)
EVERY: list[tuple[r.Reason, str]] = [
    (r.Held(), "held: it waits for `roost release`"),
    (r.SchedulingPaused(), "scheduling is paused: `roost scheduler resume` goes on"),
    (r.WaitsForJob(job=3, wants="success", state="running"), "waits for job 3 to succeed (it is running)"),
    (r.NotBefore(begin_ms=5, left_s=9), "not before its begin time, in 9 s"),
    (r.NotBefore(begin_ms=5, left_s=9, attempts=1), "pauses for 9 s before attempt 2"),
    (r.NodeAway(node="n", why="cut"), "n cannot be reached: cut"),
    (r.NodeIsDrained(node="n"), "n is drained: `roost undrain n` opens it"),
    (r.CpuSlots(node="n", slots=2, holders=HOLDERS[:1]), "all 2 CPU slots of n are taken by job 1 of ada"),
    (r.GpuTaken(gpu="n:0", slots=1, holders=HOLDERS[:2]), "GPU n:0 is taken by job 1 of ada, job 2 of ada"),
    (
        r.GpuTaken(gpu="n:0", slots=6, holders=HOLDERS),
        "GPU n:0 has all 6 slots taken by job 1 of ada, job 2 of ada, job 3 of ada, job 4 of ada and 2 more",
    ),
    (r.GpuForeign(gpu="n:0", procs=(PROC,)), "GPU n:0 is used by others: pid 7 of eve, 100 MiB: python"),
    (r.GpuBusy(gpu="n:0", util=None, max_util=5), "GPU n:0 does not report its utilization, at most 5 % was asked"),
    (r.GpuFault(gpu="n:0", fault="ECC"), "GPU n:0 is set aside: ECC"),
    (r.GpuClaimed(gpu="n:0", by=Claimant("bo", 4711)), "GPU n:0 is claimed by bo's Roost (pid 4711)"),
    (r.GpuClaimed(gpu="n:0", by=Claimant("somebody")), "GPU n:0 is claimed by somebody's Roost"),
    (r.GpuUnknown(gpu="n:0"), "GPU n:0 has not been read yet"),
    (r.GpuClosed(gpu="n:0", how="disabled"), "GPU n:0 is disabled: `roost gpu enable n:0` opens it"),
    (r.NoNodes(), "no node is known yet"),
    (r.Ahead(jobs=0), "it would fit now: it starts in a moment"),
    (r.Ahead(jobs=1), "1 job is ahead of it"),
    (r.Ahead(jobs=3), "3 jobs are ahead of it"),
    (r.Ahead(jobs=None), "many jobs are ahead of it"),
]


@pytest.mark.parametrize(("reason", "words"), EVERY, ids=[type(reason).__name__ for reason, _ in EVERY])
def test_the_words(reason: r.Reason, words: str) -> None:
    assert reason.text() == words
    data = msgspec.to_builtins(shown(reason))
    assert data["text"] == words and {**data, "text": 0} == {"text": 0, **msgspec.to_builtins(reason)}


def test_every_reason_has_a_code_of_its_own() -> None:
    def all_below(kind: type[r.Reason]) -> list[type[r.Reason]]:
        return [leaf for sub in kind.__subclasses__() for leaf in ([sub] if not sub.__subclasses__() else all_below(sub))]

    codes = [kind.__struct_config__.tag for kind in all_below(r.Reason)]
    assert len(codes) == len(set(codes))
