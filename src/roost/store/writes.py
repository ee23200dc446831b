"""What an event changes in the tables: rows for statements (`_ROWS`), or a function of its own (`_WRITE`).

Each statement is built once, by SQLAlchemy for the dialect at hand, and then run on the driver itself: that is where the
speed of a commit comes from.
"""

from collections.abc import Callable, Iterable
from itertools import groupby
from operator import itemgetter
from typing import Any

import msgspec
from sqlalchemy import Dialect, Executable, bindparam, case, delete, exists, func, literal_column, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from roost.core import events as ev
from roost.core.model import Conditions, Shape
from roost.core.states import State
from roost.store import schema as t
from roost.store.filters import searched_text
from roost.store.notices import notices_of
from roost.store.rows import AuditRow, ResultRow, SweepRow
from roost.store.usage import Used, adding, summed

Row = dict[str, Any]


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
        self._in_order = self._sql["submit"].in_order((*_OF_JOB, *_OF_SHAPE))
        self._envs: dict[str, int] = {}
        self._unused: set[int] = set()
        self.wanted: dict[str, frozenset[str]] = {}
        """What users want to be told of. Replaced as a whole, never changed."""

    def write(self, cursor: Any, batch: Batch) -> None:
        """Write the whole batch. The transaction around it is the caller's."""
        new_envs = {digest: data for digest, data in batch.envs.items() if digest not in self._envs}
        self._run(cursor, "env", [{"digest": digest, "data": data} for digest, data in new_envs.items()])
        if batch.last_job is not None:
            self._run(cursor, "meta", [{"key": "last_job", "value": str(batch.last_job)}])
        for key, first, count, at_ms in batch.submissions:
            self._run(cursor, "submission", [{"key": key, "first": first, "count": count, "at_ms": at_ms}])
        for name, said in (("sweep", batch.sweeps), ("result", batch.results)):
            if said:
                self._run(cursor, name, map(msgspec.structs.asdict, said))
        over = _over(batch.events) if not self.wanted else set()
        stored = [
            (i, e)
            for i, e in enumerate(batch.events)
            if not isinstance(e, ev.MOMENTARY) and not (isinstance(e, ev.Started) and e.id in over)
        ]
        for kind, group in groupby(stored, key=lambda pair: type(pair[1])):
            pairs = list(group)
            _WRITE.get(kind, Writer._write_rows)(self, cursor, [e for _, e in pairs], batch)
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

    def _one(self, cursor: Any, name: str, row: Row) -> Any:
        statement = self._sql[name]
        cursor.execute(statement.sql, statement.parameters(row))
        return cursor.fetchone()

    def _log(self, cursor: Any, pairs: list[tuple[int, Any]], batch: Batch) -> None:
        rows = []
        for i, e in pairs:
            data = msgspec.to_builtins(e)
            kind = data.pop("type")
            job, at_ms = data.pop("id", None), data.pop("at_ms", 0)
            data.pop("job", None)
            if isinstance(e, ev.StopAsked):
                data["why"] = str(e.why)
            rows.append({"at_ms": at_ms, "job": job, "actor": batch.actors.get(i), "kind": kind, "data": _json(data)})
        self._run(cursor, "event", rows)

    def _write_rows(self, cursor: Any, events: list[Any], batch: Batch) -> None:
        for names, row_of in _ROWS[type(events[0])]:
            rows = list(map(row_of, events))
            for name in names.split():
                self._run(cursor, name, rows)

    def _told(self, cursor: Any, events: list[ev.Started | ev.Ended], batch: Batch) -> None:
        """Write them, and what somebody wants to be told of; that costs nothing where nobody does."""
        self._write_rows(cursor, events, batch)
        if self.wanted:
            rows = notices_of(events, self.wanted, lambda job: self._one(cursor, "job_told", {"b_id": job}))
            self._run(cursor, "notice", rows)

    def _submitted(self, cursor: Any, events: list[ev.Submitted], batch: Batch) -> None:
        shapes: dict[int, tuple[Any, ...]] = {}
        rows = []
        for e in events:
            shape = e.job.shape
            if (shared := shapes.get(id(shape))) is None:
                shared = shapes[id(shape)] = _of_shape(shape)
            own = self._of_job(cursor, e, batch.new[e.id], "held" if e.held else "queued")
            rows.append(self._in_order(own + shared))
        cursor.executemany(self._sql["submit"].sql, rows)
        self._run(cursor, "text", [_text(e, batch.new[e.id]) for e in events])
        self._run(cursor, "label", [{"label": label, "job": e.id} for e in events for label in batch.new[e.id].labels])

    def _edited(self, cursor: Any, events: list[ev.Edited], batch: Batch) -> None:
        for e in events:
            new = batch.new[e.id]
            values = self._of_job(cursor, e, new, "") + _of_shape(e.job.shape)
            self._run(cursor, "edit", [{"b_id": e.id, **dict(zip((*_OF_JOB, *_OF_SHAPE), values, strict=True))}])
            self._run(cursor, "text", [_text(e, new)])
            self._run(cursor, "unlabel", [{"b_job": e.id}])
            self._run(cursor, "label", [{"label": label, "job": e.id} for label in new.labels])

    def _of_job(self, cursor: Any, e: ev.Submitted | ev.Edited, new: NewJob, state: str) -> tuple[Any, ...]:
        """The values of `_OF_JOB`."""
        job, env = e.job, self._env_of(cursor, new.env)
        own = (e.id, state, 0, job.submitted_ms, new.submitter, new.name, job.rank)
        return (*own, _waits(e.conditions), env, new.spec)

    def _env_of(self, cursor: Any, env: EnvRef | None) -> int | None:
        if not isinstance(env, NewEnv):
            return env.number if env is not None else None
        if env.digest not in self._envs:
            self._envs[env.digest] = int(self._one(cursor, "env_id", {"d": env.digest})[0])
        return self._envs[env.digest]

    def _removed(self, cursor: Any, events: list[ev.Removed], batch: Batch) -> None:
        rows = [{"b_id": e.id, "b_job": e.id} for e in events]
        envs = [self._one(cursor, "job_env", row) for row in rows]
        names = ("remove", "remove_attempts", "remove_text", "unlabel", "remove_events", "remove_results", "remove_courses")
        for name in names:
            self._run(cursor, name, rows)
        self._unused.update(found[0] for found in envs if found is not None and found[0] is not None)

    def _prune(self, cursor: Any) -> None:
        """Drop the environments of removed jobs. After all else: a job of the same batch may use one again."""
        if self._unused:
            self._run(cursor, "prune_env", [{"b_env": env} for env in sorted(self._unused)])
            self.forget()

    def _node_seen(self, cursor: Any, events: list[ev.NodeSeen], batch: Batch) -> None:
        for e in events:
            row = {"name": e.node, "cpus": e.cpus, "mem_mib": e.mem_mib, "hostname": e.hostname, "drained": False}
            self._run(cursor, "node", [row])
            self._run(cursor, "gpus_gone", [{"b_node": e.node}])
            new = {"node": e.node, "slots": 1, "disabled": False, "drained": False}
            self._run(cursor, "gpu", [{**new, "number": g.index, **msgspec.structs.asdict(g)} for g in e.gpus])

    def _login_set(self, cursor: Any, events: list[ev.LoginSet], batch: Batch) -> None:
        for e in events:
            if e.login is None:
                self._run(cursor, "login_gone", [{"b_node": e.node, "b_user": e.user}])
            else:
                self._run(cursor, "login", [{"node": e.node, "user": e.user, "login": _json(e.login)}])


def _over(events: Iterable[ev.Event]) -> set[int]:
    """Jobs whose end, in the same batch, says all that their start says: that is not written first."""
    ended = (e for e in events if isinstance(e, ev.Ended))
    return {e.id for e in ended if e.usage.pid is not None and e.usage.started_ms is not None}


class _Statement:
    """SQL for one dialect, and how its parameters are laid out."""

    def __init__(self, statement: Executable, dialect: Dialect) -> None:
        compiled = statement.compile(dialect=dialect)  # type: ignore[attr-defined]
        self.sql = str(compiled)
        self._order = [(name, compiled.params[name]) for name in compiled.positiontup]

    def in_order(self, names: tuple[str, ...]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
        """What puts values, which come in the order of these names, into the order of the statement."""
        return itemgetter(*(names.index(name) for name, _ in self._order))

    def parameters(self, row: Row) -> list[Any]:
        get = row.get
        return [get(name, constant) for name, constant in self._order]


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


_OF_JOB = ("id", "state", "attempts", "submitted_ms", "submitter", "name", "rank", "waits", "env", "spec")
_OF_SHAPE = ("user", "priority", "request", "work", "preemptible", "limit_s", "gpus", "account", "sweep")
"""Columns of a new job, apart from those that jobs of one shape have in common."""


def _of_shape(shape: Shape) -> tuple[Any, ...]:
    """The values of `_OF_SHAPE`."""
    request, of_run = shape.request, (shape.work, shape.preemptible, shape.limit_s)
    return (shape.user, shape.priority, _json(request), *of_run, request.gpus, shape.account, shape.group)


def _waits(conditions: Conditions) -> str | None:
    return _json(conditions) if conditions.after or conditions.begin_ms is not None else None


def _text(e: ev.Submitted | ev.Edited, new: NewJob) -> Row:
    return {"job": e.id, "text": searched_text(new.name, new.command_line, e.job.shape.user, new.labels)}


def _attempt_end(e: ev.Ended | ev.Requeued) -> Row:
    usage = msgspec.structs.asdict(e.usage)
    return {
        "b_id": e.id,
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

    def new(table: Any, *columns: str) -> Any:
        return upsert(table).values({c: bindparam(c) for c in columns or [c.name for c in table.c if c.name != "id"]})

    def set_job(*columns: str, **constants: Any) -> Executable:
        return update(job).where(this_job).values({**{c: bindparam(c) for c in columns}, **constants})

    def set_attempt(where: Any, *columns: str, **constants: Any) -> Executable:
        return update(attempt).where(where).values({**{c: bindparam(c) for c in columns}, **constants})

    def put(table: Any, key: str, *changed: str, once: tuple[str, ...] = ()) -> Any:
        statement = new(table, *key.split(), *changed, *once)
        return statement.on_conflict_do_update(key.split(), set_={c: statement.excluded[c] for c in changed})

    def gone(table: Any, *keys: str) -> Executable:
        return delete(table).where(*(table.c[key] == bindparam(f"b_{key}") for key in keys))

    def set_gpus(**constants: Any) -> Executable:
        return update(t.gpus).where(t.gpus.c.node == bindparam("b_node")).values(node=None, **constants)

    fresh = {c: None for c in ("outcome", "exit_code", "error", "started_ms", "ended_ms")}
    edited = ("name", "priority", "rank", "request", "waits", "env", "spec", "work", "preemptible", "limit_s", "gpus")
    intended = ("job", "attempt", "node", "gpus", "state", "intended_ms", "granted_mib", "nonce")
    ended = ("ended_ms", "outcome", "exit_code", "error")
    usage = ("peak_mem_mib", "peak_rss_mib", "cpu_ms", "util_mean")
    keep_pid: dict[str, Any] = {k: func.coalesce(bindparam(f"b_{k}"), attempt.c[k]) for k in ("pid", "started_ms")}
    started_ms: Any = func.coalesce(bindparam("b_started_ms"), job.c.started_ms)
    return {
        "meta": put(t.meta, "key", "value"),
        "env": new(t.environments).on_conflict_do_nothing(),
        "env_id": select(t.environments.c.id).where(t.environments.c.digest == bindparam("d")),
        "submit": new(job, *_OF_JOB, *_OF_SHAPE),
        "label": new(t.labels).on_conflict_do_nothing(),
        "unlabel": gone(t.labels, "job"),
        "edit": set_job(*edited),
        "text": put(t.texts, "job", "text"),
        "state": set_job("state"),
        "move": set_job("priority", "rank"),
        "rerun": set_job("rank", "waits", "request", **fresh, state="queued", retried=0, oom_retried=0),
        "try_again": set_job("request", "waits", "retried", "oom_retried", state="queued", started_ms=None),
        "intend": set_job("attempts", "node", state="starting"),
        "start": set_job("started_ms", state=_unless_stopping(job)),
        "wait": set_job("waits"),
        "requeue": set_job(state="queued", started_ms=None, waits=None, node=None),
        "end": set_job(*ended, state="ended", started_ms=started_ms),
        "attempt": new(attempt, *intended),
        "attempt_start": set_attempt(this_attempt, "started_ms", "pid", state="running"),
        "attempt_stop": set_attempt(last_attempt, stop=_stop_reason(attempt)),
        "attempt_refuse": set_attempt(this_attempt, "ended_ms", "error", state="refused"),
        "attempt_end": set_attempt(last_attempt, *ended, *usage, state="ended", **keep_pid),
        "job_env": select(job.c.env).where(this_job),
        "remove": gone(job, "id"),
        "remove_text": gone(t.texts, "job"),
        "remove_attempts": gone(attempt, "job"),
        "remove_events": gone(t.events, "job"),
        "remove_results": gone(t.results, "job"),
        "remove_courses": gone(t.courses, "job"),
        "use": adding(),
        "prune_env": delete(t.environments).where(
            (t.environments.c.id == bindparam("b_env")) & ~exists().where(job.c.env == t.environments.c.id)
        ),
        "event": new(t.events),
        "job_told": select(job.c.user, job.c.name, job.c.attempts, job.c.spec).where(this_job),
        "notice": new(t.notices),
        "submission": new(t.submissions),
        "setting": put(t.settings, "key", "value"),
        "gpu_rules": put(t.gpus, "uuid", "slots", "disabled", "drained", "alias"),
        "history": new(t.history),
        "user": put(t.users, "name", "weight", "max_gpus", "max_jobs", "max_queued"),
        "group": update(t.sweeps).where(t.sweeps.c.id == bindparam("b_id")).values(max_running=bindparam("max_running")),
        "sweep": put(t.sweeps, "id", "user", "name", "created_ms", "max_running", "design"),
        "result": put(t.results, "job key", "value", "attempt", "at_ms"),
        "gpu": put(t.gpus, "uuid", "node", "number", "model", "mem_mib", "mig", once=("slots", "disabled", "drained")),
        "gpus_gone": set_gpus(),
        "gpus_forgotten": set_gpus(slots=1, disabled=False, drained=False, alias=None),
        "access": put(t.nodes, "name", "access", once=("cpus", "mem_mib", "drained")),
        "node_gone": delete(t.nodes).where(t.nodes.c.name == bindparam("b_node")),
        "given_up": put(t.given_up, "node run", "left"),
        "accounted": gone(t.given_up, "node", "run"),
        "left": put(t.old_files, "node run", "channel"),
        "left_gone": gone(t.old_files, "node", "run"),
        "old_files_gone": gone(t.old_files, "node"),
        "login": put(t.logins, "node user", "login"),
        "login_gone": gone(t.logins, "node", "user"),
        "logins_gone": gone(t.logins, "node"),
        "drain": put(t.nodes, "name", "drained", once=("cpus", "mem_mib")),
        "node": put(t.nodes, "name", "cpus", "mem_mib", "hostname", once=("drained",)),
    }


def _unless_stopping(job: Any) -> Any:
    """A start that is reported after the stop was asked does not undo the asking."""
    return case(
        (job.c.state == literal_column("'stopping'"), literal_column("'stopping'")), else_=literal_column("'running'")
    )


def _stop_reason(attempt: Any) -> Any:
    """The first reason stands, but a removal that is asked for later is kept, and making room gives way to all else."""
    asked: Any = bindparam("b_stop")
    is_preempted = func.substr(attempt.c.stop, 1, 7) == literal_column("'preempt'")
    return case((asked == literal_column("'rm'"), asked), (is_preempted, asked), else_=func.coalesce(attempt.c.stop, asked))


_WRITE: dict[type[ev.Event], Callable[[Writer, Any, list[Any], Batch], None]] = {
    ev.Submitted: Writer._submitted,
    ev.Edited: Writer._edited,
    ev.Started: Writer._told,
    ev.Ended: Writer._told,
    ev.Removed: Writer._removed,
    ev.NodeSeen: Writer._node_seen,
    ev.LoginSet: Writer._login_set,
}


def _becomes(state: State) -> tuple[str, Callable[[Any], Row]]:
    return "state", lambda e: {"b_id": e.id, "state": state.value}


_Rows = dict[type[ev.Event], list[tuple[str, Callable[[Any], Row]]]]
"""Names of statements, and the row that is written by each of them."""
_STORY: _Rows = {
    ev.JobHeld: [_becomes(State.HELD)],
    ev.Released: [_becomes(State.QUEUED)],
    ev.Paused: [_becomes(State.PAUSED)],
    ev.Resumed: [_becomes(State.RUNNING)],
    ev.StopAsked: [_becomes(State.STOPPING), ("attempt_stop", lambda e: {"b_job": e.id, "b_stop": str(e.why)})],
    ev.Moved: [("move", lambda e: {"b_id": e.id, "priority": e.job.shape.priority, "rank": e.job.rank})],
    ev.Rerun: [
        (
            "rerun",
            lambda e: {
                "b_id": e.id,
                "rank": e.job.rank,
                "waits": _waits(e.conditions),
                "request": _json(e.job.shape.request),
            },
        )
    ],
    ev.StartRefused: [
        ("requeue", lambda e: {"b_id": e.id}),
        ("attempt_refuse", lambda e: {"b_job": e.id, "b_attempt": e.attempt, "ended_ms": e.at_ms, "error": e.reason}),
    ],
    ev.Requeued: [
        (
            "try_again",
            lambda e: {
                "b_id": e.id,
                "request": _json(e.job.shape.request),
                "waits": _waits(Conditions((), e.again_ms)),
                "retried": e.retried,
                "oom_retried": e.oom_retried,
            },
        ),
        ("attempt_end", _attempt_end),
    ],
    ev.SettingChanged: [("setting", lambda e: {"key": e.key, "value": _json(e.value)})],
    ev.SchedulingSwitched: [("meta", lambda e: {"key": "paused", "value": "1" if e.paused else "0"})],
    ev.GpuRuled: [("gpu_rules", lambda e: {"uuid": e.uuid, **msgspec.structs.asdict(e.rules)})],
    ev.UserRuled: [("user", lambda e: {"name": e.user, **msgspec.structs.asdict(e.rules)})],
    ev.GroupLimited: [("group", lambda e: {"b_id": e.group, "max_running": e.max_running})],
    ev.NodeDrained: [("drain", lambda e: {"name": e.node, "cpus": 0, "mem_mib": 0, "drained": e.drained})],
}
"""What the story of a job needs besides its attempts: mostly what people did."""
_LOGGED = frozenset({ev.Edited, *_STORY})
_ROWS: _Rows = {
    **_STORY,
    ev.StartIntended: [
        ("intend", lambda e: {"b_id": e.id, "attempts": e.attempt, "node": e.node}),
        (
            "attempt",
            lambda e: {
                "job": e.id,
                "attempt": e.attempt,
                "node": e.node,
                "gpus": _json(list(zip(e.gpus, e.indices, strict=True))),
                "state": "starting",
                "intended_ms": e.at_ms,
                "granted_mib": e.granted_mib,
                "nonce": e.nonce,
            },
        ),
    ],
    ev.Started: [
        ("start", lambda e: {"b_id": e.id, "started_ms": e.at_ms}),
        ("attempt_start", lambda e: {"b_job": e.id, "b_attempt": e.attempt, "started_ms": e.at_ms, "pid": e.pid}),
    ],
    ev.Ended: [("end attempt_end", _attempt_end)],
    ev.NodeKnown: [
        ("access", lambda e: {"name": e.node, "access": _json(e.access), "cpus": 0, "mem_mib": 0, "drained": False})
    ],
    ev.NodeRemoved: [("node_gone logins_gone gpus_forgotten old_files_gone", lambda e: {"b_node": e.node})],
    ev.GivenUp: [("given_up", lambda e: {"node": e.node, "run": e.run, "left": _json(e.left)})],
    ev.Accounted: [("accounted", lambda e: {"b_node": e.node, "b_run": e.run})],
    ev.FilesLeft: [("left", lambda e: {"node": e.node, "run": e.run, "channel": e.channel})],
    ev.Recalled: [("meta", lambda e: {"key": "recall", "value": _json(e.recall)})],
    ev.FilesGone: [("left_gone", lambda e: {"b_node": e.node, "b_run": e.run})],
}
