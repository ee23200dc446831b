"""The sentence of every reason."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from roost.answers.encoding import encode
from roost.answers.reasons import shown, text_of
from roost.core import reasons as r
from roost.core.model import UNKNOWN_USER, Claimant, Process
from roost.messages import render

HOLDERS = tuple(r.Holder(i, "ada", "running") for i in range(1, 7))
PROC = Process(7, "eve", "python", 100)
EVERY: list[tuple[r.Reason, str]] = [
    (r.Held(), "waiting for `roost release`"),
    (r.Recalling(node="lab3"), "waits for lab3: the server was restored from a backup, and this job may run there"),
    (r.SchedulingPaused(), "scheduling is paused; continue with `roost scheduler resume`"),
    (r.WaitsForJob(job=3, wants="any", state="queued"), "waits for job 3 to end (it is queued)"),
    (r.WaitsForJob(job=3, wants="success", state="running"), "waits for job 3 to succeed (it is running)"),
    (r.WaitsForJob(job=3, wants="failure", state="running"), "waits for job 3 to fail (it is running)"),
    (r.NotBefore(begin_ms=5, left_s=9), "starts after its begin time, in 9 s"),
    (r.NotBefore(begin_ms=5, left_s=90, attempts=1), "waits 1 min 30 s before attempt 2"),
    (r.NodeUnreachable(node="n", why="cut"), "n cannot be reached: cut"),
    (r.NodeBarred(node="n", why="no account"), "n cannot run it: no account"),
    (r.AccountClosed(account="ada", state="locked"), "the UNIX account ada is locked; unlock it with `usermod -U ada`"),
    (r.AccountClosed(account="ada", state="expired"), "the UNIX account ada has expired; reopen it with `chage -E -1 ada`"),
    (r.AccountClosed(account="ada", state="refused"), "PAM does not let the UNIX account ada in (its account phase)"),
    (r.AccountClosed(account="ada", state="unknown"), "checking whether the UNIX account ada may run jobs"),
    (r.NodeDrained(node="n"), "n is drained; reopen it with `roost undrain n`"),
    (r.NodeHeld(node="n", job=3, until_ms=9), "n is held for job 3, which needs more GPUs at once and has waited long"),
    (
        r.QuotaReached(user="ada", what="GPUs", has=2, most=2),
        "ada is at their limit of 2 GPUs (2 in use; see `roost user show ada`)",
    ),
    (
        r.QuotaReached(user="ada", what="GPUs", has=0, most=2, asked=3),
        "needs 3 GPUs, above the limit of ada, 2 (see `roost user show ada`)",
    ),
    (
        r.QuotaReached(user="ada", what="jobs", has=4, most=4),
        "ada is at their limit of running jobs (4 of 4; see `roost user show ada`)",
    ),
    (r.QuotaReached(user="ada", what="jobs", has=0, most=0), "ada may run no jobs (limit 0; see `roost user show ada`)"),
    (
        r.SweepFull(sweep=3, running=4, most=4),
        "sweep 3 is at its limit (4 of 4 running); change it with `roost sweep limit 3 N`",
    ),
    (r.BehindUser(user="bo"), "jobs of bo go first (negative weight), and one of them is waiting"),
    (
        r.HostMemory(node="n", available_mib=512, floor_mib=2048),
        "n has 512 MiB of memory available, below the minimum of 2 GiB (safety.host_mem)",
    ),
    (r.CpuSlots(node="n", slots=2), "all 2 CPU slots of n are in use"),
    (r.CpuSlots(node="n", slots=2, holders=HOLDERS[:1]), "all 2 CPU slots of n are in use by job 1 of ada"),
    (r.TooFewGpus(node="n", asked=4, free=3, total=4), "needs 4 free GPUs on n; 3 of 4 are free"),
    (r.TooFewGpus(node="n", asked=1, free=0, total=4), "needs 1 free GPU on n; 0 of 4 are free"),
    (r.GpuTaken(gpu="n:0", slots=1, holders=()), "GPU n:0 is in use"),
    (r.GpuTaken(gpu="n:0", slots=1, holders=HOLDERS[:2]), "GPU n:0 is in use by job 1 of ada, job 2 of ada"),
    (
        r.GpuTaken(gpu="n:0", slots=6, holders=HOLDERS),
        "all 6 slots of GPU n:0 are in use by job 1 of ada, job 2 of ada, job 3 of ada, job 4 of ada, 2 more jobs",
    ),
    (r.GpuForeign(gpu="n:0", procs=(PROC,)), "GPU n:0 is used by processes outside Roost: pid 7 of eve (100 MiB, python)"),
    (
        r.GpuMemory(gpu="n:0", asked_mib=8192, free_mib=512, total_mib=24576),
        "GPU n:0 has 512 MiB of 24 GiB free, 8 GiB needed",
    ),
    (
        r.GpuMemory(gpu="n:0", asked_mib=8192, free_mib=512, total_mib=24576, holders=HOLDERS[:1], procs=(PROC,)),
        "GPU n:0 has 512 MiB of 24 GiB free, 8 GiB needed; in use by job 1 of ada, pid 7 of eve (100 MiB, python)",
    ),
    (
        r.GpuMemory(gpu="n:0", asked_mib=8192, free_mib=16384, total_mib=24576, floor_mib=12288),
        "GPU n:0 has 16 GiB of 24 GiB free; 8 GiB needed, and 12 GiB must stay free (safety.gpu_mem)",
    ),
    (
        r.GpuMemory(gpu="n:0", asked_mib=8192, free_mib=9216, total_mib=24576, floor_mib=12288, holders=HOLDERS[:1]),
        "GPU n:0 has 9 GiB of 24 GiB free; 8 GiB needed, and 12 GiB must stay free (safety.gpu_mem); in use by job 1 of ada",
    ),
    (r.GpuBusy(gpu="n:0", util=50, max_util=5), "GPU n:0 is 50 % busy; this job accepts at most 5 %"),
    (r.GpuBusy(gpu="n:0", util=None, max_util=5), "GPU n:0 does not report its utilization; this job accepts at most 5 %"),
    (r.GpuFault(gpu="n:0", fault="ECC"), "GPU n:0 is out of service: ECC"),
    (r.GpuClaimed(gpu="n:0", by=Claimant("bo", 4711)), "GPU n:0 is claimed by bo's Roost (pid 4711)"),
    (r.GpuClaimed(gpu="n:0", by=Claimant(UNKNOWN_USER)), "GPU n:0 is claimed by another Roost"),
    (r.GpuOrphaned(gpu="n:0", runs=("3.1", "4.1")), "GPU n:0 is still used by orphaned runs that are being ended: 3.1, 4.1"),
    (r.GpuUnknown(gpu="n:0"), "GPU n:0 has not been read yet"),
    (r.GpuClosed(gpu="n:0", how="drained"), "GPU n:0 is drained; reopen it with `roost undrain n:0`"),
    (r.GpuClosed(gpu="n:0", how="disabled"), "GPU n:0 is disabled; enable it with `roost gpu enable n:0`"),
    (r.GpuNotAsked(gpu="n:0", asked=("1", "2")), "GPU n:0 was not requested (--gpu-id 1,2)"),
    (r.NoNodes(), "no nodes are known yet"),
    (r.Ahead(jobs=0), "it fits now and starts in a moment"),
    (r.Ahead(jobs=1), "1 job ahead in the queue"),
    (r.Ahead(jobs=3000), "3,000 jobs ahead in the queue"),
    (r.Ahead(jobs=None), "many jobs ahead in the queue"),
]


@pytest.mark.parametrize(("reason", "words"), EVERY, ids=[type(reason).__name__ for reason, _ in EVERY])
def test_the_words(reason: r.Reason, words: str) -> None:
    assert reason.text() == words
    data = msgspec.json.decode(encode(shown(reason)))
    assert data["text"] == words and {**data, "text": 0} == {"text": 0, **msgspec.json.decode(msgspec.json.encode(reason))}
    chinese = render(reason.message(), "zh")
    assert "reason." not in chinese and "{" not in chinese and any("\u4e00" <= c <= "\u9fff" for c in chinese)


def kinds(kind: type[r.Reason] = r.Reason) -> Iterator[type[r.Reason]]:
    """The reasons that are made, not those that others are made of."""
    below = kind.__subclasses__()
    yield from (leaf for one in below for leaf in kinds(one)) if below else (kind,)


def test_every_reason_has_a_code_of_its_own() -> None:
    codes = [kind.__struct_config__.tag for kind in kinds()]
    assert len(codes) == len(set(codes))
    assert {type(reason) for reason, _ in EVERY} == set(kinds())


def test_several_reasons_are_one_line() -> None:
    text = text_of([shown(r.NoNodes()), shown(r.Held())])
    assert render(text, "en") == "no nodes are known yet; waiting for `roost release`"
    assert render(text, "zh") == "尚无节点；等待放行：`roost release`"


def test_a_command_can_be_hidden() -> None:
    other = Process(8, "ada", "train.py", 100)
    text = r.with_commands_hidden(r.GpuForeign(gpu="n:0", procs=(PROC, other)).message(), {7}, "(private)")
    assert str(text).endswith("pid 7 of eve (100 MiB, (private)), pid 8 of ada (100 MiB, train.py)")
