"""The server as the API sees it: everything that can be asked, in plain calls. Knows nothing of HTTP."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

import roost
from roost.answers.gpus import Gpus
from roost.answers.jobs import (
    Acted,
    ArchivedJob,
    BriefJob,
    BriefPage,
    DryRun,
    Happened,
    Job,
    JobFacets,
    JobPage,
    JobShown,
    Why,
)
from roost.answers.login import You
from roost.answers.nodes import Node
from roost.answers.settings import Leaving, Policy, Server, Settings, Status
from roost.answers.users import Notice, User, UserDeleted
from roost.core import events as ev
from roost.core import policy as policies
from roost.core.accounts import NO_ACCOUNT
from roost.core.cluster import Cluster
from roost.core.errors import BadRequest, Conflict, Impossible, NotFound, NotPermitted
from roost.core.model import UserRules
from roost.core.plan.placement import no_such_node
from roost.core.results import Result
from roost.core.settings import TABLE
from roost.core.spec import JobSpec, check_defaults
from roost.core.states import WAITING, State
from roost.core.users import check_user
from roost.links.ssh import HostKey
from roost.server.clock import now_ms, rfc3339
from roost.server.history.recorder import Recorder
from roost.server.identity.login import Login
from roost.server.identity.pam import Pam
from roost.server.identity.people import FIRST, Caller, People
from roost.server.identity.redaction import Veil
from roost.server.nodes.fleet import Fleet
from roost.server.nodes.node_links import NodeLinks
from roost.server.rounds.commands import Act, Ask, Change_, Command, RuleUser, Who
from roost.server.rounds.engine import Engine
from roost.server.rounds.submit import Planned
from roost.server.views import job_rows, job_views
from roost.server.views.facets import Facets
from roost.server.views.forecasts import Foreseeing
from roost.server.views.selection import Select, check_search, parse_ids
from roost.server.views.start_estimates import Etas
from roost.server.views.user_views import user_view, users_view, with_account
from roost.store import listing, overview, reads
from roost.store.filters import COUNTED, is_bare
from roost.store.listing import Cut
from roost.store.rows import Filter, JobRow, SweepRow
from roost.store.store import Store

T = TypeVar("T")
MANY = 2_000_000
ARCHIVE_CHUNK = 1000
ACTED_AT_ONCE = 5000
READERS = 2
"""Threads that ask the store. More would only take the interpreter away from the loop, and with it from scheduling."""
PLACES = 1000
"""How far down the queue a place is counted."""
MOST_FORESEEN = 16
"""For so many jobs of a dry run it is thought out when they would start, each by itself."""


class Service:
    """One running server."""

    def __init__(self, home: Path, store: Store, engine: Engine, links: NodeLinks) -> None:
        self.home, self.store, self.engine, self.links = home, store, engine, links
        self.since_ms = now_ms()
        self.url = ""
        self.socket = ""
        self.on_shutdown: Callable[[], None] = lambda: None
        self._readers = ThreadPoolExecutor(READERS, "read")
        self._searcher = ThreadPoolExecutor(1, "search")
        self._facets = Facets(self.search, now_ms)
        self.people = People(store, lambda key: self.cluster.settings[key], now_ms)
        self.pam = Pam(self.people, lambda key: self.cluster.settings[key])
        self.login = Login(self.people, self.pam)
        self.fleet = Fleet(engine, self.people, links, self.node)
        self.foreseeing = Foreseeing(lambda: self.cluster, now_ms)
        engine.watchers.add(self.foreseeing.watch)
        self.etas = Etas(lambda: self.cluster, self.foreseeing.misses, now_ms)
        self.on_leave: set[Callable[[], None]] = set()
        """Told when the server leaves: who holds a connection for long ends it then."""
        self.is_leaving = False
        self.recorder = Recorder(store, lambda: self.cluster)
        engine.watchers.add(self.recorder.watch)

    @property
    def boot(self) -> str:
        """What no other start of a server has."""
        return f"{self.since_ms:x}-{os.getpid():x}"

    def leave(self) -> None:
        """The end has begun."""
        self.is_leaving = True
        for tell in list(self.on_leave):
            tell()

    @property
    def cluster(self) -> Cluster:
        """The live state; read only."""
        return self.engine.controller.cluster

    async def ask(self, caller: Caller, command: Command) -> Any:
        """Have somebody's command obeyed: it is known whose it is, and what he did is in the audit."""
        return await self.engine.ask(msgspec.structs.replace(command, by=caller.who))

    def veil(self, caller: Caller) -> Veil:
        """What is hidden from the caller, in private mode."""
        return Veil(caller, bool(self.cluster.settings["users.private"]))

    async def read(self, question: Callable[..., T], *arguments: Any) -> T:
        """Ask the store, off the loop."""
        return await asyncio.get_running_loop().run_in_executor(self._readers, self.store.read, question, *arguments)

    async def search(self, question: Callable[..., T], *arguments: Any) -> T:
        """Ask the store what may take long, behind others who do: never before one who only looks at a page."""
        return await asyncio.get_running_loop().run_in_executor(self._searcher, self.store.read, question, *arguments)

    # -- jobs -------------------------------------------------------------------------------------------------------

    async def page(
        self, caller: Caller, select: Select, cut: Cut, is_brief: bool = False, is_recent: bool = False
    ) -> JobPage | BriefPage:
        """A page of the listing, and how many match in all; with `is_brief` a short row of each job.

        With `is_recent`, jobs that ended long ago are left out.
        """
        wanted = await self.filter(caller, select)
        if is_recent:
            recent_ms = int(self.cluster.number("ls.recent_h") * 3_600_000)
            wanted = msgspec.structs.replace(wanted, ended_since_ms=now_ms() - recent_ms)
        is_whole = is_bare(msgspec.structs.replace(wanted, ended_since_ms=None)) and cut.sort == listing.QUEUE
        ask = self.read if is_whole and not cut.offset else self.search
        try:
            found = await ask(listing.page, self._as_shown(wanted), cut, not is_bare(wanted))
        except listing.BadCursor as error:
            raise BadRequest(str(error), "the same again without cursor") from None
        total = sum(self.cluster.counts[s] for s in State) if found.total is None else found.total
        is_counted = is_bare(wanted) or total <= COUNTED
        is_top = is_whole and cut.cursor is None and not cut.offset
        about: dict[str, Any] = {
            "total": total if is_counted else None,
            "total_at_least": total if is_counted else COUNTED,
            "counts": job_views.counts_view(self.cluster, now_ms()),
            "next": found.next,
            "nodes": len(self.cluster.nodes),
            "notice": self.notice(),
        }
        if is_brief:
            return BriefPage(jobs=await self.briefs(found.jobs, is_top), **about)
        return JobPage(jobs=await self.views(found.jobs, is_top), **about)

    def _as_shown(self, wanted: Filter) -> Filter:
        """The same of the states that people see now."""
        return msgspec.structs.replace(wanted, away=job_views.away(self.cluster, now_ms())) if wanted.states else wanted

    async def facets(self, viewer: str | None) -> JobFacets:
        """What a listing can be narrowed to; of labels only the viewer's, if there is one."""
        return await self._facets.view(job_views.counts_view(self.cluster, now_ms()), self.cluster.nodes, viewer)

    async def views(self, rows: list[JobRow], is_top: bool = False) -> list[Job]:
        """Those rows, as they are shown. At the top of the listing the waiting ones are the head of the queue."""
        attempts = await self.read(reads.attempts, [row.id for row in rows])
        queue = await self._places(rows, is_top)
        now = now_ms()
        own = self.people.own.name
        return [job_views.job_view(self.cluster, row, attempts.get(row.id, []), now, queue.get(row.id), own) for row in rows]

    async def briefs(self, rows: list[JobRow], is_top: bool = False) -> list[BriefJob]:
        """Those rows in brief."""
        last = await self.read(overview.last_attempts, [row.id for row in rows])
        queue = await self._places(rows, is_top)
        etas = await self.etas.fresh() if any(row.state in WAITING for row in rows) else {}
        moment = job_rows.Moment(self.cluster, now_ms(), etas)
        return [moment.row(job_rows.fixed(overview.Kept(row, last.get(row.id))), queue.get(row.id)) for row in rows]

    async def _places(self, rows: list[JobRow], is_top: bool) -> dict[int, int]:
        """Where in the queue those of them stand that wait, as far as that is counted."""
        waiting = [row.id for row in rows if row.state in WAITING]
        if is_top:
            return {job: n for n, job in enumerate(waiting)}
        head = await self.read(reads.queue_head, PLACES) if waiting else []
        return {job: n for n, (job, _, _) in enumerate(head)}

    async def job(self, job: int) -> Job:
        """One job."""
        return (await self.views([await self.row(job)]))[0]

    async def job_shown(self, job: int) -> JobShown:
        """One job, what it reported, and what was done to it."""
        view = await self.job(job)
        results = (await self.reported([job]))[job]
        return JobShown(**msgspec.structs.asdict(view), results=results, story=await self.story(job))

    async def why(self, job: int) -> Why:
        """Why a job waits, until when probably, and what would start now; of any other, where it is or how it ended."""
        view = await self.job(job)
        foreseen = await self.foreseeing.waiting(job) if view.state in WAITING else None
        return job_views.why_view(view, foreseen)

    async def dry_run(self, caller: Caller, jobs: list[JobSpec]) -> DryRun:
        """What would become of these jobs. Of the first that would wait it is said until when."""
        planned: Planned = await self.ask(caller, Ask(caller.name, jobs))
        for at, supposed in list(planned.supposed.items())[:MOST_FORESEEN]:
            estimate = msgspec.structs.asdict(await self.foreseeing.supposed(supposed))
            planned.jobs[at] = msgspec.structs.replace(planned.jobs[at], **estimate)
        return DryRun(planned.jobs)

    async def row(self, job: int) -> JobRow:
        """One job's row, or `NotFound`."""
        row = (await self.read(reads.jobs, [job])).get(job) if 0 < job < 1 << 63 else None
        if row is None:
            raise NotFound(f"there is no job {job}", "roost ls --all")
        return row

    async def own(self, caller: Caller, job: int, what: str) -> JobRow:
        """One job's row, when the caller may see what only its owner and administrators may."""
        row = await self.row(job)
        if not caller.is_admin and (row.user != caller.name or row.account != caller.account):
            raise NotPermitted(f"{what} of job {job} is shown to {row.user} and administrators only", f"roost show {job}")
        return row

    async def sweep(self, sweep: int) -> SweepRow:
        """A sweep's row, or `NotFound`."""
        row = await self.read(reads.sweep, sweep) if 0 < sweep < 1 << 31 else None
        if row is None:
            raise NotFound(f"there is no sweep {sweep}", "roost sweep ls")
        return row

    async def reported(self, jobs: list[int]) -> dict[int, dict[str, Result]]:
        """What those jobs reported, by name."""
        rows = await self.read(reads.results, jobs)
        return {job: {row.key: msgspec.json.decode(row.value) for row in rows.get(job, [])} for job in jobs}

    async def story(self, job: int) -> list[Happened]:
        """What was done to a job, by whom."""
        rows = await self.read(reads.events, job)
        about = ({"at": rfc3339(row.at_ms), "kind": row.kind, "actor": row.actor} for row in rows)
        return [
            msgspec.convert(msgspec.json.decode(row.data) | head, Happened) for row, head in zip(rows, about, strict=True)
        ]

    async def environment(self, caller: Caller, job: int) -> dict[str, str]:
        """A job's environment, for its owner."""
        row = await self.own(caller, job, "the environment")
        return await asyncio.to_thread(self.store.environment, row.env)

    async def select(self, caller: Caller, select: Select, with_missing: bool = False) -> list[int]:
        """The ids that are meant; `NotFound` when nothing matches, or a named one is not there and may not be missing."""
        wanted = await self.filter(caller, select)
        if (
            len(wanted.ids) == 1
            and wanted.ids[0][0] == wanted.ids[0][1]
            and wanted == Filter(wanted.ids, viewer=wanted.viewer)
        ):
            return [wanted.ids[0][0]]
        if wanted.states and self.engine.controller.has_lazy:
            await self.engine.ask(Change_("", {}))  # a commit: what is shown as running is found as running
        found = await (self.search if wanted.search else self.read)(listing.ids, self._as_shown(wanted), MANY)
        if not found:
            raise NotFound("no job matches", "roost ls --all")
        named = {a for a, b in wanted.ids if a == b}
        if wanted != Filter(wanted.ids, viewer=wanted.viewer) or not (missing := sorted(named - set(found))):
            return found
        if with_missing:
            return sorted({*found, *missing})
        raise NotFound(f"there is no job {missing[0]}", "roost ls --all")

    async def filter(self, caller: Caller, select: Select) -> Filter:
        """A selection as the store understands it."""
        if select.is_empty:
            raise BadRequest("say which jobs: an id, 10-20, @, all, --label, --state")
        ranges: list[tuple[int, int]] = []
        for item in parse_ids(select.ids):
            if isinstance(item, tuple):
                ranges.append(item)
            else:
                last = await self.read(reads.last_id, caller.name, item)
                if last is None:
                    raise NotFound("you have no such job yet", "roost submit …")
                ranges.append((last, last))
        if select.sweep is not None:
            await self.sweep(select.sweep)
        wanted = Filter(
            ids=tuple(ranges),
            states=select.state_names(),
            users=tuple(filter(None, (select.user or "").split(","))),
            labels=tuple(select.labels),
            sweep=select.sweep,
            node=select.node,
            search=check_search(select.search),
        )
        return self.veil(caller).filter(wanted)

    async def act(self, caller: Caller, command: Act, select: Select) -> Acted:
        """Resolve the selection, then do it. Where no job is named, a caller who is no administrator means their own."""
        if not caller.is_admin and not select.ids and not select.user and select.sweep is None:
            select = msgspec.structs.replace(select, user=caller.name)
        ids = await self.select(caller, select, with_missing=True)
        parts: list[Acted] = [
            await self.ask(caller, msgspec.structs.replace(command, ids=ids[start : start + ACTED_AT_ONCE]))
            for start in range(0, len(ids), ACTED_AT_ONCE)
        ]
        done = parts[0] if len(parts) == 1 else merged(parts)
        missing = [skipped for skipped in done.skipped if skipped.code == "not_found"]
        if len(ids) == 1 and missing:
            raise NotFound(missing[0].reason, "roost ls --all")
        return done

    async def wait(self, ids: list[int], timeout_s: float | None) -> list[JobRow]:
        """Until all of these have ended, or the time is over."""
        ended = asyncio.Event()
        left = set(ids)

        def watch(event: ev.Event) -> None:
            if isinstance(event, (ev.Ended, ev.Removed)):
                left.discard(event.id)
                if not left:
                    ended.set()

        self.engine.watchers.add(watch)
        try:
            left.difference_update([i for i in ids if self.cluster.find(i) is None])
            if left:
                await asyncio.wait_for(ended.wait(), timeout_s)
        except TimeoutError:
            pass
        finally:
            self.engine.watchers.discard(watch)
        rows = await self.read(reads.jobs, ids)
        return [rows[i] for i in ids if i in rows]

    # -- the box ----------------------------------------------------------------------------------------------------

    async def gpus(self) -> Gpus:
        """Every GPU."""
        rows = await self.read(reads.jobs, list(self.cluster.active))
        gpus = job_views.gpus_view(self.cluster, {job: row.name for job, row in rows.items()})
        return Gpus(gpus=gpus, cpu=job_views.cpu_view(self.cluster), notice=self.notice())

    def status(self, caller: Caller) -> Status:
        """How the server is, and who asks."""
        cluster, nodes, now, pid = self.cluster, self.nodes(), now_ms(), os.getpid()
        server = Server(
            pid=pid,
            version=roost.__version__,
            since=rfc3339(self.since_ms),
            uptime_s=(now - self.since_ms) // 1000,
            home=str(self.home),
            url=self.url,
            socket=self.socket,
            policy=str(cluster.settings["policy"]),
            scheduling="paused" if cluster.is_paused else "on",
            store=str(self.store.path),
            log=str(self.home / "server.log"),
        )
        return Status(
            server_pid=pid,
            node_pid=next((node.pid for node in nodes if node.pid), None),
            server=server,
            nodes=nodes,
            jobs=job_views.counts_view(cluster, now),
            gpus=job_views.totals_view(cluster),
            health=self.health(),
            you=self.you(caller),
            notice=self.notice(),
        )

    def health(self) -> list[str]:
        """What is wrong, a line each."""
        links = [*self.links.health, *self.links.doubles()]
        return [*self.engine.health, *links, *job_views.faults_view(self.cluster), *filter(None, [self.pam.complaint()])]

    def nodes(self) -> list[Node]:
        """Every node."""
        return [self._node(name) for name in sorted(self.cluster.nodes)]

    def node(self, name: str) -> Node:
        """One node, or `NotFound`."""
        if name not in self.cluster.nodes:
            raise NotFound(f"there is no node {name}", "roost nodes")
        return self._node(name)

    def _node(self, name: str) -> Node:
        node, link = self.cluster.nodes[name], self.links.get(name)
        hello = link.hello if link is not None else None
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
            jobs=sum(1 for a in self.cluster.active.values() if a.node == name),
            target=node.access.target if node.access is not None else None,
            runs_as="each" if (node.access.each if node.access is not None else self.people.is_root) else "login",
            clock_ms=-node.skew_ms,
            since=None if node.attached else rfc3339(node.away_ms),
            host_key=HostKey(node.access.host_key).fingerprint if node.access and node.access.host_key else None,
        )

    def settings(self) -> Settings:
        """Every setting with its value, default and meaning, and what it takes."""
        values = self.cluster.settings
        return Settings(settings=[job_views.setting_view(row, values[row.key]) for row in TABLE])

    def policy(self) -> Policy:
        """The policy in force and those there are."""
        return Policy(policy=str(self.cluster.settings["policy"]), policies=policies.names())

    async def set_policy(self, caller: Caller, name: str) -> Policy:
        """Change the policy, live."""
        await self.ask(caller, Change_(caller.name, {"policy": name}))
        return self.policy()

    async def users(self) -> list[User]:
        """Everybody who was added, has rules, or has a job that is not ended."""
        found = users_view(self.cluster, self.people)
        return await asyncio.to_thread(lambda: [with_account(view) for view in found])

    async def user(self, name: str) -> User:
        """One user, known or not."""
        return await asyncio.to_thread(with_account, user_view(self.cluster, self.people, name))

    async def known_user(self, name: str) -> None:
        """Raise `NotFound` unless there is such a user, or an account on this machine that may become one."""
        check_user(name)
        if name not in self.people.accounts and self.people.unix_of(name) is None:
            raise NotFound(f"there is no user {name}", f"roost user add {name}")

    async def delete_user(self, caller: Caller, name: str) -> UserDeleted:
        """End his jobs, then forget him."""
        await self.people.delete(caller.who, [name])
        live = ("held", "queued", "starting", "running", "paused", "stopping")
        ids = await self.read(listing.ids, Filter(users=(name,), states=live), MANY)
        ended: list[int] = []
        if ids:
            ended = (await self.act(caller, Act(caller.name, "kill", []), Select(ids=",".join(map(str, ids))))).done
        if self.cluster.user(name) != UserRules():
            await self.rule_user(caller, name, msgspec.structs.asdict(UserRules()))
        return UserDeleted(user=name, ended=ended, admitted=self.people.is_admitted(name))

    def link_url(self, code: str) -> str:
        """The address of a one-time link."""
        return f"{self.url}/welcome/{code}"

    def notice(self) -> Notice | None:
        """What everybody is to see."""
        found = self.people.notice
        return None if found is None else Notice(found["text"], found["by"], rfc3339(found["at_ms"]))

    def you(self, caller: Caller) -> You:
        """Who the caller is, what he may, and as which account his jobs run; None: as nobody, they are refused."""
        runs_as = None if caller.account == NO_ACCOUNT else caller.account or self.people.own.name
        return You(user=caller.name, admin=caller.is_admin, via=caller.via, unix=caller.unix, runs_as=runs_as)

    async def first_link(self) -> str | None:
        """A one-time link for the first administrator; None when one can log in from elsewhere already."""
        if self.people.has_administrator:
            return None
        return self.link_url(await self.people.new_link(Who(), None, FIRST))

    async def set_defaults(self, caller: Caller, values: dict[str, Any]) -> dict[str, Any]:
        """Keep the caller's defaults, checked as a job would be."""
        values = {key: value for key, value in values.items() if value is not None}
        spec, before = check_defaults(values), self.people.defaults.get(caller.name, {})
        old = {*before.get("nodes", ()), *before.get("prefer_nodes", ())}  # one that has gone is in nobody's way
        new = tuple(name for name in (*spec.nodes, *spec.prefer_nodes) if name not in old)
        if (missing := no_such_node(self.cluster, new)) is not None:
            raise Impossible(missing.message, missing.hint)
        await self.people.set_defaults(caller.who, caller.name, values)
        return values

    async def rule_user(self, caller: Caller, name: str, changes: dict[str, Any]) -> None:
        """Change a user's weight and quotas, live."""
        await self.ask(caller, RuleUser(caller.name, name, changes))

    async def archive(self, caller: Caller, path: Path, ids: list[int]) -> int:
        """Append these ended jobs to a file of JSON lines, then forget them: never one that is not in the file."""
        count = 0
        for start in range(0, len(ids), ARCHIVE_CHUNK):
            found = await self.read(reads.jobs, ids[start : start + ARCHIVE_CHUNK])
            rows = [row for row in found.values() if row.state == "ended"]
            said = await self.reported([row.id for row in rows])
            shown = [ArchivedJob(**msgspec.structs.asdict(job), results=said[job.id]) for job in await self.views(rows)]
            lines = msgspec.json.Encoder().encode_lines(shown)
            try:
                await asyncio.to_thread(_append, path, lines)
            except OSError as error:
                raise BadRequest(f"cannot write {path}: {error.strerror}") from None
            done: Acted = await self.ask(caller, Act(caller.name, "forget", [row.id for row in rows]))
            count += len(done.done)
        return count

    async def backup(self, path: Path) -> None:
        """Copy the whole state to a file while everything goes on."""
        if path.exists():
            raise Conflict(f"{path} is there already", "name another file")
        # Changes nothing, but is a commit: a start that was just reported goes with it. Without it the copy would not
        # know that the job has begun, and a home that is made from it would begin it again.
        await self.engine.ask(Change_("", {}))
        try:
            await asyncio.to_thread(self.store.backup, path)
        except OSError as error:
            raise BadRequest(f"cannot write {path}: {error.strerror}") from None

    async def shut_down(self, caller: Caller, kill: bool) -> Leaving:
        """Leave; running jobs go on, unless they are to be ended first."""
        self.engine.controller.leave()
        killed = list(self.cluster.active) if kill else []
        if killed:
            await self.ask(caller, Act(caller.name, "kill", killed))
            await self.wait(killed, None)
        self.on_shutdown()
        return Leaving(killed=killed, running=[] if kill else list(self.cluster.active))


def merged(parts: list[Acted]) -> Acted:
    """What was done in parts, as one answer."""
    later = [one for part in parts for one in part.later or ()]
    return Acted(
        done=[job for part in parts for job in part.done],
        skipped=[one for part in parts for one in part.skipped],
        later=later or UNSET,
        ids=[job for part in parts for job in part.ids or ()] or UNSET,
    )


def _append(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
