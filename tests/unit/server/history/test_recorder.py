"""Recording on a clock that is told: what is seen, when it is written, and that a new server goes on with it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from tests.builders import NOW, Server, exited, started
from tests.stores import fresh_store

from roost.core import events as ev
from roost.core.accounts import Channel
from roost.core.history.thinning import LEVELS, Block, Point
from roost.links import messages as m
from roost.server.history.observations import GPU_COLUMNS, GROUP_COLUMNS, columns_of
from roost.server.history.recorder import Recorder, write
from roost.server.rounds.node_reports import NodeReport
from roost.store import samples
from roost.store.store import Store
from roost.store.store_errors import CommitFailed

BEGIN_MS = LEVELS[-1].block_of(NOW // 1000) * 1000
HOST = m.HostSample(60_000, 64_000)


class Scene:
    """A server, a recorder beside it, and a clock for both."""

    def __init__(self, store: Store) -> None:
        self.store, self.at_ms = store, BEGIN_MS
        self.server = Server(store)
        self.recorder = Recorder(store, lambda: self.server.cluster)

    def shows(self, util: int | None, mem_mib: int = 0, run: str | None = None, **more: Any) -> None:
        """The first GPU does that from now on; the second nothing."""
        procs = [m.ProcessInfo(77, run, "ada", "python", mem_mib)] if run is not None else []
        first = m.GpuSample("gpu0", mem_mib, util, 50, 100.0, procs=procs, **more)
        sample = m.Sample(self.at_ms, HOST, [first, m.GpuSample("gpu1", 0, 0, 30, 20.0)])
        self.server.round(NodeReport("n1", sample))

    def passes(self, seconds: int) -> None:
        """A look a second."""
        for _ in range(seconds):
            self.recorder.look(self.at_ms)
            self.at_ms += 1000

    def write(self, is_last: bool = False) -> samples.Lot:
        """What is due is written."""
        lot = self.recorder.due(self.at_ms, is_last)
        self.recorder.keep(lot)
        self.recorder.written(lot)
        return lot

    def restart(self) -> None:
        """A new server over the same store."""
        self.server.restart()
        self.server.attach(*(m.RunStarted(a.run, a.pid or 1, a.since_ms) for a in self.server.cluster.active.values()))
        self.recorder = Recorder(self.store, lambda: self.server.cluster)

    def kept(self, series: str, level: int = 0) -> list[dict[str, float]]:
        """The points that the store has, by column."""
        starts = range(LEVELS[level].block_of(BEGIN_MS // 1000), self.at_ms // 1000 + 1, LEVELS[level].block_s)
        found = self.store.read(samples.blocks, level, series, starts)
        points: list[Point | None] = []
        for start in sorted(found):
            points += Block(LEVELS[level], start, len(columns_of(series)), found[start]).points()
        return [dict(zip(("looks", *columns_of(series)), point, strict=True)) for point in points if point is not None]


@pytest.fixture
def scene() -> Iterator[Scene]:
    with fresh_store() as store:
        yield Scene(store)


def test_a_step_is_the_mean_of_its_looks(scene: Scene) -> None:
    scene.shows(100, 8000)
    scene.passes(5)
    scene.shows(50, 4000)
    scene.passes(6)  # the last one ends the step
    scene.write()
    (step,) = scene.kept("gpu:gpu0")
    assert step == {"looks": 10, "util": 75, "mem_used_mib": 6000, "power_w": 100, "temp_c": 50, "gpus_used": 0}
    (step,) = scene.kept("node:n1")
    assert (step["util"], step["mem_used_mib"], step["power_w"], step["temp_c"]) == (37.5, 6000, 120, 50)
    assert (step["mem_total_mib"], step["gpus_total"], step["gpus_used"]) == (48_000, 2, 0)
    (step,) = scene.kept("cluster")
    assert (step["util"], step["queued"], step["gpus_total"]) == (37.5, 0, 2)


def test_jobs_that_hold_gpus_and_jobs_that_wait_are_counted(scene: Scene) -> None:
    scene.server.submit(gpus=2)
    scene.server.submit(times=3)
    scene.shows(None)
    scene.passes(11)
    scene.write()
    (step,) = scene.kept("cluster")
    assert (step["gpus_used"], step["queued"]) == (2, 3)
    assert scene.kept("gpu:gpu0")[0]["gpus_used"] == 1


def test_what_is_not_known_is_not_nothing(scene: Scene) -> None:
    scene.shows(None)
    scene.passes(10)
    scene.server.cut()
    scene.passes(11)
    scene.write()
    (only,) = scene.kept("gpu:gpu0")
    assert only["util"] != only["util"] and only["mem_used_mib"] == 0  # NaN
    assert len(scene.kept("node:n1")) == 1
    assert [step["gpus_total"] for step in scene.kept("cluster")] == [2, 0]


def test_every_level_has_the_same_mean(scene: Scene) -> None:
    for util in (0, 30, 60, 90):
        scene.shows(util)
        scene.passes(30 * 60)
    scene.passes(1)
    scene.write()
    for level, steps in ((0, 720), (1, 120), (2, 12), (3, 2)):
        points = scene.kept("gpu:gpu0", level)
        assert len(points) == steps
        looks = sum(point["looks"] for point in points)
        assert looks == 7200
        assert sum(point["util"] * point["looks"] for point in points) / looks == pytest.approx(45)


def test_writes_are_few_and_small(scene: Scene) -> None:
    """Twice a minute the finest level of everything; the coarser ones as seldom as they change much."""
    scene.shows(10)
    rows = []
    for _ in range(40):
        scene.passes(30)
        rows.append(len(scene.write().blocks))
    every = 4  # two GPUs, a node, the cluster
    assert len(rows) == 40 and rows[0] == 4 * every
    assert sum(rows[1:]) <= (40 + 20 + 2 + 2 + 6) * every  # the last: blocks that were over in between
    assert min(rows) == every


def test_a_new_server_goes_on_where_the_last_one_wrote(scene: Scene) -> None:
    job = scene.server.submit()
    scene.server.tell(started(f"{job}.1"))
    scene.shows(80, 6000, f"{job}.1")
    scene.passes(15)
    scene.write(is_last=True)
    scene.restart()
    scene.shows(40, 9000, f"{job}.1")
    scene.passes(16)
    scene.write()
    steps = scene.kept("gpu:gpu0")
    assert [step["looks"] for step in steps] == [10, 10, 10]
    assert [step["util"] for step in steps] == [80, 60, 40]
    (hour,) = scene.kept("gpu:gpu0", 3)
    assert (hour["looks"], hour["util"]) == (30, 60)
    course = scene.recorder.course(job, 1)
    assert course is not None and course.mem_mib[0][:15] == [6000] * 15 and course.mem_mib[0][15:] == [9000] * 16


def test_what_a_killed_server_had_not_written_is_all_that_is_lost(scene: Scene) -> None:
    scene.shows(80)
    scene.passes(41)
    scene.write()
    scene.passes(20)
    scene.restart()
    scene.shows(20)
    scene.passes(11)
    scene.write()
    assert [step["util"] for step in scene.kept("gpu:gpu0")] == [80] * 4 + [20] * 1


def test_a_clock_that_is_set_back_makes_no_hole_in_what_comes(scene: Scene) -> None:
    scene.shows(80)
    scene.passes(61)
    scene.write()
    scene.at_ms -= 40_000
    scene.shows(20)
    scene.passes(41)
    scene.write(is_last=True)
    steps = scene.kept("gpu:gpu0")
    assert [step["util"] for step in steps[:2]] == [80, 80]
    assert all(20 <= step["util"] < 80 for step in steps[2:6])


def test_what_a_full_disk_refused_is_written_later(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    job = scene.server.submit()
    scene.server.tell(started(f"{job}.1"))
    scene.shows(50, 100, f"{job}.1")
    scene.passes(301)  # the first block of the finest level is over

    def refuse(*_: object) -> None:
        raise CommitFailed("the disk is full", disk_full=True)

    with monkeypatch.context() as patched:
        patched.setattr(scene.store, "jot", refuse)
        asyncio.run(write(scene.recorder, scene.recorder.due(scene.at_ms)))
    assert scene.kept("gpu:gpu0") == []
    scene.passes(30)
    scene.write()
    assert len(scene.kept("gpu:gpu0")) == 33
    assert scene.store.read(samples.course, job, 1) is not None


# Runs


def test_the_course_of_a_run_is_kept_when_it_ends(scene: Scene) -> None:
    job = scene.server.submit()
    scene.server.tell(started(f"{job}.1"))
    scene.shows(70, 6144, f"{job}.1")
    scene.recorder.watch(ev.Measured(((f"{job}.1", 512),)))
    scene.passes(20)
    scene.server.tell(exited(f"{job}.1"))
    scene.shows(0)
    scene.passes(5)
    fresh = scene.recorder.course(job, 1)
    assert fresh is not None and len(fresh) == 20
    scene.write()
    assert scene.recorder.course(job, 1) is None
    kept = scene.store.read(samples.course, job, 1)
    assert kept is not None and (kept.start_s, kept.step_s) == (BEGIN_MS // 1000, 1)
    assert (kept.util, kept.mem_mib, kept.rss_mib) == ([[70] * 20], [[6144] * 20], [512] * 20)


def test_another_attempt_has_a_course_of_its_own(scene: Scene) -> None:
    job = scene.server.submit()
    for attempt, util in ((1, 10), (2, 90)):
        scene.server.tell(started(f"{job}.{attempt}"))
        scene.shows(util, 1, f"{job}.{attempt}")
        scene.passes(3)
        scene.server.tell(exited(f"{job}.{attempt}", 1))
        scene.server.act("rerun", job)
    scene.passes(1)
    scene.write()
    found = [scene.store.read(samples.course, job, attempt) for attempt in (1, 2)]
    assert [course.util for course in found if course is not None] == [[[10] * 3], [[90] * 3]]


def test_memory_on_a_gpu_is_the_runs_own_and_unknown_when_nobody_sees_it(scene: Scene) -> None:
    job = scene.server.submit()
    scene.server.tell(started(f"{job}.1"))
    foreign = m.ProcessInfo(5, None, "eve", "python", 9000)
    own = [m.ProcessInfo(pid, f"{job}.1", "ada", "python", 1000) for pid in (77, 78)]
    gpus = [m.GpuSample("gpu0", 11_000, 30, procs=[foreign, *own]), m.GpuSample("gpu1", 0, 0)]
    scene.server.round(NodeReport("n1", m.Sample(0, HOST, gpus)))
    scene.passes(2)
    scene.server.cut()
    scene.passes(2)
    course = scene.recorder.course(job, 1)
    assert course is not None
    assert (course.mem_mib, course.util) == ([[2000, 2000, None, None]], [[30, 30, None, None]])


def test_a_run_that_has_not_begun_has_none(scene: Scene) -> None:
    job = scene.server.submit()
    scene.passes(3)
    assert scene.recorder.course(job, 1) is None and not scene.write().courses


def test_host_memory_is_reported_by_the_program_that_has_the_run(scene: Scene) -> None:
    heard: list[ev.Measured] = []
    job = scene.server.submit()
    scene.server.tell(started(f"{job}.1"))

    def says(account: str, *runs: m.RunUse) -> None:
        done = scene.server.decide(NodeReport("n1", m.Using(list(runs)), Channel(account)))
        assert not done.is_urgent and done.batch.is_empty
        heard.extend(e for e in done.turn.events if isinstance(e, ev.Measured))

    says("", m.RunUse(f"{job}.1", 300), m.RunUse("99.1", 5), m.RunUse(f"{job}.2", 5))
    says("mallory", m.RunUse(f"{job}.1", 1))
    says("", m.RunUse(f"{job}.1", 1 << 40))
    assert [e.rss_mib for e in heard] == [((f"{job}.1", 300),), (), ((f"{job}.1", 64_000),)]


def test_columns_of_groups_begin_with_those_of_gpus() -> None:
    assert GROUP_COLUMNS[: len(GPU_COLUMNS)] == GPU_COLUMNS
