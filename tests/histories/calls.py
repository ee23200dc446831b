"""People who call a server all the time, each with a token, and what each of them asked and was answered."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from itertools import count
from typing import Any

TIMEOUT_S = 40.0
OK, CREATED, BROKEN = 200, 201, 500
SHAPES = ({"gpus": 1}, {"gpus": 1}, {"gpus": 1, "exclusive": True}, {"gpus": 2}, {"gpus": 0})
NAPS = ("0.1", "0.3", "1", "2.5")
ACTIONS = ("kill", "hold", "release", "pause", "resume", "rerun", "rm", "edit")
Json = dict[str, Any]


@dataclass
class Call:
    """One request, and its answer if one came. `began_s` and `ended_s` are of one steady clock for all."""

    user: str
    verb: str
    asked: Json
    began_s: float
    ended_s: float = float("inf")
    status: int | None = None
    answer: Any = None
    was_sent: bool = True
    """False: nobody listened, so it had no effect."""

    @property
    def is_done(self) -> bool:
        """It had its effect."""
        return self.status in (OK, CREATED)

    @property
    def may_be_done(self) -> bool:
        """It had its effect, or nobody knows."""
        return self.was_sent and (self.status is None or self.is_done or self.status >= BROKEN)


@dataclass
class History:
    """All calls of all people. Written by their threads."""

    calls: list[Call] = field(default_factory=list)
    owner: dict[int, str] = field(default_factory=dict)
    """Of every job that somebody was told of."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, call: Call) -> None:
        """Before it is sent: what is never answered is in it, too."""
        with self._lock:
            self.calls.append(call)

    def learn(self, user: str, ids: list[int]) -> None:
        """These are theirs."""
        with self._lock:
            self.owner.update(dict.fromkeys(ids, user))

    def some_job(self, chance: random.Random, user: str | None = None, but: str | None = None) -> int | None:
        """One of the last jobs of that user, or of anybody else."""
        with self._lock:
            known = [job for job, whose in self.owner.items() if (user is None or whose == user) and whose != but]
        return chance.choice(known[-12:]) if known else None


@dataclass
class Caller:
    """One who calls, in a thread of their own."""

    user: str
    token: str
    port: int
    cwd: str
    chance: random.Random
    history: History
    names: str
    """What the names of their jobs begin with."""
    max_jobs: int = 40
    _numbers: Any = field(default_factory=count)

    def run(self, until_s: float) -> None:
        """Call until then."""
        verbs, weights = zip(*_VERBS, strict=True)
        while time.monotonic() < until_s:
            self.chance.choices(verbs, weights)[0](self)
            time.sleep(self.chance.uniform(0, 0.15))

    # -- what they do -------------------------------------------------------------------------------------------------

    def submit(self) -> None:
        """A job or three, under a key; when no answer comes, often once more under the same."""
        number = next(self._numbers)
        if number >= self.max_jobs:
            return self.show()
        jobs = [self._job(f"{self.names}-{number}-{i}") for i in range(self.chance.choice((1, 1, 1, 3)))]
        asked = {"jobs": jobs, "key": f"{self.names}-{number}-key"}
        for _ in range(self.chance.choice((1, 4, 4))):
            call = self._call("submit", asked, "POST", "/jobs", asked)
            if call.is_done:
                self.history.learn(self.user, call.answer["ids"])
            if call.status is not None and call.status < BROKEN:
                return None
            time.sleep(self.chance.uniform(0.1, 0.6))
        return None

    def _job(self, name: str) -> Json:
        retries = self.chance.choice((0, 0, 4))
        fails = self.chance.choice((0, 0, 1)) if retries else 0
        shape = self.chance.choice(SHAPES)
        command = ["sh", "told.sh", self.chance.choice(NAPS), str(fails)]
        more = {"retries": retries, "hold": self.chance.random() < 0.15, "grace_s": self.chance.choice((1, 5))}
        return {"command": command, "cwd": self.cwd, "name": name, **shape, **more}

    def act(self) -> None:
        """Something to one of their own jobs."""
        job = self.history.some_job(self.chance, self.user)
        if job is not None:
            self._act(job, self.chance.choice(ACTIONS))

    def trespass(self) -> None:
        """Something to a job that is not theirs."""
        job = self.history.some_job(self.chance, but=self.user)
        if job is not None:
            self._act(job, self.chance.choice(ACTIONS))

    def _act(self, job: int, action: str) -> None:
        asked: Json = {"action": action, "select": {"ids": str(job)}}
        if action == "edit":
            asked["changes"] = {"priority": self.chance.randrange(1, 100)}
        self._call("act", {"job": job, **asked}, "POST", "/jobs/actions", asked)

    def show(self) -> None:
        """Look at one."""
        if (job := self.history.some_job(self.chance)) is not None:
            self._call("show", {"job": job}, "GET", f"/jobs/{job}")

    def list(self) -> None:
        """Look at all."""
        self._call("list", {}, "GET", "/jobs?limit=1000&all=true&brief=true")

    def _call(self, verb: str, asked: Json, method: str, path: str, body: Any = None) -> Call:
        call = Call(self.user, verb, asked, time.monotonic())
        self.history.add(call)
        connection = HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        try:
            try:
                connection.connect()
            except OSError:
                call.was_sent = False
                return call
            head = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
            connection.request(method, f"/api/v1{path}", None if body is None else json.dumps(body), head)
            answer = connection.getresponse()
            call.answer, call.status = json.loads(answer.read()), answer.status
        except (OSError, HTTPException, ValueError):
            call.status = None
        finally:
            call.ended_s = time.monotonic()
            connection.close()
        return call


_VERBS: tuple[tuple[Callable[[Caller], None], float], ...] = (
    (Caller.submit, 3),
    (Caller.act, 5),
    (Caller.show, 6),
    (Caller.list, 1),
    (Caller.trespass, 1),
)
