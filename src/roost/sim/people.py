"""People: what they submit and do, drawn from the seed. They know only the ids that they were told."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from roost.core.spec import JobSpec
from roost.server.clock import rfc3339
from roost.server.commands import Act, Change_, Command, Drain, RuleGpus, Submit, SwitchScheduling
from roost.server.turn import Reply
from roost.sim.clock import Clock
from roost.sim.machine import MEM_MIB
from roost.sim.server import SimServer
from roost.sim.truth import Truth

USERS = ("ada", "bob", "cyd")
ACTIONS = ("kill", "kill", "rm", "hold", "release", "rerun", "rerun", "move", "edit", "pause", "resume", "start", "clone")


class People:
    """Everybody who uses the server."""

    def __init__(self, clock: Clock, random: Random, server: SimServer, truth: Truth) -> None:
        self._clock, self._random, self._server, self._truth = clock, random, server, truth
        self._names = [d.uuid for p in server.programs.values() for d in p.machine.devices]
        self._nodes = list(server.programs)
        self.answers = {"accepted": 0, "refused": 0}

    def do_something(self) -> None:
        """One of them does one thing; sometimes several do at the same moment."""
        for _ in range(self._random.choice((1, 1, 1, 3))):
            self._one_thing()

    def _one_thing(self) -> None:
        kind = self._random.random()
        if kind < 0.45:
            self._ask(self._submit())
        elif kind < 0.88:
            self._ask(self._act())
        else:
            self._ask(self._administer())

    def _ask(self, command: Command) -> None:
        if isinstance(command, Act) and command.action == "rm":
            self._truth.maybe_removed.update(command.ids)
        self._server.ask(command, lambda reply: self._hear(command, reply))

    def _hear(self, command: Command, reply: Reply) -> None:
        self.answers["refused" if reply.error else "accepted"] += 1
        if reply.error is None:
            self._truth.accepted.update(reply.value.get("ids", ()))
            if isinstance(command, Act) and command.action == "rm":
                self._truth.removed.update(reply.value["done"])

    # -- submitting -------------------------------------------------------------------------------------------------

    def _submit(self) -> Submit:
        jobs = [self._job() for _ in range(self._random.choice((1, 1, 2, 5)))]
        shell = {"HOME": f"/home/{self._random.randrange(3)}"}
        return Submit(self._random.choice(USERS), jobs, [shell])

    def _job(self) -> JobSpec:
        pick = self._random.choice
        asked: dict[str, Any] = pick(
            (
                {"gpus": pick((1, 1, 2, 3))},
                {"gpus": 1, "mem_mib": pick((1000, 9000, 20_000, MEM_MIB))},
                {"gpus": 1, "mem_mib": 4000, "max_util": 50},
                {"gpus": 1, "exclusive": True},
                {"gpus": 0},
                {"gpus": 1, "gpu_ids": (pick(self._names),)},
            )
        )
        asked |= self._conditions()
        return JobSpec(
            "true",
            env=pick((None, 0)),
            priority=pick((0, 0, 5)),
            hold=self._random.random() < 0.05,
            time_limit_s=pick((None, None, 2)),
            grace_s=pick((0, 1, 5)),
            **asked,
        )

    def _conditions(self) -> dict[str, Any]:
        kind = self._random.random()
        if kind < 0.15 and self._truth.accepted:
            return {self._random.choice(("after", "after_any", "after_fail")): (self._some_id(),)}
        if kind < 0.25:
            return {"begin_at": rfc3339(self._clock.now_ms + self._random.randrange(5000))}
        return {}

    def _some_id(self) -> int:
        """A job that somebody was told of, more often a late one."""
        known = sorted(self._truth.accepted)
        return self._random.choice(known[-self._random.choice((3, 12, len(known))) :])

    # -- acting -----------------------------------------------------------------------------------------------------

    def _act(self) -> Command:
        if not self._truth.accepted:
            return self._submit()
        pick = self._random.choice
        ids = [self._some_id() for _ in range(pick((1, 1, 2)))]
        changes = pick(({"priority": pick((0, 5))}, {"gpus": pick((0, 1, 2))}, {"name": "other"}, self._conditions()))
        return Act(
            pick(USERS),
            pick(ACTIONS),
            ids,
            changes=changes,
            grace_s=pick((None, 0, 1)),
            position=pick((0, 1, 3)),
            gpu_ids=pick(([], [], [pick(self._names)])),
        )

    def _administer(self) -> Command:
        pick, gpu = self._random.choice, self._random.choice(self._names)
        makers: tuple[Callable[[], Command], ...] = (
            lambda: RuleGpus("root", "set", [gpu], slots=pick((1, 2, 3))),
            lambda: RuleGpus("root", pick(("disable", "enable", "drain", "undrain")), [gpu]),
            lambda: Drain("root", [pick((*self._nodes, gpu))], undrain=pick((True, True, False))),
            lambda: Change_("root", {"cpu.slots": pick((0, 1, 2)), "safety.gpu_mem": pick((0, 0, 0.1))}),
            lambda: Change_("root", {"policy": "fifo", "node.sample_ms": pick((100, 500))}),
            lambda: SwitchScheduling("root", pick((True, False, False))),
        )
        return pick(makers)()

    # -- the end ----------------------------------------------------------------------------------------------------

    def open_everything(self) -> None:
        """Take back all that could keep a job for ever."""
        cluster = self._server.controller.cluster
        quiet: list[Command] = [
            SwitchScheduling("root", False),
            Drain("root", self._nodes, undrain=True),
            Change_("root", {"cpu.slots": 0, "safety.gpu_mem": 0}),
            Act("root", "release", sorted(cluster.held)),
            Act("root", "resume", sorted(cluster.active)),
        ]
        known = [gpu.uuid for _, gpu in cluster.gpus()]
        for command in [*quiet, *(RuleGpus("root", "release", [uuid]) for uuid in known)]:
            self._ask(command)
