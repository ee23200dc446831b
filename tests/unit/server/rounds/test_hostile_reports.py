"""What a malicious or broken node program says, without any wire: it harms its own node's jobs and nobody else's."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from tests.builders import MEM, NOW, exited, listen, started
from tests.far_nodes import FarNodes
from tests.stores import fresh_store

from roost.core import events as ev
from roost.core.errors import Impossible
from roost.core.states import State
from roost.links import messages as m
from roost.server.rounds.commands import LoseNode, RemoveNode
from roost.server.rounds.node_reports import NodeReport
from roost.store import reads

FAR = 1 << 53


@pytest.fixture
def lab() -> Iterator[FarNodes]:
    """The server's own machine, a good node and an evil one."""
    with fresh_store() as store:
        yield FarNodes(store, "good", "evil")


def gpu(uuid: str, index: int = 0, **more: Any) -> m.GpuInfo:
    return m.GpuInfo(uuid, index, "Sim", MEM, **more)


# -- lies about others ----------------------------------------------------------------------------------------------


def about(run: str) -> list[m.Report]:
    """All that can be said of a run."""
    exits = [m.RunExited(run, NOW, 0), m.RunExited(run, NOW, None, "lost"), m.RunExited(run, NOW, 0, "preempt")]
    return [
        *exits,
        m.RunStarted(run, 1, NOW, paused=True, gpus=["good-0", "good-1", "gpu0"]),
        m.RunRefused(run, "no"),
        m.RunRefused(run, "no", claimed=True),
        m.RunGone(run),
        m.RunPaused(run, NOW),
        m.RunResumed(run, NOW),
        m.Using([m.RunUse(run, FAR)]),
        m.RunReported(run, {"loss": 0}),
    ]


@pytest.mark.parametrize("state", ["running", "starting", "stopping", "paused"])
def test_words_about_another_nodes_run_change_nothing(lab: FarNodes, state: str) -> None:
    job = lab.run_on("good")
    if state == "starting":
        lab.act("kill", job)
        lab.say("good", exited(f"{job}.1", 143, "kill"))
        job = lab.submit(nodes=("good",))
    elif state != "running":
        lab.act("kill" if state == "stopping" else "pause", job)
    before = lab.cluster.active[job]
    assert before.state.value == state
    for message in about(before.run):
        lab.say("evil", message)
        lab.say("evil", message, account="mallory")
        lab.say("evil", message, account="@mallory")
    lab.hello("evil", m.RunStarted(before.run, 1, NOW, gpus=["good-0"]))
    lab.hello("evil", m.RunExited(before.run, NOW, 0))
    assert lab.cluster.active[job] == before and not lab.results(job)
    assert not lab.told("good") and not lab.cluster.orphaned.keys() & {"good-0", "good-1", "gpu0"}


def test_gpus_that_another_node_has_stay_that_nodes(lab: FarNodes) -> None:
    stolen = [gpu(uuid, i) for i, uuid in enumerate(("good-0", "good-1", "gpu0", "evil-0"))]
    lab.hello("evil", gpus=stolen)
    lab.say("evil", m.Inventory(stolen))
    assert set(lab.cluster.nodes["evil"].gpus) == {"evil-0"}
    faults = [m.GpuSample(uuid, 0, 0, fault="broken", claimed_by=m.ClaimInfo("eve")) for uuid in ("good-0", "gpu0")]
    lab.say("evil", m.Sample(lab.now, m.HostSample(1, 1), faults))
    assert lab.cluster.seen["good-0"].fault is None and lab.cluster.seen["gpu0"].fault is None
    assert lab.run_on("good", gpus=2)


def test_a_gpu_that_fell_off_its_node_for_a_moment_is_not_stolen_meanwhile(lab: FarNodes) -> None:
    """While a job has it, it is where that job is."""
    job = lab.run_on("good", gpus=2)
    lab.say("good", m.Inventory([gpu("good-0")]))
    lab.hello("evil", gpus=[gpu("good-1"), gpu("evil-0", 1)])
    lab.hello("good", started(f"{job}.1"))
    assert set(lab.cluster.nodes["good"].gpus) == {"good-0", "good-1"}
    assert set(lab.cluster.nodes["evil"].gpus) == {"evil-0"}


def test_a_process_that_is_said_to_be_another_nodes_run_is_nobodys(lab: FarNodes) -> None:
    job = lab.run_on("good")
    procs = [m.ProcessInfo(1, f"{job}.1", "ada", "x", 5), m.ProcessInfo(1, f"{job}.1", "ada", "x", 5, own=False)]
    lab.say("evil", m.Sample(lab.now, m.HostSample(1, 1), [m.GpuSample("evil-0", procs=procs)]))
    assert [p.run for p in lab.cluster.seen["evil-0"].procs] == [None, None]


def test_ten_thousand_ghosts_of_one_node_leave_room_for_those_of_another(lab: FarNodes) -> None:
    job = lab.run_on("good", gpus=2)
    lab.away("good")
    lab.ask(LoseNode("root", "good", "given up"))
    lab.hello("evil", *(m.RunStarted(f"{job}.{n}", 1, NOW) for n in range(2, 10_100)))
    lab.hello("good", started(f"{job}.1", gpus=["good-0", "good-1"]))
    assert lab.told("good") == [f"stop {job}.1"]
    assert {"good-0", "good-1"} <= lab.cluster.orphaned.keys()


def test_the_same_program_under_two_names_does_not_end_the_runs_of_the_first(lab: FarNodes) -> None:
    """One machine was added twice: what it runs as `good` it also says as `evil`."""
    job = lab.run_on("good")
    lab.hello("evil", m.RunStarted(f"{job}.1", 77, NOW, gpus=["good-0"]))
    assert not lab.told("evil")
    lab.say("evil", m.RunStarted(f"{job}.1", 77, NOW, gpus=["good-0"]))
    assert not lab.told("evil") and lab.cluster.active[job].state is State.RUNNING


# -- an account's program, on a node or on the server's own machine -------------------------------------------------


def test_an_accounts_program_marks_no_gpu_that_its_run_never_had() -> None:
    with fresh_store() as store:
        lab = FarNodes(store, "good", each=True)
        job = lab.run_on("good", account="ada")
        held = lab.cluster.active[job].gpus
        lab.say("good", exited(f"{job}.1"), account="ada")
        lab.hello("good", m.RunStarted(f"{job}.1", 1, NOW, gpus=["good-0", "good-1"]), account="ada")
        assert lab.cluster.orphaned.keys() == set(held)
        lab.hello(
            "good", *(m.RunStarted(f"{job}.{n}", 1, NOW, gpus=["good-0", "good-1"]) for n in range(2, 9)), account="ada"
        )
        assert not lab.cluster.orphaned


# -- times ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("clock_ms", [-1, 0, NOW - 7 * 3_600_000, NOW + 7 * 3_600_000, FAR])
def test_a_clock_that_is_off_leaves_the_times_of_jobs_sane(lab: FarNodes, clock_ms: int) -> None:
    lab.hello("evil", at_ms=clock_ms)
    spec: dict[str, Any] = {"nodes": ("evil",), "time_limit_s": 3600}
    job = lab.submit(**spec)
    said = [m for node, m in lab.sent if node == "evil" and m["op"] == "start"]
    assert said[0]["spec"]["time_limit_ms"] == 3_600_000
    lab.say("evil", m.RunStarted(f"{job}.1", 5, clock_ms))
    since = lab.cluster.active[job].since_ms
    assert NOW <= since <= lab.now
    lab.now += 5000
    lab.say("evil", m.RunExited(f"{job}.1", min(clock_ms + 5000, FAR), 0, started_ms=clock_ms))
    row = lab.rows([job])[job]
    assert row.started_ms is not None and row.ended_ms is not None
    assert NOW <= row.started_ms <= row.ended_ms <= lab.now


@pytest.mark.parametrize("times", [(FAR, -1), (-1, FAR), (NOW + 4000, NOW), (FAR, FAR), (-1, -1)])
def test_an_end_before_its_beginning_counts_for_nothing(lab: FarNodes, times: tuple[int, int]) -> None:
    job = lab.run_on("evil")
    lab.now += 5000
    lab.say("evil", m.RunExited(f"{job}.1", times[1], 0, started_ms=times[0], cpu_ms=FAR, util_mean=1e300))
    row = lab.rows([job])[job]
    assert row.ended_ms is not None and row.started_ms is not None and row.started_ms <= row.ended_ms <= lab.now
    done = lab.store.read(lambda db: db.exec_driver_sql("select gpu_ms, runs, waited_ms from usage").all())
    assert all(0 <= gpu_ms <= 6000 and runs == 1 and waited >= 0 for gpu_ms, runs, waited in done)


# -- floods ---------------------------------------------------------------------------------------------------------


def test_a_hello_of_two_hundred_thousand_runs_is_a_few_questions_to_the_store(
    lab: FarNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = lab.submit(times=200, hold=True) + 199
    asked = listen(lab.store, monkeypatch, reads.jobs)
    runs = [m.RunStarted(f"{n % last + 1}.{n}", 1, NOW) for n in range(10, 200_000)]
    lab.hello("evil", *runs)
    assert len(asked) < 50 and len(lab.sent) < 20_000
    lab.hello("evil", *(m.RunExited(run.run, NOW, 0) for run in runs))
    assert len([1 for node, _ in lab.sent if node == "evil"]) < 10


def test_use_that_is_said_many_times_is_said_once(lab: FarNodes) -> None:
    job = lab.run_on("evil")
    use = m.Using([m.RunUse(f"{job}.1", FAR - n) for n in range(1000)])
    done = lab.decide(NodeReport("evil", use))
    lab.commit(done)
    assert [e.rss_mib for e in done.turn.events if isinstance(e, ev.Measured)] == [((f"{job}.1", 64_000),)]


def test_a_sample_with_a_million_processes_is_cut_short(lab: FarNodes) -> None:
    crowd = [m.ProcessInfo(n, None, "eve", "x", 1) for n in range(9_000)]
    lab.say(
        "evil",
        m.Sample(lab.now, m.HostSample(1, 1), [m.GpuSample("evil-0", procs=crowd), m.GpuSample("evil-1", procs=crowd)]),
    )
    assert 0 < sum(len(lab.cluster.seen[uuid].procs) for uuid in ("evil-0", "evil-1")) <= 8_192
    assert all(lab.cluster.seen[uuid].procs for uuid in ("evil-0", "evil-1"))  # what is on it, is not free


def test_old_exits_that_are_said_again_change_nothing(lab: FarNodes) -> None:
    job = lab.run_on("evil", retries=3)
    lab.say("evil", exited(f"{job}.1", 1))
    lab.now += 60_000
    lab.round(lab.empty("evil", [gpu("evil-0"), gpu("evil-1", 1)]))
    assert lab.cluster.active[job].attempt == 2
    for _ in range(5):
        lab.say("evil", exited(f"{job}.1", 1), m.RunRefused(f"{job}.1", "no"), m.RunGone(f"{job}.1"), exited(f"{job}.3", 1))
    assert lab.cluster.active[job].attempt == 2


# -- anything at all ------------------------------------------------------------------------------------------------


class Liar:
    """Says anything that the protocol lets through."""

    def __init__(self, seed: int, runs: list[str]) -> None:
        self.random, self.runs = random.Random(seed), runs

    def number(self, most: int = FAR) -> int:
        return self.random.choice((-1, 0, 1, 2, 1000, NOW, NOW + 10**7, most, most - 1, self.random.randrange(most)))

    def small(self) -> int:
        return min(self.number(1 << 31), 1 << 31)

    def text(self) -> str:
        return self.random.choice(("", "x", "\x00", "\x1b[2J", "../../x", "'; drop table jobs; --", "é" * 50, "y" * 20_000))

    def run(self) -> str:
        odd = ("", ".", "..", "../x", "-1.1", "0.1", "1", "1.", "1.x", "9" * 18 + ".1", "9" * 19 + ".1", "².1", "1" * 200)
        return self.random.choice((*odd, *self.runs, *self.runs, *self.runs))

    def uuid(self) -> str:
        return self.random.choice(("evil-0", "evil-1", "evil-0", "good-0", "gpu0", "", "x" * 200, "n1", "\x00"))

    def some(self, make: Any, most: int = 5) -> list[Any]:
        return [make() for _ in range(self.random.randrange(most))]

    def gpu_info(self) -> m.GpuInfo:
        return m.GpuInfo(self.uuid(), self.small(), self.text(), self.number(), self.random.random() < 0.2)

    def process(self) -> m.ProcessInfo:
        run = self.random.choice((None, self.run()))
        return m.ProcessInfo(self.small(), run, self.text()[:200], self.text(), self.number(), self.random.random() < 0.5)

    def gpu_sample(self) -> m.GpuSample:
        claim = self.random.choice((None, m.ClaimInfo(self.text()[:200], self.small())))
        fault = self.random.choice((None, None, self.text()))
        rest = (self.number(), self.small(), self.small(), 1e300, fault)
        return m.GpuSample(self.uuid(), *rest, self.some(self.process), claim)

    def started(self) -> m.RunStarted:
        return m.RunStarted(self.run(), self.small(), self.number(), self.random.random() < 0.5, self.some(self.uuid))

    def exited(self) -> m.RunExited:
        whys = (None, "kill", "rm", "time", "oom", "lost", "cannot_start", "preempt", "preempt 3", "stale", self.text())
        why, memory = self.random.choice(whys), self.random.choice(("gpu", "host", "x"))
        status = self.random.choice((None, 0, 1, -1, 137, 143, 1 << 31))
        rest = (self.text(), self.small(), self.number(), self.number(), self.number(), self.number(), -1e300)
        return m.RunExited(self.run(), self.number(), status, why, *rest, memory)

    def hello(self) -> m.Hello:
        runs = self.some(self.random.choice((self.started, self.exited)))
        known = self.random.random() < 0.8
        about = (self.number(), self.some(self.gpu_info), runs, self.number(), "", self.small(), self.text())
        return m.Hello(1, "x", self.text()[:200], self.small(), "b", self.small(), *about, None, known)

    def message(self) -> m.Report:
        kinds = (
            self.hello,
            self.started,
            self.exited,
            lambda: m.RunRefused(self.run(), self.text(), self.random.random() < 0.5),
            lambda: m.RunGone(self.run()),
            lambda: m.RunPaused(self.run(), self.number()),
            lambda: m.Inventory(self.some(self.gpu_info)),
            lambda: m.Sample(self.number(), m.HostSample(self.number(), self.number(), 1e300), self.some(self.gpu_sample)),
            lambda: m.Using(self.some(lambda: m.RunUse(self.run(), self.number()))),
            lambda: m.RunReported(self.run(), {self.text()[:64]: self.random.choice((self.number(), self.text()[:200]))}),
        )
        return self.random.choice(kinds)()


@pytest.mark.parametrize("seed", range(8))
def test_no_word_breaks_a_round_or_reaches_another_node(seed: int) -> None:
    with fresh_store() as store:
        lab = FarNodes(store, "good", "evil", each=True)
        mine, bobs = lab.run_on("good"), lab.run_on("good", user="bob", account="bob")
        at_home = lab.submit(nodes=("n1",))
        lab.tell(started(f"{at_home}.1"))
        before = {job: lab.cluster.active[job] for job in (mine, bobs, at_home)}
        liar, ids = Liar(seed, [f"{job}.{n}" for job in range(1, 20) for n in (1, 2)]), []
        for step in range(250):
            account = liar.random.choice(("", "", "ada", "bob", "@bob", "x"))
            lab.say("evil", *(m.decode(m.encode(message_of(liar.message()))) for _ in range(3)), account=account)
            lab.now += liar.random.randrange(3000)
            if step % 10 == 0:
                with contextlib.suppress(Impossible):  # it has said that it has fewer
                    ids.append(lab.submit(nodes=("evil",), retries=2, gpus=liar.random.randrange(3)))
            if step % 17 == 0 and ids:
                lab.act(liar.random.choice(("kill", "pause", "rm", "rerun")), liar.random.choice(ids))
            if step % 41 == 0:
                lab.away("evil")
                lab.ask(LoseNode("root", "evil", "given up"))
            if step % 71 == 0:
                lab.restart()
                lab.attach(started(f"{at_home}.1"))
                lab.hello("good", started(f"{mine}.1"))
                lab.hello("good", started(f"{bobs}.1"), account="bob")
            assert {job: lab.cluster.active.get(job) for job in before} == before
            assert not any(lab.results(job) for job in before)
            assert set(lab.cluster.nodes["good"].gpus) == {"good-0", "good-1"}
            assert set(lab.cluster.nodes["n1"].gpus) == {"gpu0", "gpu1"}
            assert {at for runs in lab.cluster.orphaned.values() for at in runs.values()} <= {"evil"}
            assert not lab.cluster.orphaned.keys() & {"good-0", "good-1", "gpu0", "gpu1"}
        lab.ask(RemoveNode("root", "evil", force=True))
        assert not [a for a in lab.cluster.active.values() if a.node == "evil"]
        assert not lab.cluster.orphaned and not [key for key in lab.cluster.barred if key[0] == "evil"]


def message_of(report: Any) -> dict[str, Any]:
    """As it goes over the wire."""
    made: dict[str, Any] = msgspec.to_builtins(report)
    return made
