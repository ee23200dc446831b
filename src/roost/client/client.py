"""The client: every route of the API as a method, answers as plain data.

    roost = Roost()                              # this user's server
    roost = Roost("https://lab.example.org")     # another, with the token of `ROOST_TOKEN` or of `roost login`
    job = roost.submit("python train.py", gpus=2, mem_mib=8192)

A job is a dict as `docs/reference/api.md` describes it. Errors are those of `roost.client.errors`. One object is one
connection: use one per thread.
"""

import os

from roost.client import paths
from roost.client.jsontext import Any, Callable, Iterable, Iterator, Json, Mapping, Sequence
from roost.client.server_api import API, ServerApi, query, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from roost.client.follow import Follow
    from roost.client.nodes import Fleet
    from roost.client.people import People

    Command = str | Sequence[str]

_OF_A_SWEEP = ("where", "dir", "samples", "seed", "points", "max_running")
_LONG_S = 900.0  # a million jobs in one request take their time


def new_key() -> str:
    """A name for one submit, so that it can be repeated."""
    return os.urandom(12).hex()


def _route(path: str, meaning: str) -> "Callable[[Roost], Json]":
    """A method that asks for what is there, and gives it as it comes."""

    def get(self: "Roost") -> "Json":
        return self._get(path)

    get.__doc__ = meaning
    return get


def _action(name: str, meaning: str) -> "Callable[[Roost, str], Json]":
    """A method that does one thing to the jobs with these ids, and gives `done` and `skipped`."""

    def act(self: "Roost", ids: str) -> "Json":
        return self.act(name, ids)

    act.__name__, act.__doc__ = name, meaning
    return act


class Roost(ServerApi):
    """A server of Roost, as seen by a program. Connects at the first call."""

    notice: "Json | None" = None
    """What everybody is to see, as the last submit was told."""

    @property
    def people(self) -> "People":
        """Who I am, tokens, users, the audit."""
        from roost.client.people import People

        return People(self)

    @property
    def fleet(self) -> "Fleet":
        """Nodes: add, check, trust, remove; and logins there."""
        from roost.client.nodes import Fleet

        return Fleet(self)

    def __enter__(self) -> "Roost":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Submitting

    def submit(self, command: "Command", *, env: "Mapping[str, str] | None" = None, **spec: "Any") -> int:
        """Queue one job and give its id. It is committed when this returns.

        A list is an argv, kept exactly; a string is a shell line. Other keys are those of a JobSpec. The job gets this
        process's directory and environment unless `cwd` and `env` say otherwise.
        """
        return self.submit_many([_job(command, env, spec)])[0]

    def submit_many(
        self, jobs: "Sequence[Mapping[str, Any]]", envs: "Sequence[Mapping[str, str]]" = (), key: str | None = None
    ) -> list[int]:
        """Queue jobs, all or none, and give their ids. A job's `env` may be a position in `envs`.

        When the answer was lost, the same call with the same `key` (`new_key()`) queues nothing twice.
        """
        body = {"jobs": list(jobs), "envs": list(envs), "key": key or new_key()}
        answer = self._post("/jobs", body, wait_s=_LONG_S)
        self.notice = answer.get("notice")
        ids: list[int] = answer["ids"]
        return ids

    def dry_run(self, jobs: "Sequence[Mapping[str, Any]]", envs: "Sequence[Mapping[str, str]]" = ()) -> "list[Json]":
        """What would happen to these jobs, each: `would`, `gpus`, `reasons`. Nothing is queued."""
        answer = self._post("/jobs", {"jobs": list(jobs), "envs": list(envs), "dry_run": True}, wait_s=_LONG_S)
        found: list[Json] = answer["jobs"]
        return found

    def sweep(
        self, command: "Command", params: "Mapping[str, Any]", *, env: "Mapping[str, str] | None" = None, **asked: "Any"
    ) -> "Json":
        """Queue a job for every point and give `sweep` and `ids`. Names in braces in the command are filled in.

        A parameter is a text like `0..4` or a list of values. Keys of a sweep (`where`, `dir`, `samples`, `seed`,
        `points`, `max_running`) belong to it, all others are those of a JobSpec.
        """
        job = _job(command, env, asked)
        whole = {key: job.pop(key) for key in _OF_A_SWEEP if key in job}
        return self.make_sweep({"job": job, "params": dict(params), **whole})

    def make_sweep(self, body: "Mapping[str, Any]") -> "Json":
        """Queue a sweep as the API describes it. The same body with the same `key` queues nothing twice."""
        return self._post("/sweeps", {"key": new_key(), **body}, wait_s=_LONG_S)

    def extend_sweep(self, sweep: int, body: "Mapping[str, Any]") -> "Json":
        """Queue the points that a sweep does not have yet; `sweep` and the new `ids`."""
        return self._post(f"/sweeps/{sweep}/extend", {"key": new_key(), **body}, wait_s=_LONG_S)

    def limit_sweep(self, sweep: int, max_running: int | None) -> "Json":
        """Let at most so many jobs of a sweep run at once; None: any number."""
        return self._post(f"/sweeps/{sweep}/limit", {"max_running": max_running})

    def sweeps(self) -> "list[Json]":
        """The newest sweeps, with how far they are."""
        return self._list("/sweeps", "sweeps")

    def show_sweep(self, sweep: int | None = None) -> "Json":
        """A sweep with its points and their results; your last one unless a number is given."""
        return self._get(f"/sweeps/{'last' if sweep is None else sweep}", wait_s=_LONG_S)

    def report(self, job: int, results: "Mapping[str, Any]", *, attempt: int | None = None) -> "Json":
        """Say how a job went: numbers and short texts by name. The last word on a key stands."""
        return self._post(f"/jobs/{job}/results", {"results": dict(results), "attempt": attempt})

    def results(self, job: int) -> "Json":
        """What a job reported, by name: `value`, `attempt`, `at`."""
        found: Json = self._get(f"/jobs/{job}/results")["results"]
        return found

    # Looking

    def jobs(
        self,
        ids: str = "",
        *,
        state: "Iterable[str]" = (),
        user: str = "",
        label: "Iterable[str]" = (),
        sweep: int | None = None,
        all: bool = False,
        limit: int | None = None,
        cursor: str = "",
        node: str = "",
        search: str = "",
        sort: str = "",
        offset: int = 0,
    ) -> "Json":
        """One page of jobs: `jobs`, `total`, `counts`, `next`."""
        narrow = query(
            ids=ids,
            state=",".join(state),
            user=user,
            label=",".join(label),
            sweep=sweep,
            all="true" if all else "",
            limit="" if limit is None else str(limit),
            cursor=cursor,
            node=node,
            search=search,
            sort=sort,
            offset=offset or "",
        )
        return self._get("/jobs" + narrow)

    facets = _route("/jobs/facets", "What a listing can be narrowed to: `states`, `users`, `labels`, `nodes`.")

    def all_jobs(self, ids: str = "", **narrow: "Any") -> "Iterator[Json]":
        """Every job that matches, page after page."""
        cursor = ""
        while True:
            page = self.jobs(ids, cursor=cursor, **{"limit": 1000, **narrow})
            yield from page["jobs"]
            cursor = page.get("next") or ""
            if not cursor:
                return

    def job(self, job: int) -> "Json":
        """One job, whole."""
        return self._get(f"/jobs/{job}")

    def env(self, job: int) -> dict[str, str]:
        """The environment of a job of one's own."""
        env: dict[str, str] = self._get(f"/jobs/{job}/env")["env"]
        return env

    def why(self, job: int) -> "Json":
        """Why a job waits: `state`, `reasons`, `text`."""
        return self._get(f"/jobs/{job}/why")

    def wait(self, ids: "str | Iterable[int]", timeout_s: float | None = None) -> "list[Json]":
        """Wait until all have ended, or the time is over; `id`, `state`, `outcome`, `exit_code` of each."""
        text = ids if isinstance(ids, str) else ",".join(map(str, ids))
        narrow = query(ids=text, timeout_s="" if timeout_s is None else f"{timeout_s:g}")
        return self._list("/jobs/wait" + narrow, "jobs", wait_s=None)

    # Logs

    def log(
        self,
        job: int,
        *,
        stream: str = "out",
        attempt: int | None = None,
        offset: int | None = None,
        limit: int | None = None,
        lines: int | None = None,
    ) -> bytes:
        """Output of a job as it stands: a part by `offset` and `limit`, or the last `lines`, or what there is."""
        narrow = query(stream=stream, attempt=attempt, offset=offset, limit=limit, lines=lines)
        return self._raw(f"/jobs/{job}/log{narrow}").read()

    def log_pieces(
        self, job: int, *, stream: str = "out", attempt: int | None = None
    ) -> "Iterator[tuple[bytes, Mapping[str, str]]]":
        """The whole output, piece by piece, each with the headers that came with it (`roost-dropped`)."""
        offset = 0
        while True:
            answer = self._raw(f"/jobs/{job}/log" + query(stream=stream, attempt=attempt, offset=offset))
            data = answer.read()
            yield data, answer.headers
            offset = int(answer.headers.get("roost-offset", offset)) + len(data)
            if not data or offset >= int(answer.headers.get("roost-size", 0)):
                return

    def follow(
        self,
        job: int,
        *,
        attempt: int | None = None,
        from_attempt: int | None = None,
        offset_out: int | None = None,
        offset_err: int | None = None,
        lines: int | None = None,
    ) -> "Follow":
        """The job's output as it is written, until it has ended: see `Follow`. Of one attempt, or of all from one on."""
        narrow = query(attempt=attempt, from_attempt=from_attempt, offset_out=offset_out, offset_err=offset_err, lines=lines)
        from roost.client.follow import Follow

        return Follow(self.address, f"{API}/jobs/{job}/log/follow{narrow}", self._token)

    def server_log(self, lines: int | None = None) -> bytes:
        """The end of the server's own log."""
        return self._raw("/log/server" + query(lines=lines)).read()

    # Acting

    def act(self, action: str, select: "Mapping[str, Any] | str", **parameters: "Any") -> "Json":
        """Do something to the selected jobs: `done`, `skipped`, and `ids` for a clone."""
        chosen = {"ids": select} if isinstance(select, str) else dict(select)
        return self._post("/jobs/actions", {"action": action, "select": chosen, **parameters}, wait_s=_LONG_S)

    def kill(self, ids: str, *, grace_s: int | None = None) -> "Json":
        """End jobs, every process of them."""
        return self.act("kill", ids, **({} if grace_s is None else {"grace_s": grace_s}))

    pause = _action("pause", "Freeze running jobs. They keep their GPUs and their GPU memory.")
    resume = _action("resume", "Thaw paused jobs.")
    hold = _action("hold", "Keep waiting jobs from starting.")
    release = _action("release", "Let held jobs go.")
    rerun = _action("rerun", "Queue ended jobs again, as a new attempt.")
    preempt = _action("preempt", "Ask preemptible jobs to make room; they wait again.")
    rm = _action("rm", "Remove jobs and their logs; a running one is ended first.")

    def move(self, job: int, position: int) -> "Json":
        """Put a waiting job at a place of the queue, 0 being the head."""
        return self.act("move", str(job), position=position)

    def start(self, ids: str, gpu_ids: "Sequence[str] | None" = None) -> "Json":
        """Start waiting jobs now, past the queue."""
        return self.act("start", ids, **({} if gpu_ids is None else {"gpu_ids": list(gpu_ids)}))

    def edit(self, ids: str, **changes: "Any") -> "Json":
        """Change waiting jobs; they keep their age."""
        return self.act("edit", ids, changes=changes)

    def clone(self, ids: str, **changes: "Any") -> list[int]:
        """Queue copies of jobs and give their ids."""
        made: list[int] = self.act("clone", ids, changes=changes)["ids"]
        return made

    # The box

    gpus = _route("/gpus", "Every GPU with what is on it, and the CPU slots.")

    def gpu_action(self, action: str, gpus: "Sequence[str]", **parameters: "Any") -> "Json":
        """`disable`, `enable`, `drain`, `undrain`, `release` or `set` GPUs."""
        return self._post("/gpus/actions", {"action": action, "gpus": list(gpus), **parameters})

    nodes = _route("/nodes", "Every node.")

    def drain(self, targets: "Sequence[str]", *, undrain: bool = False) -> "Json":
        """Start nothing new on these nodes or GPUs; or again."""
        return self._post("/drain", {"targets": list(targets), "undrain": undrain})

    status = _route("/status", "The server, its nodes, counts of jobs and GPUs, health.")

    settings = _route("/settings", "Every setting with value, default and meaning.")

    def set(self, key: str, value: "Any") -> "Json":
        """Change a setting."""
        return self._send("PUT", "/settings", {key: value})

    policy = _route("/policy", "The scheduling policy in force, and those there are.")

    def set_policy(self, policy: str) -> "Json":
        """Schedule by another policy from now on."""
        return self._send("PUT", "/policy", {"policy": policy})

    def users(self) -> "list[Json]":
        """Everybody who has rules or a job that is not ended: weight, quotas, what each has now."""
        return self._list("/users", "users")

    def user(self, name: str) -> "Json":
        """One user, known or not."""
        return self._get(f"/users/{quoted(name)}")

    def set_user(self, name: str, **rules: "float | str | None") -> "Json":
        """Change `weight`, `max_gpus`, `max_jobs`, `max_queued`; None lifts a quota, what is not named stays."""
        return self._send("PATCH", f"/users/{quoted(name)}", rules)

    def history(self, since: str = "", *, limit: int | None = None, cursor: int | None = None) -> "Json":
        """One page of runs that ended, at that time (RFC 3339) or later, the newest first: `history`, `next`."""
        return self._get("/history" + query(since=since, limit=limit, cursor=cursor))

    def all_history(self, since: str = "") -> "Iterator[Json]":
        """Every run that ended since then, page after page."""
        cursor = None
        while True:
            page = self.history(since, limit=10_000, cursor=cursor)
            yield from page["history"]
            cursor = page["next"]
            if cursor is None:
                return

    # Being told

    def notify_targets(self) -> "list[Json]":
        """Your targets: `id`, `target` (never the whole URL), `events`, `waiting`, `error`."""
        return self._list("/notify", "targets")

    def notify_add(
        self, url: str, events: "Sequence[str] | None" = None, *, lang: str = "en", label: str | None = None
    ) -> "Json":
        """Be told there. `events` are like `end`, `fail`, `gpu_free`."""
        chosen = {} if events is None else {"events": list(events)}
        return self._post("/notify", {"url": url, "lang": lang, "label": label, **chosen})

    def notify_remove(self, target: int) -> "Json":
        """Be told there no more."""
        return self._send("DELETE", f"/notify/{target}", {})

    def notify_test(self, target: int) -> "Json":
        """Send a message there now: `sent`, `error`."""
        return self._post(f"/notify/{target}/test", {})

    def notify_failures(self, *, all: bool = False) -> "list[Json]":
        """Messages that could not be sent, yours or, for an administrator, everybody's."""
        return self._list("/notify/failures" + ("?all=true" if all else ""), "failures")

    def pause_scheduling(self, paused: bool = True) -> "Json":
        """Start nothing new, or go on."""
        return self._post("/scheduler", {"paused": paused})

    def archive(self, path: str, select: "Mapping[str, Any]") -> "Json":
        """Write ended jobs to a file, as the server's user, and remove them."""
        return self._post("/archive", {"path": path, "select": dict(select)})

    def backup(self, path: str) -> "Json":
        """Write all state to a file, as the server's user."""
        return self._post("/backup", {"path": path})

    def shutdown(self, *, kill: bool = False) -> "Json":
        """Ask the server to leave; running jobs go on unless `kill`."""
        return self._post("/shutdown", {"kill": kill})


def _job(command: "Command", env: "Mapping[str, str] | None", spec: "Json") -> "Json":
    """A JobSpec with this process's directory and variables, less the secret one, unless it has its own."""
    if env is None:
        env = {name: value for name, value in os.environ.items() if name != paths.TOKEN_VARIABLE}
    words = command if isinstance(command, str) else list(command)
    return {"cwd": os.getcwd(), **spec, "command": words, "env": dict(env)}
