"""People: what they submit and do, drawn from the seed. They know only the ids that they were told."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from tests.simulator.clock import Clock
from tests.simulator.machine import MEM_MIB
from tests.simulator.server import SimServer
from tests.simulator.truth import Truth

from roost.core.spec import JobSpec
from roost.core.states import State
from roost.server.clock import rfc3339
from roost.server.rounds.commands import Act, ChangeSettings, Command, Drain, RuleGpus, Submit, SwitchScheduling
from roost.server.rounds.turn import Reply

USERS = ("ada", "bob", "cyd")
CLONE = "a clone"
ACTIONS = ("kill", "kill", "rm", "hold", "release", "rerun", "rerun", "move", "edit", "pause", "resume", "start", "clone")


class People:
    """Everybody who uses the server."""

    def __init__(self, clock: Clock, random: Random, server: SimServer, truth: Truth) -> None:
        self._clock, self._random, self._server, self._truth = clock, random, server, truth
        self._names = [d.uuid for p in server.programs.values() for d in p.machine.devices]
        self._nodes = list(server.programs)
        self._last_key = 0
        self._are_leaving = False
        self.answers = {"accepted": 0, "refused": 0}

    def do_something(self) -> None:
        """One of them does one thing; sometimes several do at the same moment."""
        if self._truth.accepted and self._random.random() < 0.1:
            job = self._some_id()
            for _ in range(self._random.randrange(2, 5)):
                self._ask(self._act([job]))
            return
        for _ in range(self._random.choice((1, 1, 1, 3))):
            self._one_thing()

    def _one_thing(self) -> None:
        kind = self._random.random()
        if kind < 0.45:
            self._ask(self._submit())
        elif kind < 0.52:
            self._make_room()
        elif kind < 0.88 and self._truth.accepted:
            self._ask(self._act([self._some_id() for _ in range(self._random.choice((1, 1, 2)))]))
        else:
            self._ask(self._administer())

    def _ask(self, command: Command, tries: int = 1) -> None:
        if isinstance(command, Act) and command.action == "rm":
            self._truth.maybe_removed.update(command.ids)
        heard: list[Reply] = []
        self._server.ask(command, lambda reply: self._hear(command, reply, heard))
        if isinstance(command, Submit) and tries < 3:
            self._clock.after(3000, lambda: self._ask(command, tries + 1) if not heard and not self._are_leaving else None)

    def _hear(self, command: Command, reply: Reply, heard: list[Reply]) -> None:
        heard.append(reply)
        self.answers["refused" if reply.error else "accepted"] += 1
        if reply.error is not None:
            return
        if isinstance(command, Submit) and command.key is not None:
            self._truth.accepts(command.key, reply.value.ids)
        elif isinstance(command, Act):
            self._truth.accepted.update(reply.value.ids or ())
            if command.action == "rm":
                self._truth.removed.update(reply.value.done)

    # -- submitting -------------------------------------------------------------------------------------------------

    def _submit(self) -> Submit:
        self._last_key += 1
        jobs = [self._job(f"{self._last_key}:{i}") for i in range(self._random.choice((1, 1, 2, 5)))]
        shell = {"HOME": f"/home/{self._random.randrange(3)}"}
        return Submit(self._random.choice(USERS), jobs, [shell], key=str(self._last_key))

    def _job(self, mark: str) -> JobSpec:
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
            desc=mark,
            env=pick((None, 0)),
            priority=pick((0, 0, 5)),
            hold=self._random.random() < 0.05,
            time_limit_s=pick((None, None, 2)),
            grace_s=pick((0, 1, 5)),
            retries=pick((0, 0, 1, 3)),
            retry_oom=pick((0, 1, 2)),
            preemptible=pick((True, False)),
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

    def _act(self, ids: list[int]) -> Act:
        pick = self._random.choice
        action = pick(ACTIONS)
        changes = pick(({"priority": pick((0, 5))}, {"gpus": pick((0, 1, 2))}, {"name": "other"}, self._conditions()))
        return Act(
            pick(USERS),
            action,
            ids,
            changes={**changes, "desc": CLONE} if action == "clone" else changes,
            grace_s=pick((None, 0, 1)),
            signal=pick((None, None, None, "USR1")) if action == "kill" else None,
            position=pick((0, 1, 3)),
            gpu_ids=pick(([], [], [pick(self._names)])),
        )

    def _make_room(self) -> None:
        """Somebody asks what runs to make room, and sometimes wants it gone before it has."""
        running = sorted(a.job.id for a in self._server.controller.cluster.active.values() if a.state is State.RUNNING)
        self._ask(ChangeSettings("root", {"preempt.min_run_s": self._random.choice((0, 0, 1))}))
        self._ask(Act("root", "preempt", running[: self._random.randrange(4)]))
        if running and self._random.random() < 0.2:
            self._ask(Act("root", self._random.choice(("kill", "rm")), running[:1]))

    def _administer(self) -> Command:
        pick, gpu = self._random.choice, self._random.choice(self._names)
        makers: tuple[Callable[[], Command], ...] = (
            lambda: RuleGpus("root", "set", [gpu], slots=pick((1, 2, 3))),
            lambda: RuleGpus("root", pick(("disable", "enable", "drain", "undrain")), [gpu]),
            lambda: Drain("root", [pick((*self._nodes, gpu))], undrain=pick((True, True, False))),
            lambda: ChangeSettings("root", {"cpu.slots": pick((0, 1, 2)), "safety.gpu_mem": pick((0, 0, 0.1))}),
            lambda: ChangeSettings("root", {"policy": "fifo", "node.sample_ms": pick((100, 500))}),
            lambda: SwitchScheduling("root", pick((True, False, False))),
        )
        return pick(makers)()

    # -- the end ----------------------------------------------------------------------------------------------------

    def stop_asking(self) -> None:
        """Submits that were not answered are not repeated any more."""
        self._are_leaving = True

    def open_everything(self) -> None:
        """Take back all that could keep a job for ever."""
        cluster = self._server.controller.cluster
        quiet: list[Command] = [
            SwitchScheduling("root", False),
            Drain("root", self._nodes, undrain=True),
            ChangeSettings("root", {"cpu.slots": 0, "safety.gpu_mem": 0}),
            Act("root", "release", sorted(cluster.held)),
            Act("root", "resume", sorted(cluster.active)),
        ]
        known = [gpu.uuid for _, gpu in cluster.gpus()]
        for command in [*quiet, *(RuleGpus("root", "release", [uuid]) for uuid in known)]:
            self._ask(command)

    def end_what_lasts(self) -> None:
        """Somebody loses patience with what has run for a minute."""
        cluster, now = self._server.controller.cluster, self._clock.now_ms
        old = [a.job.id for a in cluster.active.values() if a.state is State.RUNNING and now - a.since_ms > 60_000]
        if old:
            self._ask(Act("root", "kill", sorted(old)))
