"""A server of `builders` with other machines: each says what it likes, and what it hears is kept by node."""

from __future__ import annotations

from typing import Any

from tests.builders import MEM, Server

from roost.core.accounts import Account, Channel
from roost.core.model import Access
from roost.core.nodes import shape_channel
from roost.core.spec import JobSpec
from roost.links import messages as m
from roost.server.rounds.commands import KnowNode, Submit
from roost.server.rounds.node_reports import LinkLost, NodeReport
from roost.store.store import Store


class FarNodes(Server):
    """The server's own machine `n1` has two GPUs, and every machine that is added as many."""

    def __init__(self, store: Store, *names: str, each: bool = False) -> None:
        super().__init__(store)
        for name in names:
            self.add(name, each=each)

    def add(self, name: str, each: bool = False) -> None:
        """Add a machine that is reached by ssh, and let it say hello."""
        self.ask(KnowNode("root", name, Access(f"ssh://{name}", each=each)))
        self.hello(name)

    def hello(self, node: str, *runs: m.RunStarted | m.RunExited, account: str = "", **more: Any) -> None:
        """It says hello, and shows its GPUs empty."""
        gpus = more.pop("gpus", [m.GpuInfo(f"{node}-{i}", i, "Sim", MEM) for i in range(2)])
        said = m.Hello(1, "x", node, 1, "boot", 2, 64_000, gpus, list(runs), **more)
        samples = [self.empty(node, gpus)] if not account else []
        self.round(NodeReport(node, said, Channel(account)), *samples)

    def empty(self, node: str, gpus: list[m.GpuInfo]) -> NodeReport:
        """A sample in which nothing is on those."""
        seen = [m.GpuSample(gpu.uuid, 0, 0) for gpu in gpus]
        return NodeReport(node, m.Sample(self.now, m.HostSample(60_000, 64_000), seen))

    def say(self, node: str, *messages: m.Report, account: str = "") -> None:
        """It says these, in one round."""
        self.round(*(NodeReport(node, message, Channel(account)) for message in messages))

    def away(self, node: str, account: str = "") -> None:
        """It cannot be reached."""
        self.round(LinkLost(node, "no route to host", Channel(account)))

    def run_on(self, node: str, user: str = "ada", account: str = "", **asked: Any) -> int:
        """A job that runs there now."""
        spec = JobSpec("true", nodes=(node,), **asked)
        job = int(self.ask(Submit(user, [spec], accounts={user: Account(account)} if account else {})).ids[0])
        self.say(node, m.RunStarted(f"{job}.1", 77, self.now), account=self.channel(job))
        assert self.cluster.active[job].node == node and self.cluster.active[job].pid == 77
        return job

    def channel(self, job: int) -> str:
        """Which program of its node has it."""
        active = self.cluster.active[job]
        return shape_channel(self.cluster, active.node, active.job.shape)

    def told(self, node: str) -> list[str]:
        """What it heard last: `stop 1.1`."""
        return [f"{message['op']} {message['run']}" for name, message in self.sent if name == node and "run" in message]

    def outcome(self, job: int) -> str | None:
        """How it ended."""
        return self.rows([job])[job].outcome
