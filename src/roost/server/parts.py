"""The parts of a running server: made here, each handed what it needs, and nowhere else."""

from dataclasses import dataclass
from pathlib import Path

from roost.server.address import Address
from roost.server.background import Background
from roost.server.clock import now_ms
from roost.server.history.queries import History
from roost.server.history.recorder import Recorder
from roost.server.identity.login import Login
from roost.server.identity.pam import Pam
from roost.server.identity.people import People
from roost.server.logs.archived_logs import ArchivedLogs
from roost.server.logs.collector import LogCollector
from roost.server.logs.reader import LogReader
from roost.server.nodes.account_watch import AccountWatch
from roost.server.nodes.fleet import Fleet
from roost.server.nodes.node_links import NodeLinks
from roost.server.notify.notifier import Notifier
from roost.server.notify.targets import Targets
from roost.server.operations.archive import Archive
from roost.server.operations.job_actions import JobActions
from roost.server.operations.sweeps import Sweeps
from roost.server.operations.user_admin import UserAdmin
from roost.server.rounds.engine import Engine
from roost.server.shutdown import Shutdown
from roost.server.store_reader import StoreReader
from roost.server.store_watch import StoreWatch
from roost.server.views.dashboard_feed import DashboardFeed
from roost.server.views.forecasts import JobForecasts
from roost.server.views.job_reader import JobReader
from roost.server.views.job_selector import JobSelector
from roost.server.views.server_status import ServerStatus
from roost.server.views.start_estimates import StartEstimates
from roost.store.store import Store


@dataclass(slots=True)
class Parts:
    """What the API and the process are handed. No part has all of it: each gets what it needs from `assemble`."""

    home: Path
    store: Store
    engine: Engine
    links: NodeLinks
    address: Address
    shutdown: Shutdown
    background: Background
    store_watch: StoreWatch
    reader: StoreReader
    people: People
    login: Login
    pam: Pam
    accounts: AccountWatch
    recorder: Recorder
    forecasts: JobForecasts
    etas: StartEstimates
    logs: LogReader
    log_copies: LogCollector
    selector: JobSelector
    jobs: JobReader
    actions: JobActions
    sweeps: Sweeps
    status: ServerStatus
    users: UserAdmin
    fleet: Fleet
    archive: Archive
    past: History
    live: DashboardFeed
    notifier: Notifier
    targets: Targets


def assemble(home: Path, store: Store, engine: Engine, links: NodeLinks) -> Parts:
    """Make the parts of a server over an engine. Nothing runs yet."""
    address, shutdown, background, reader = Address(), Shutdown(), Background(), StoreReader(store)
    people = People(store, lambda key: engine.cluster.settings[key], now_ms)
    pam = Pam(people, lambda key: engine.cluster.settings[key])
    recorder, forecasts = Recorder(store, lambda: engine.cluster), JobForecasts(lambda: engine.cluster, now_ms)
    engine.watchers |= {forecasts.watch, recorder.watch}
    etas = StartEstimates(lambda: engine.cluster, forecasts.misses, now_ms)
    logs = LogReader(home, engine, links, reader)
    log_copies = LogCollector(home, engine, reader, logs)
    selector = JobSelector(engine, reader)
    jobs = JobReader(engine, reader, people, selector, forecasts, etas)
    actions = JobActions(engine, reader, selector, forecasts)
    watch = StoreWatch(
        store, lambda: engine.cluster.number("disk.min_mib"), lambda full: setattr(engine.controller, "disk_is_full", full)
    )
    status = ServerStatus(home, engine, reader, links, people, pam, address, [background, watch])
    notifier = Notifier(store, engine, reader, people, logs)
    return Parts(
        home=home,
        store=store,
        engine=engine,
        links=links,
        address=address,
        shutdown=shutdown,
        background=background,
        store_watch=watch,
        reader=reader,
        people=people,
        login=Login(people, pam),
        pam=pam,
        accounts=AccountWatch(engine),
        recorder=recorder,
        forecasts=forecasts,
        etas=etas,
        logs=logs,
        log_copies=log_copies,
        selector=selector,
        jobs=jobs,
        actions=actions,
        sweeps=Sweeps(engine, reader, logs),
        status=status,
        users=UserAdmin(engine, reader, people, actions, address),
        fleet=Fleet(engine, people, links, status.node, log_copies.settled),
        archive=Archive(home, engine, reader, jobs, ArchivedLogs(reader, logs)),
        past=History(engine, reader, recorder, people, logs, selector),
        live=DashboardFeed(engine, reader, people, status, etas, shutdown),
        notifier=notifier,
        targets=Targets(store, reader, people, notifier),
    )
