"""What an event changes in the tables. One function a kind of event; each statement is built once, by SQLAlchemy for the
dialect at hand, and then run on the driver itself: that is where the speed of a commit comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any

import msgspec
from sqlalchemy import Dialect, Executable, bindparam, case, delete, exists, func, insert, literal_column, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from roost.core import events as ev
from roost.core.model import Conditions
from roost.core.states import State
from roost.store import schema as t
from roost.store.notices import notices_of
from roost.store.rows import AUDIT_COLUMNS, RESULT_COLUMNS, SWEEP_COLUMNS, AuditRow, ResultRow, SweepRow
from roost.store.search_text import searched_text
from roost.store.usage import Used, adding, summed

Row = dict[str, Any]
_encode = msgspec.json.encode


class NewEnv(msgspec.Struct, frozen=True):
    """An environment that comes with this batch (`Batch.envs`), by its digest."""

    digest: str


class KeptEnv(msgspec.Struct, frozen=True):
    """An environment that the store has, by its number."""

    number: int


EnvRef = NewEnv | KeptEnv


class NewJob(msgspec.Struct, frozen=True):
    """What the store keeps of a job besides what the scheduler knows."""

    name: str
    spec: bytes
    labels: tuple[str, ...]
    env: EnvRef | None
    submitter: str | None = None
    """Who submitted it, where that is not whose job it is."""
    command_line: str = ""
    """What it runs, for people: a search looks in it."""


class Batch(msgspec.Struct):
    """One transaction: what happened, and what is needed from the store to act on it."""

    events: list[ev.Event] = []
    new: dict[int, NewJob] = {}
    envs: dict[str, bytes] = {}
    actors: dict[int, str] = {}
    """Who asked for it, by the event's position: only for what a person did."""
    fetch: list[int] = []
    last_job: int | None = None
    submissions: list[tuple[str, int, int, int]] = []
    """Key, first id, count and time of submits that a client may repeat when the answer was lost."""
    waits: dict[int, Conditions] = {}
    """What is left to wait for, of jobs whose dependencies ended: a rerun of those must not close them again."""
    sweeps: list[SweepRow] = []
    """Sweeps that are new, or whose design has grown."""
    results: list[ResultRow] = []
    history: list[dict[str, Any]] = []
    """Runs that ended, as the table of them has it."""
    audit: list[AuditRow] = []
    """What people did in it."""
    used: list[Used] = []
    """What the runs had that ended."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write and nothing to fetch."""
        is_momentary = all(isinstance(e, ev.MOMENTARY) for e in self.events)
        return is_momentary and not (self.fetch or self.sweeps or self.results or self.audit)


class Writer:
    """Runs batches on one connection; remembers which environments are there."""

    def __init__(self, dialect: Dialect) -> None:
        self._sql = {name: _Statement(statement, dialect) for name, statement in _statements().items()}
        self._envs: dict[str, int] = {}
        self._unused: set[int] = set()
        self.wanted: dict[str, frozenset[str]] = {}
        """What users want to be told of. Replaced as a whole, never changed."""

    def write(self, cursor: Any, batch: Batch) -> None:
        """Write the whole batch. The transaction around it is the caller's."""
        for digest, data in batch.envs.items():
            self._envs[digest] = self._environment(cursor, digest, data)
        if batch.last_job is not None:
            self._run(cursor, "meta", [{"key": "last_job", "value": str(batch.last_job)}])
        for key, first, count, at_ms in batch.submissions:
            self._run(cursor, "submission", [{"key": key, "first": first, "count": count, "at_ms": at_ms}])
        self._run(cursor, "sweep", map(msgspec.structs.asdict, batch.sweeps))
        self._run(cursor, "result", map(msgspec.structs.asdict, batch.results))
        self._run(cursor, "audit", map(msgspec.structs.asdict, batch.audit))
        over = _over(batch.events) if not self.wanted else set()
        stored = [
            (i, e)
            for i, e in enumerate(batch.events)
            if not isinstance(e, ev.MOMENTARY) and not (isinstance(e, ev.Started) and e.id in over)
        ]
        for kind, group in groupby(stored, key=lambda pair: type(pair[1])):
            pairs = list(group)
            _WRITE[kind](self, cursor, [e for _, e in pairs], batch)
            if kind in _LOGGED:
                self._log(cursor, pairs, batch)
        self._run(cursor, "history", batch.history)
        self._run(cursor, "use", summed(batch.used))
        self._run(cursor, "wait", [{"b_id": job, "waits": _waits(left)} for job, left in batch.waits.items()])
        self._prune(cursor)

    def forget(self) -> None:
        """Forget what is known of the tables: a transaction was rolled back."""
        self._envs.clear()
        self._unused.clear()

    def _run(self, cursor: Any, name: str, rows: Iterable[Row]) -> None:
        statement = self._sql[name]
        if parameters := [statement.parameters(row) for row in rows]:
            cursor.executemany(statement.sql, parameters)

    def _environment(self, cursor: Any, digest: str, data: bytes) -> int:
        if (known := self._envs.get(digest)) is not None:
            return known
        self._run(cursor, "env", [{"digest": digest, "data": data}])
        found = self._sql["env_id"]
        cursor.execute(found.sql, found.parameters({"d": digest}))
        return int(cursor.fetchone()[0])

    def _log(self, cursor: Any, pairs: list[tuple[int, Any]], batch: Batch) -> None:
        rows = []
        for i, e in pairs:
            data = msgspec.to_builtins(e)
            kind = data.pop("type")
            job, at_ms = data.pop("id", None), data.pop("at_ms", 0)
            data.pop("job", None)
            if isinstance(e, ev.StopAsked):
                data["why"] = str(e.why)
            rows.append(
                {"at_ms": at_ms, "job": job, "actor": batch.actors.get(i), "kind": kind, "data": _encode(data).decode()}
            )
        self._run(cursor, "event", rows)

    # -- a function a kind of event ---------------------------------------------------------------------------------

    def _submitted(self, cursor: Any, events: list[ev.Submitted], batch: Batch) -> None:
        requests: dict[int, str] = {}
        rows = []
        for e in events:
            shape, new = e.job.shape, batch.new[e.id]
            request = requests.get(id(shape.request))
            if request is None:
                request = requests[id(shape.request)] = _encode(shape.request).decode()
            rows.append(
                {
                    "id": e.id,
                    "user": shape.user,
                    "name": new.name,
                    "state": "held" if e.held else "queued",
                    "priority": shape.priority,
                    "rank": e.job.rank,
                    "request": request,
                    "waits": _waits(e.conditions),
                    "attempts": 0,
                    "submitted_ms": e.job.submitted_ms,
                    "env": self._env_of(cursor, new.env),
                    "spec": new.spec,
                    "work": shape.work,
                    "sweep": shape.group,
                    "preemptible": shape.preemptible,
                    "limit_s": shape.limit_s,
                    "account": shape.account,
                    "submitter": new.submitter,
                    "gpus": shape.request.gpus,
                }
            )
        self._run(cursor, "submit", rows)
        self._run(cursor, "text", [_text(e, batch.new[e.id]) for e in events])
        self._run(cursor, "label", [{"label": label, "job": e.id} for e in events for label in batch.new[e.id].labels])

    def _env_of(self, cursor: Any, env: EnvRef | None) -> int | None:
        if not isinstance(env, NewEnv):
            return env.number if env is not None else None
        if env.digest not in self._envs:
            found = self._sql["env_id"]
            cursor.execute(found.sql, found.parameters({"d": env.digest}))
            self._envs[env.digest] = int(cursor.fetchone()[0])
        return self._envs[env.digest]

    def _edited(self, cursor: Any, events: list[ev.Edited], batch: Batch) -> None:
        for e in events:
            shape, new = e.job.shape, batch.new[e.id]
            row = {
                "b_id": e.id,
                "name": new.name,
                "priority": shape.priority,
                "rank": e.job.rank,
                "request": _encode(shape.request).decode(),
                "waits": _waits(e.conditions),
                "env": self._env_of(cursor, new.env),
                "spec": new.spec,
                "work": shape.work,
                "preemptible": shape.preemptible,
                "limit_s": shape.limit_s,
                "gpus": shape.request.gpus,
            }
            self._run(cursor, "edit", [row])
            self._run(cursor, "text", [_text(e, new)])
            self._run(cursor, "unlabel", [{"b_id": e.id}])
            self._run(cursor, "label", [{"label": label, "job": e.id} for label in new.labels])

    def _state(self, state: State) -> Callable[[Any, list[Any]], None]:
        return lambda cursor, events: self._run(cursor, "state", [{"b_id": e.id, "state": state.value} for e in events])

    def _held(self, cursor: Any, events: list[ev.JobHeld], batch: Batch) -> None:
        self._state(State.HELD)(cursor, events)

    def _released(self, cursor: Any, events: list[ev.Released], batch: Batch) -> None:
        self._state(State.QUEUED)(cursor, events)

    def _paused(self, cursor: Any, events: list[ev.Paused], batch: Batch) -> None:
        self._state(State.PAUSED)(cursor, events)

    def _resumed(self, cursor: Any, events: list[ev.Resumed], batch: Batch) -> None:
        self._state(State.RUNNING)(cursor, events)

    def _stop_asked(self, cursor: Any, events: list[ev.StopAsked], batch: Batch) -> None:
        self._state(State.STOPPING)(cursor, events)
        self._run(cursor, "attempt_stop", [{"b_job": e.id, "b_stop": str(e.why)} for e in events])

    def _moved(self, cursor: Any, events: list[ev.Moved], batch: Batch) -> None:
        rows = [{"b_id": e.id, "priority": e.job.shape.priority, "rank": e.job.rank} for e in events]
        self._run(cursor, "move", rows)

    def _rerun(self, cursor: Any, events: list[ev.Rerun], batch: Batch) -> None:
        rows = [
            {
                "b_id": e.id,
                "rank": e.job.rank,
                "waits": _waits(e.conditions),
                "request": _encode(e.job.shape.request).decode(),
            }
            for e in events
        ]
        self._run(cursor, "rerun", rows)

    def _start_intended(self, cursor: Any, events: list[ev.StartIntended], batch: Batch) -> None:
        self._run(cursor, "intend", [{"b_id": e.id, "attempts": e.attempt, "node": e.node} for e in events])
        rows = [
            {
                "job": e.id,
                "attempt": e.attempt,
                "node": e.node,
                "gpus": _encode(list(zip(e.gpus, e.indices, strict=True))).decode(),
                "state": "starting",
                "intended_ms": e.at_ms,
                "granted_mib": e.granted_mib,
            }
            for e in events
        ]
        self._run(cursor, "attempt", rows)

    def _started(self, cursor: Any, events: list[ev.Started], batch: Batch) -> None:
        self._run(cursor, "start", [{"b_id": e.id, "started_ms": e.at_ms} for e in events])
        rows = [{"b_job": e.id, "b_attempt": e.attempt, "started_ms": e.at_ms, "pid": e.pid} for e in events]
        self._run(cursor, "attempt_start", rows)
        self._notice(cursor, events)

    def _start_refused(self, cursor: Any, events: list[ev.StartRefused], batch: Batch) -> None:
        self._run(cursor, "requeue", [{"b_id": e.id} for e in events])
        rows = [{"b_job": e.id, "b_attempt": e.attempt, "ended_ms": e.at_ms, "error": e.reason} for e in events]
        self._run(cursor, "attempt_refuse", rows)

    def _ended(self, cursor: Any, events: list[ev.Ended], batch: Batch) -> None:
        rows = [
            {
                "b_id": e.id,
                "outcome": e.outcome.value,
                "exit_code": e.exit_code,
                "error": e.error,
                "ended_ms": e.at_ms,
                "b_started_ms": e.usage.started_ms,
            }
            for e in events
        ]
        self._run(cursor, "end", rows)
        self._run(cursor, "attempt_end", [_attempt_end(e) for e in events])
        self._notice(cursor, events)

    def _notice(self, cursor: Any, events: Sequence[ev.Started | ev.Ended]) -> None:
        """Keep what somebody wants to be told of; costs nothing where nobody does."""
        if self.wanted:
            found = self._sql["job_told"]
            self._run(cursor, "notice", notices_of(events, self.wanted, lambda job: _one(cursor, found, job)))

    def _requeued(self, cursor: Any, events: list[ev.Requeued], batch: Batch) -> None:
        rows = [
            {
                "b_id": e.id,
                "request": _encode(e.job.shape.request).decode(),
                "waits": _waits(Conditions((), e.again_ms)),
                "retried": e.retried,
                "oom_retried": e.oom_retried,
            }
            for e in events
        ]
        self._run(cursor, "try_again", rows)
        self._run(cursor, "attempt_end", [_attempt_end(e) for e in events])

    def _removed(self, cursor: Any, events: list[ev.Removed], batch: Batch) -> None:
        rows = [{"b_id": e.id} for e in events]
        found = self._sql["job_env"]
        envs: set[int] = set()
        for row in rows:
            cursor.execute(found.sql, found.parameters(row))
            envs.update(r[0] for r in cursor.fetchall() if r[0] is not None)
        names = ("remove", "remove_attempts", "remove_text", "unlabel", "remove_events", "remove_results", "remove_courses")
        for name in names:
            self._run(cursor, name, rows)
        self._unused.update(envs)

    def _prune(self, cursor: Any) -> None:
        """Drop the environments of removed jobs. After all else: a job of the same batch may use one again."""
        if self._unused:
            self._run(cursor, "prune_env", [{"b_env": env} for env in sorted(self._unused)])
            self.forget()

    def _setting(self, cursor: Any, events: list[ev.SettingChanged], batch: Batch) -> None:
        self._run(cursor, "setting", [{"key": e.key, "value": _encode(e.value).decode()} for e in events])

    def _switched(self, cursor: Any, events: list[ev.SchedulingSwitched], batch: Batch) -> None:
        self._run(cursor, "meta", [{"key": "paused", "value": "1" if e.paused else "0"} for e in events])

    def _gpu_ruled(self, cursor: Any, events: list[ev.GpuRuled], batch: Batch) -> None:
        rows = [{"uuid": e.uuid, **msgspec.structs.asdict(e.rules)} for e in events]
        self._run(cursor, "gpu_rules", rows)

    def _user_ruled(self, cursor: Any, events: list[ev.UserRuled], batch: Batch) -> None:
        self._run(cursor, "user", [{"name": e.user, **msgspec.structs.asdict(e.rules)} for e in events])

    def _group_limited(self, cursor: Any, events: list[ev.GroupLimited], batch: Batch) -> None:
        self._run(cursor, "group", [{"b_id": e.group, "max_running": e.max_running} for e in events])

    def _node_drained(self, cursor: Any, events: list[ev.NodeDrained], batch: Batch) -> None:
        rows = [{"name": e.node, "cpus": 0, "mem_mib": 0, "drained": e.drained} for e in events]
        self._run(cursor, "drain", rows)

    def _node_seen(self, cursor: Any, events: list[ev.NodeSeen], batch: Batch) -> None:
        for e in events:
            self._run(cursor, "node", [{"name": e.node, "cpus": e.cpus, "mem_mib": e.mem_mib, "drained": False}])
            self._run(cursor, "gpus_gone", [{"b_node": e.node}])
            rows = [
                {"uuid": g.uuid, "node": e.node, "number": g.index, "model": g.model, "mem_mib": g.mem_mib, "mig": g.mig}
                for g in e.gpus
            ]
            self._run(cursor, "gpu", rows)

    def _node_known(self, cursor: Any, events: list[ev.NodeKnown], batch: Batch) -> None:
        empty = {"cpus": 0, "mem_mib": 0, "drained": False}
        rows = [{"name": e.node, "access": _encode(e.access).decode(), **empty} for e in events]
        self._run(cursor, "access", rows)

    def _node_removed(self, cursor: Any, events: list[ev.NodeRemoved], batch: Batch) -> None:
        for statement in ("node_gone", "logins_gone", "gpus_forgotten", "old_files_gone"):
            self._run(cursor, statement, [{"b_node": e.node} for e in events])

    def _login_set(self, cursor: Any, events: list[ev.LoginSet], batch: Batch) -> None:
        for e in events:
            if e.login is None:
                self._run(cursor, "login_gone", [{"b_node": e.node, "b_user": e.user}])
            else:
                self._run(cursor, "login", [{"node": e.node, "user": e.user, "login": _encode(e.login).decode()}])

    def _given_up(self, cursor: Any, events: list[ev.GivenUp], batch: Batch) -> None:
        rows = [{"node": e.node, "run": e.run, "left": _encode(e.left).decode()} for e in events]
        self._run(cursor, "given_up", rows)

    def _accounted(self, cursor: Any, events: list[ev.Accounted], batch: Batch) -> None:
        self._run(cursor, "accounted", [{"b_node": e.node, "b_run": e.run} for e in events])

    def _files_left(self, cursor: Any, events: list[ev.FilesLeft], batch: Batch) -> None:
        self._run(cursor, "left", [{"node": e.node, "run": e.run, "channel": e.channel} for e in events])

    def _files_gone(self, cursor: Any, events: list[ev.FilesGone], batch: Batch) -> None:
        self._run(cursor, "left_gone", [{"b_node": e.node, "b_run": e.run} for e in events])


def _over(events: Sequence[ev.Event]) -> set[int]:
    """Jobs whose end, in the same batch, says all that their start says: that is not written first."""
    ended = (e for e in events if isinstance(e, ev.Ended))
    return {e.id for e in ended if e.usage.pid is not None and e.usage.started_ms is not None}


def _one(cursor: Any, statement: _Statement, job: int) -> Any:
    cursor.execute(statement.sql, statement.parameters({"b_id": job}))
    return cursor.fetchone()


class _Statement:
    """SQL for one dialect, and how its parameters are laid out."""

    def __init__(self, statement: Executable, dialect: Dialect) -> None:
        compiled = statement.compile(dialect=dialect)  # type: ignore[attr-defined]
        self.sql = str(compiled)
        self._order: list[str] | None = compiled.positiontup
        self._constants: Row = {k: v for k, v in compiled.params.items() if v is not None}

    def parameters(self, row: Row) -> Any:
        values = {**self._constants, **row} if self._constants else row
        return list(map(values.get, self._order)) if self._order is not None else values


def _waits(conditions: Conditions) -> str | None:
    if not conditions.after and conditions.begin_ms is None:
        return None
    return _encode(conditions).decode()


def _text(e: ev.Submitted | ev.Edited, new: NewJob) -> Row:
    return {"job": e.id, "text": searched_text(new.name, new.command_line, e.job.shape.user, new.labels)}


def _attempt_end(e: ev.Ended | ev.Requeued) -> Row:
    usage = msgspec.structs.asdict(e.usage)
    return {
        "b_job": e.id,
        "outcome": e.outcome.value,
        "exit_code": e.exit_code,
        "error": e.error,
        "ended_ms": e.at_ms,
        **{f"b_{k}" if k in ("pid", "started_ms") else k: v for k, v in usage.items()},
    }


def _statements() -> dict[str, Executable]:
    """Every statement of the hot path, by name."""
    job, attempt = t.jobs, t.attempts
    this_job = job.c.id == bindparam("b_id")
    this_attempt = (attempt.c.job == bindparam("b_job")) & (attempt.c.attempt == bindparam("b_attempt"))
    last_attempt = (attempt.c.job == bindparam("b_job")) & (attempt.c.ended_ms.is_(None))

    def set_job(*columns: str, **constants: Any) -> Executable:
        return update(job).where(this_job).values({**{c: bindparam(c) for c in columns}, **constants})

    def set_attempt(where: Any, *columns: str, **constants: Any) -> Executable:
        return update(attempt).where(where).values({**{c: bindparam(c) for c in columns}, **constants})

    def put(table: Any, key: str, *columns: str) -> Executable:
        keys = key.split()
        statement = upsert(table).values({c: bindparam(c) for c in (*keys, *columns)})
        return statement.on_conflict_do_update(keys, set_={c: statement.excluded[c] for c in columns})

    fresh = {c: None for c in ("outcome", "exit_code", "error", "started_ms", "ended_ms")}
    new_columns = [
        "id",
        "user",
        "name",
        "state",
        "priority",
        "rank",
        "request",
        "waits",
        "attempts",
        "submitted_ms",
        "env",
        "spec",
        "work",
        "sweep",
        "preemptible",
        "limit_s",
        "account",
        "submitter",
        "gpus",
    ]
    edited = ("name", "priority", "rank", "request", "waits", "env", "spec", "work", "preemptible", "limit_s", "gpus")
    node_put = upsert(t.nodes).values({c: bindparam(c) for c in ("name", "cpus", "mem_mib", "drained")})
    known_put = upsert(t.nodes).values({c: bindparam(c) for c in ("name", "cpus", "mem_mib", "drained", "access")})
    usage = ("peak_mem_mib", "peak_rss_mib", "cpu_ms", "util_mean")
    keep_pid = {k: _coalesce(bindparam(f"b_{k}"), attempt.c[k]) for k in ("pid", "started_ms")}
    return {
        "meta": put(t.meta, "key", "value"),
        "env": upsert(t.environments).values(digest=bindparam("digest"), data=bindparam("data")).on_conflict_do_nothing(),
        "env_id": select(t.environments.c.id).where(t.environments.c.digest == bindparam("d")),
        "submit": insert(job).values({c: bindparam(c) for c in new_columns}),
        "label": upsert(t.labels).values(label=bindparam("label"), job=bindparam("job")).on_conflict_do_nothing(),
        "unlabel": delete(t.labels).where(t.labels.c.job == bindparam("b_id")),
        "edit": set_job(*edited),
        "text": put(t.texts, "job", "text"),
        "state": set_job("state"),
        "move": set_job("priority", "rank"),
        "rerun": set_job("rank", "waits", "request", **fresh, state="queued", retried=0, oom_retried=0),
        "try_again": set_job("request", "waits", "retried", "oom_retried", state="queued", started_ms=None),
        "intend": set_job("attempts", "node", state="starting"),
        "start": update(job).where(this_job).values(started_ms=bindparam("started_ms"), state=_unless_stopping(job)),
        "wait": set_job("waits"),
        "requeue": set_job(state="queued", started_ms=None, waits=None, node=None),
        "end": set_job(
            "outcome",
            "exit_code",
            "error",
            "ended_ms",
            state="ended",
            started_ms=_coalesce(bindparam("b_started_ms"), job.c.started_ms),
        ),
        "attempt": insert(attempt).values(
            {c: bindparam(c) for c in ("job", "attempt", "node", "gpus", "state", "intended_ms", "granted_mib")}
        ),
        "attempt_start": set_attempt(this_attempt, "started_ms", "pid", state="running"),
        "attempt_stop": update(attempt).where(last_attempt).values(stop=_stop_reason(attempt)),
        "attempt_refuse": set_attempt(this_attempt, "ended_ms", "error", state="refused"),
        "attempt_end": set_attempt(
            last_attempt, "ended_ms", "outcome", "exit_code", "error", *usage, state="ended", **keep_pid
        ),
        "job_env": select(job.c.env).where(this_job),
        "remove": delete(job).where(this_job),
        "remove_text": delete(t.texts).where(t.texts.c.job == bindparam("b_id")),
        "remove_attempts": delete(attempt).where(attempt.c.job == bindparam("b_id")),
        "remove_events": delete(t.events).where(t.events.c.job == bindparam("b_id")),
        "remove_results": delete(t.results).where(t.results.c.job == bindparam("b_id")),
        "remove_courses": delete(t.courses).where(t.courses.c.job == bindparam("b_id")),
        "use": adding(),
        "prune_env": delete(t.environments).where(
            (t.environments.c.id == bindparam("b_env")) & ~exists().where(job.c.env == t.environments.c.id)
        ),
        "event": insert(t.events).values({c: bindparam(c) for c in ("at_ms", "job", "actor", "kind", "data")}),
        "job_told": select(job.c.user, job.c.name, job.c.attempts, job.c.spec).where(this_job),
        "notice": insert(t.notices).values({c.name: bindparam(c.name) for c in t.notices.c if c.name != "id"}),
        "submission": insert(t.submissions).values({c: bindparam(c) for c in ("key", "first", "count", "at_ms")}),
        "setting": put(t.settings, "key", "value"),
        "gpu_rules": put(t.gpus, "uuid", "slots", "disabled", "drained", "alias"),
        "history": insert(t.history).values({c.name: bindparam(c.name) for c in t.history.c if c.name != "id"}),
        "user": put(t.users, "name", "weight", "max_gpus", "max_jobs", "max_queued"),
        "group": update(t.sweeps).where(t.sweeps.c.id == bindparam("b_id")).values(max_running=bindparam("max_running")),
        "sweep": put(t.sweeps, SWEEP_COLUMNS[0], *SWEEP_COLUMNS[1:]),
        "result": put(t.results, "job key", *RESULT_COLUMNS[2:]),
        "audit": insert(t.audit).values({c: bindparam(c) for c in AUDIT_COLUMNS[1:]}),
        "gpu": _put_gpu(),
        "gpus_gone": update(t.gpus).where(t.gpus.c.node == bindparam("b_node")).values(node=None),
        "gpus_forgotten": update(t.gpus)
        .where(t.gpus.c.node == bindparam("b_node"))
        .values(node=None, slots=1, disabled=False, drained=False, alias=None),
        "access": known_put.on_conflict_do_update(["name"], set_={"access": known_put.excluded.access}),
        "node_gone": delete(t.nodes).where(t.nodes.c.name == bindparam("b_node")),
        "given_up": put(t.given_up, "node run", "left"),
        "accounted": delete(t.given_up).where(
            t.given_up.c.node == bindparam("b_node"), t.given_up.c.run == bindparam("b_run")
        ),
        "left": put(t.old_files, "node run", "channel"),
        "left_gone": delete(t.old_files).where(
            t.old_files.c.node == bindparam("b_node"), t.old_files.c.run == bindparam("b_run")
        ),
        "old_files_gone": delete(t.old_files).where(t.old_files.c.node == bindparam("b_node")),
        "login": put(t.logins, "node user", "login"),
        "login_gone": delete(t.logins).where(t.logins.c.node == bindparam("b_node"), t.logins.c.user == bindparam("b_user")),
        "logins_gone": delete(t.logins).where(t.logins.c.node == bindparam("b_node")),
        "drain": node_put.on_conflict_do_update(["name"], set_={"drained": node_put.excluded.drained}),
        "node": node_put.on_conflict_do_update(
            ["name"], set_={"cpus": node_put.excluded.cpus, "mem_mib": node_put.excluded.mem_mib}
        ),
    }


def _put_gpu() -> Executable:
    columns = ("node", "number", "model", "mem_mib", "mig")
    statement = upsert(t.gpus).values(
        {**{c: bindparam(c) for c in ("uuid", *columns)}, "slots": 1, "disabled": False, "drained": False}
    )
    return statement.on_conflict_do_update(["uuid"], set_={c: statement.excluded[c] for c in columns})


def _coalesce(first: Any, second: Any) -> Any:
    return func.coalesce(first, second)


def _unless_stopping(job: Any) -> Any:
    """A start that is reported after the stop was asked does not undo the asking."""
    return case(
        (job.c.state == literal_column("'stopping'"), literal_column("'stopping'")), else_=literal_column("'running'")
    )


def _stop_reason(attempt: Any) -> Any:
    """The first reason stands, but a removal that is asked for later is kept, and making room gives way to all else."""
    asked: Any = bindparam("b_stop")
    is_preempted = func.substr(attempt.c.stop, 1, 7) == literal_column("'preempt'")
    return case((asked == literal_column("'rm'"), asked), (is_preempted, asked), else_=_coalesce(attempt.c.stop, asked))


_WRITE: dict[type[ev.Event], Callable[[Writer, Any, list[Any], Batch], None]] = {
    ev.Submitted: Writer._submitted,
    ev.Edited: Writer._edited,
    ev.JobHeld: Writer._held,
    ev.Released: Writer._released,
    ev.Moved: Writer._moved,
    ev.StartIntended: Writer._start_intended,
    ev.Started: Writer._started,
    ev.StartRefused: Writer._start_refused,
    ev.Paused: Writer._paused,
    ev.Resumed: Writer._resumed,
    ev.StopAsked: Writer._stop_asked,
    ev.Ended: Writer._ended,
    ev.Requeued: Writer._requeued,
    ev.Rerun: Writer._rerun,
    ev.Removed: Writer._removed,
    ev.SettingChanged: Writer._setting,
    ev.SchedulingSwitched: Writer._switched,
    ev.GpuRuled: Writer._gpu_ruled,
    ev.UserRuled: Writer._user_ruled,
    ev.GroupLimited: Writer._group_limited,
    ev.NodeDrained: Writer._node_drained,
    ev.NodeSeen: Writer._node_seen,
    ev.NodeKnown: Writer._node_known,
    ev.NodeRemoved: Writer._node_removed,
    ev.LoginSet: Writer._login_set,
    ev.GivenUp: Writer._given_up,
    ev.Accounted: Writer._accounted,
    ev.FilesLeft: Writer._files_left,
    ev.FilesGone: Writer._files_gone,
}

_LOGGED = frozenset(
    {
        ev.JobHeld,
        ev.Released,
        ev.Moved,
        ev.Edited,
        ev.StartRefused,
        ev.Paused,
        ev.Resumed,
        ev.StopAsked,
        ev.Requeued,
        ev.Rerun,
        ev.SettingChanged,
        ev.SchedulingSwitched,
        ev.GpuRuled,
        ev.UserRuled,
        ev.GroupLimited,
        ev.NodeDrained,
    }
)
"""What the story of a job needs besides its attempts: mostly what people did."""
