"""Small builders, so that a case is said in three lines: `job()`, `node()`, `cluster()`, and `Server` for whole rounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from roost.answers.jobs import Acted
from roost.core import events as ev
from roost.core.cluster import NO_CONDITIONS, Cluster
from roost.core.model import RANK_STEP, Conditions, Gpu, Host, Job, Observation, Process, Request, Shape
from roost.core.plan.planner import Start, plan
from roost.core.spec import JobSpec
from roost.core.states import Outcome
from roost.links import messages as m
from roost.messages import Message
from roost.server.rounds.commands import Act, Command, Submit
from roost.server.rounds.controller import Controller, Input, Round
from roost.server.rounds.node_reports import LinkLost, NodeReport
from roost.server.rounds.turn import Reply
from roost.store import reads
from roost.store.rows import JobRow, ResultRow
from roost.store.store import Store
from roost.store.store_errors import CommitFailed

NOW = 1_800_000_000_000
MEM = 24_000
SOCKET = "/run/roost.sock"
Json = dict[str, Any]


# -- values ---------------------------------------------------------------------------------------------------------


def job(id: int = 1, gpus: int = 1, *, user: str = "ada", priority: int = 0, **asked: Any) -> Job:
    """A job that waits, in the order of its id."""
    return Job(id, Shape(user, priority, Request(gpus, **asked)), id * RANK_STEP, NOW)


def node(name: str = "n1", gpus: int = 1, *, mem_mib: int = MEM, cpus: int = 2) -> ev.NodeSeen:
    """A machine with so many equal GPUs, named `n1-0`, `n1-1`, …"""
    return ev.NodeSeen(name, cpus, 64_000, tuple(Gpu(f"{name}-{i}", i, "Sim", mem_mib) for i in range(gpus)))


def cluster(*jobs: Job, nodes: Sequence[ev.NodeSeen] = (), gpus: int = 1) -> Cluster:
    """A cluster whose nodes are attached and idle, with these jobs in the queue."""
    made = Cluster()
    for seen in nodes or (node(gpus=gpus),):
        attach(made, seen)
    for waiting in jobs:
        submit(made, waiting)
    return made


def attach(to: Cluster, seen: ev.NodeSeen) -> None:
    """The node is there, and nothing is on its GPUs."""
    to.apply(seen)
    to.apply(ev.NodeAttached(seen.node))
    to.apply(ev.Sampled(seen.node, Host(64_000, 60_000), tuple((g.uuid, Observation(0, 0)) for g in seen.gpus)))


def submit(to: Cluster, waiting: Job, conditions: Conditions = NO_CONDITIONS, held: bool = False) -> None:
    """It waits."""
    to.apply(ev.Submitted(waiting.id, NOW, waiting, conditions, held))


def observe(on: Cluster, uuid: str, *, foreign_mib: int | None = None, node: str = "n1", **seen: Any) -> None:
    """The driver says so of that GPU."""
    procs = () if foreign_mib is None else (Process(4242, "eve", "python mine.py", foreign_mib),)
    on.apply(ev.Sampled(node, Host(64_000, 60_000), ((uuid, Observation(0, seen.pop("util", 0), procs=procs, **seen)),)))


def start(on: Cluster, found: Start, now_ms: int = NOW) -> None:
    """What follows from a planned start."""
    attempt, place = found.job.attempts + 1, found.place
    on.apply(ev.StartIntended(found.job.id, now_ms, attempt, place.node, place.gpus, granted_mib=found.granted_mib))


def start_all(on: Cluster) -> list[Start]:
    """Plan, and let it happen."""
    starts = plan(on, NOW).starts
    for found in starts:
        start(on, found)
    return starts


def end(on: Cluster, id: int, outcome: str = "succeeded") -> None:
    """The job ends."""
    on.apply(ev.Ended(id, NOW, Outcome(outcome)))


# -- a whole server, without a clock ---------------------------------------------------------------------------------


class Server:
    """The real controller over a real store; each call is one committed round."""

    def __init__(self, store: Store, gpus: int = 2) -> None:
        self.store, self.gpus = store, gpus
        self.now = NOW
        self.controller = Controller(store, SOCKET)
        self.heard: list[tuple[str, Json]] = []
        """What the nodes heard last."""
        self.sent: list[tuple[str, Json]] = []
        """The same without nonces: for tests that are not about them."""
        self.attach()

    @property
    def cluster(self) -> Cluster:
        """The live state."""
        return self.controller.cluster

    def restart(self) -> None:
        """kill -9, and a new one."""
        self.controller = Controller(self.store, SOCKET)

    def round(self, *inputs: Input) -> list[Reply | None]:
        """All of these in one round; what the nodes hear is in `sent`."""
        done = self.decide(*inputs)
        self.commit(done)
        return done.replies

    def decide(self, *inputs: Input) -> Round:
        """Decided, not committed."""
        self.now += 1
        return self.controller.decide(inputs, self.now)

    def commit(self, done: Round) -> None:
        """Committed and told."""
        sends = self.controller.committed(done, self.controller.commit(done))
        self.heard = [(send.node, send.message) for send in sends]
        self.sent = [(node, {k: v for k, v in said.items() if k != "nonce"}) for node, said in self.heard]

    def attach(self, *runs: m.RunStarted | m.RunExited) -> None:
        """The node says hello, and shows its GPUs empty."""
        gpus = [m.GpuInfo(f"gpu{i}", i, "Sim", MEM) for i in range(self.gpus)]
        hello = m.Hello(1, "x", "n1", 1, "boot", 2, 64_000, gpus, list(runs))
        self.cluster.node("n1")
        self.round(NodeReport("n1", hello), self.sample())

    def sample(self, **procs: list[m.ProcessInfo]) -> NodeReport:
        """What is on which GPU."""
        gpus = [m.GpuSample(f"gpu{i}", 0, 0, procs=procs.get(f"gpu{i}", [])) for i in range(self.gpus)]
        return NodeReport("n1", m.Sample(self.now, m.HostSample(60_000, 64_000), gpus))

    def tell(self, *messages: m.Report) -> None:
        """The node says these, in one round."""
        self.round(*(NodeReport("n1", message) for message in messages))

    def cut(self) -> None:
        """The link breaks."""
        self.round(LinkLost("n1", "cut"))

    def ask(self, command: Command) -> Any:
        """The answer, or the error."""
        (reply,) = self.round(command)
        assert reply is not None
        if reply.error is not None:
            raise reply.error
        return reply.value

    def submit(self, *, times: int = 1, envs: Sequence[dict[str, str]] = (), **asked: Any) -> int:
        """Queue jobs; the id of the first."""
        ids = self.ask(Submit("ada", [JobSpec("true", **asked)] * times, list(envs))).ids
        return int(ids[0])

    def act(self, action: str, *ids: int, **how: Any) -> Acted:
        """Do that to these."""
        answer: Acted = self.ask(Act("ada", action, list(ids), **how))
        return answer

    def rows(self, ids: Sequence[int]) -> dict[int, JobRow]:
        """Those jobs as they are kept."""
        return self.store.read(reads.jobs, ids)

    def results(self, job: int) -> list[ResultRow]:
        """What a job has reported, as it is kept."""
        return self.store.read(reads.results, [job]).get(job, [])

    def ops(self) -> list[str]:
        """What the nodes heard last, by name: `start 1.1`."""
        return [f"{message['op']} {message['run']}" for _, message in self.sent if "run" in message]


def started(run: str, **known: Any) -> m.RunStarted:
    """The node reports a start."""
    return m.RunStarted(run, 77, NOW, **known)


def exited(run: str, status: int | None = 0, why: str | None = None, **known: Any) -> m.RunExited:
    """The node reports an end."""
    return m.RunExited(run, NOW + 5, status, why, pid=77, started_ms=NOW, **known)


def listen(store: Store, monkeypatch: pytest.MonkeyPatch, question: Callable[..., Any]) -> list[Any]:
    """What that question is asked of the store from now on, each time it is: its argument."""
    asked: list[Any] = []
    read = store.read

    def heard(other: Callable[..., Any], *arguments: Any) -> Any:
        if other is question:
            asked.append(*arguments)
        return read(other, *arguments)

    monkeypatch.setattr(store, "read", heard)
    return asked


class FullDisk(Store):
    """A store whose disk is full from now on, until it is not."""

    is_full = False

    def commit(self, batch: Any) -> Any:
        """Refuses while the disk is full."""
        if self.is_full:
            raise CommitFailed("the disk is full", disk_full=True)
        return super().commit(batch)


def in_english(error: str | None) -> str:
    """What people read of an error as it is kept and sent."""
    assert error is not None
    return str(Message.of_text(error))
