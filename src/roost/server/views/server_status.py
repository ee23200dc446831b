"""The server, its nodes, GPUs, settings and health, as they are shown."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import roost
from roost.answers.gpus import Gpus
from roost.answers.nodes import Node
from roost.answers.settings import Policy, Server, Settings, Status
from roost.core import policy as policies
from roost.core.errors import NotFound
from roost.core.settings import TABLE
from roost.links.ssh import HostKey
from roost.messages import Message
from roost.server.address import Address
from roost.server.clock import now_ms, rfc3339
from roost.server.identity.pam import Pam
from roost.server.identity.people import Caller, People
from roost.server.nodes.machine_facts import gpu_access
from roost.server.nodes.node_links import NodeLinks
from roost.server.rounds.engine import Engine
from roost.server.store_reader import StoreReader
from roost.server.views import job_views
from roost.store import reads


class Watched(Protocol):
    """A part that says what is wrong with it."""

    def health(self) -> list[Message]:
        """A message for each thing."""


class ServerStatus:
    """What is true of the server as a whole, now."""

    def __init__(
        self,
        home: Path,
        engine: Engine,
        reader: StoreReader,
        links: NodeLinks,
        people: People,
        pam: Pam,
        address: Address,
        watched: Sequence[Watched],
    ) -> None:
        self._home, self._engine, self._reader, self._links = home, engine, reader, links
        self._people, self._pam, self._address, self._watched = people, pam, address, watched
        self.since_ms = now_ms()

    @property
    def boot(self) -> str:
        """What no other start of a server has."""
        return f"{self.since_ms:x}-{os.getpid():x}"

    async def gpus(self) -> Gpus:
        """Every GPU."""
        cluster = await self._engine.settled()
        rows = await self._reader.read(reads.jobs, list(cluster.active))
        gpus = job_views.gpus_view(cluster, {job: row.name for job, row in rows.items()})
        return Gpus(gpus=gpus, cpu=job_views.cpu_view(cluster), notice=self._people.shown_notice())

    async def status(self, caller: Caller) -> Status:
        """How the server is, and who asks."""
        cluster = await self._engine.settled()
        nodes, now, pid = self.nodes(), now_ms(), os.getpid()
        server = Server(
            pid=pid,
            version=roost.__version__,
            since=rfc3339(self.since_ms),
            uptime_s=(now - self.since_ms) // 1000,
            home=str(self._home),
            url=self._address.url,
            socket=self._address.socket,
            policy=str(cluster.settings["policy"]),
            scheduling="paused" if cluster.is_paused else "on",
            store=str(self._engine.controller.store.path),
            log=str(self._home / "server.log"),
        )
        return Status(
            server_pid=pid,
            node_pid=next((node.pid for node in nodes if node.target is None), None),
            server=server,
            nodes=nodes,
            jobs=job_views.counts_view(cluster, now),
            gpus=job_views.totals_view(cluster),
            health=self.health(),
            you=self._people.you(caller),
            notice=self._people.shown_notice(),
        )

    def health(self) -> list[str]:
        """What is wrong, a line each."""
        links = [*self._links.health, *self._links.doubles()]
        faults = job_views.faults_view(self._engine.cluster)
        pam = self._pam.complaint()
        others = [*(said for part in self._watched for said in part.health()), *([pam] if pam is not None else [])]
        return [*self._engine.rounds.health, *links, *faults, *map(str, others)]

    def nodes(self) -> list[Node]:
        """Every node."""
        return [self._node(name) for name in sorted(self._engine.cluster.nodes)]

    def node(self, name: str) -> Node:
        """One node, or `NotFound`."""
        if name not in self._engine.cluster.nodes:
            raise NotFound("node.not_found", node=name)
        return self._node(name)

    def _node(self, name: str) -> Node:
        node, link = self._engine.cluster.nodes[name], self._links.get(name)
        hello = link.hello if link is not None else None
        is_off = not self._engine.cluster.settings["job.enforce_devices"]
        devices = None if hello is None else "off" if is_off else hello.devices
        return Node(
            name=name,
            state="unreachable" if not node.attached else "drained" if node.drained else "up",
            drained=node.drained,
            reason=None if node.attached else node.reason,
            pid=hello.pid if hello else None,
            program=hello.program if hello else None,
            python=hello.python if hello else None,
            boot=hello.boot if hello else None,
            state_dir=hello.state_dir if hello else None,
            sim_dir=hello.sim_dir if hello else None,
            gpus=len(node.gpus),
            cpus=node.cpus,
            mem_mib=node.mem_mib,
            mem_available_mib=node.host.mem_available_mib if node.host else None,
            load=node.host.load if node.host else None,
            jobs=sum(1 for a in self._engine.cluster.active.values() if a.node == name),
            hostname=node.hostname,
            target=node.access.target if node.access is not None else None,
            runs_as="each" if (node.access.each if node.access is not None else self._people.is_root) else "login",
            clock_ms=-node.skew_ms,
            since=None if node.attached else rfc3339(node.away_ms),
            host_key=HostKey(node.access.host_key).fingerprint if node.access and node.access.host_key else None,
            enforces_gpus=None if devices is None else not devices,
            gpu_access=None if devices is None else gpu_access(devices),
        )

    def settings(self) -> Settings:
        """Every setting with its value, default and meaning, and what it takes."""
        values = self._engine.cluster.settings
        return Settings(settings=[job_views.setting_view(row, values[row.key]) for row in TABLE])

    def policy(self) -> Policy:
        """The policy in force and those there are."""
        return Policy(policy=str(self._engine.cluster.settings["policy"]), policies=policies.names())
