"""Start a server: lock, store, node, sockets, in this order; and leave in the other."""

import argparse
import asyncio
import contextlib
import gc
import json
import logging
import logging.handlers
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import roost
from roost.client import paths
from roost.core.errors import RoostError
from roost.links.link import plain
from roost.messages import Message, hint_of
from roost.node.gpus.simulated import parse_sim_spec
from roost.server.clock import now_ms
from roost.server.history.recorder import record, write
from roost.server.identity.audit_copy import AuditCopy
from roost.server.identity.people import People
from roost.server.nodes.eviction import Eviction
from roost.server.nodes.node_commands import NodeCommands
from roost.server.nodes.node_links import NodeLinks
from roost.server.parts import Parts, assemble
from roost.server.process.certificates import BadCertificate
from roost.server.process.former_state import begin_again, epoch_of, given_by, keep_ids
from roost.server.process.home_lock import HomeInUse, take
from roost.server.process.listener import Announced, Application, Place, listen, place_of, socket_path
from roost.server.process.service_manager import Supervisor
from roost.server.process.sockets import CannotListen, check_own
from roost.server.rounds.controller import Controller
from roost.server.rounds.engine import Engine, EngineInbox
from roost.server.shutdown import Shutdown
from roost.store import files
from roost.store.restore import finish, restore
from roost.store.store import Store
from roost.store.store_errors import StoreError

EXIT_TRY_LATER, EXIT_USAGE, EXIT_ERROR = 75, 2, 1
ATTACH_S = 10.0
"""How long the sockets wait for the first node: without it, nothing is known that could be promised."""

OFF = ("off", "none", "0")
RUNS_KEPT = 500_000
KEYS_KEPT_MS = 86_400_000
"""How long a submit may be repeated under its key."""

LONGEST_MESSAGE = 4000
"""Characters of one message in the server's log."""

_log = logging.getLogger("roost.server")


def main(argv: list[str] | None = None) -> int:
    """Run a server in the foreground until it is told to leave. Returns the exit code."""
    options = _options(argv)
    os.umask(0o077)  # all that a server writes is its owner's alone
    if options.sim is not None and options.sim not in OFF:
        try:
            parse_sim_spec(options.sim)
        except ValueError as error:
            return _fail(str(error), "--sim 4x24G simulates four GPUs of 24 GiB", EXIT_USAGE)
    home = Path(options.home or paths.home())
    if options.check:
        return _check(home, options)
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        check_own(home)
        if os.geteuid() == 0:  # others pass through to what is theirs below; all else in it is the server's alone
            home.chmod(home.stat().st_mode & 0o777 | 0o011)
        held = take(home)
    except HomeInUse as error:
        return _fail(str(error), "see it: roost status; stop it: roost down", EXIT_TRY_LATER)
    except OSError as error:
        return _fail(f"cannot use {home}: {error.strerror}", "set ROOST_HOME to a directory of yours", EXIT_ERROR)
    try:
        if options.restore:
            return _restore(home, Path(options.restore), options.force)
        _open_log(home)
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            settings = _settings(home, options)
            return runner.run(_serve(home, settings, place_of(settings), Supervisor()))
    except BadCertificate as error:
        return _fail(str(error), error.hint, EXIT_USAGE)
    except CannotListen as error:
        return _fail(str(error), error.hint, EXIT_ERROR)
    except StoreError as error:
        _log.error("%s", error)
        return _fail(str(error), str(hint_of(error.said) or f"see {home / 'server.log'}"), EXIT_ERROR)
    except OSError as error:
        _log.exception("the server ends")
        return _fail(f"cannot serve {home}: {error}", f"see {home / 'server.log'}", EXIT_ERROR)
    finally:
        os.close(held)


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="roost up")
    parser.add_argument("--home")
    parser.add_argument("--sim")
    parser.add_argument("--host", action="append")
    parser.add_argument("--port", type=int)
    parser.add_argument("--tls-cert")
    parser.add_argument("--tls-key")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--restore")
    parser.add_argument("--force", action="store_true")
    return parser.parse_args(argv)


def _fail(message: str, hint: str, code: int) -> int:
    sys.stderr.write(f"roost: {message}\nhint: {hint}\n")
    return code


def _check(home: Path, options: argparse.Namespace) -> int:
    """Whether a server could be started like this, as far as can be said without being one. Prints where its code lies."""
    try:
        place_of(_settings(home, options))
    except BadCertificate as error:
        return _fail(str(error), error.hint, EXIT_USAGE)
    sys.stdout.write(f"{os.path.dirname(roost.__file__)}\n")
    return 0


def _settings(home: Path, options: argparse.Namespace) -> dict[str, Any]:
    """What was said now, else what the last `up` in this home said."""
    saved: dict[str, Any] = {}
    with contextlib.suppress(OSError, ValueError):
        saved = json.loads((home / "up.json").read_text())
    if options.tls_cert is not None:
        saved.pop("tls_key", None)  # a key goes with its certificate
    for key in ("sim", "host", "port", "tls_cert", "tls_key"):
        if getattr(options, key) is not None:
            saved[key] = getattr(options, key)
    for key in ("sim", "tls_cert"):
        if saved.get(key) in OFF:
            saved[key] = None
    return saved


def _keep(home: Path, settings: dict[str, Any]) -> None:
    """For the next start, once this one has worked. Without room for it this one works all the same."""
    try:
        files.write(home / "up.json", json.dumps(settings).encode())
    except OSError as error:
        _log.warning("the options of this start are not kept: %s", error)


class PlainFormatter(logging.Formatter):
    """A message is one line without control characters; only a traceback has more."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = plain(record.message, LONGEST_MESSAGE)
        return super().formatMessage(record)


def _open_log(home: Path) -> None:
    handler = logging.handlers.RotatingFileHandler(home / "server.log", maxBytes=5 << 20, backupCount=5, encoding="utf-8")
    handler.setFormatter(PlainFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.getLogger("alembic").setLevel(logging.WARNING)
    logging.raiseExceptions = False  # a log that cannot be written, on a full disk, is no reason for more text


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    import uvloop

    return uvloop.new_event_loop


async def _serve(home: Path, settings: dict[str, Any], place: Place, supervisor: Supervisor) -> int:
    finish(home / "roost.db")
    store = Store(home / "roost.db")
    keep_ids(store, home)
    store.forget_submissions(now_ms() - KEYS_KEPT_MS)
    store.forget_history(RUNS_KEPT)
    controller = Controller(store, str(socket_path(home)))
    _calm_collector()
    inbox, ways = EngineInbox(), NodeCommands(home, epoch_of(store), settings.get("sim"), lambda: controller.cluster)
    links = NodeLinks(inbox, ways, lambda: controller.cluster)
    links.on_fenced = lambda token: _be_fenced(store, controller, token)
    engine = Engine(controller, inbox, links)
    server = assemble(home, store, engine, links)
    store.tell_audit = AuditCopy().tell
    node = _local_node(store, controller)
    rounds = asyncio.create_task(engine.run())
    await server.accounts.begin()
    links.begin(store.meta().get("fenced", ""))
    rounds.add_done_callback(lambda task: _must_leave(task, server.shutdown))
    eviction = Eviction(engine, ways.evict_command)
    for name, work in {
        "archive": lambda: server.archive.keep_bounded(server.people.itself),
        "store watch": server.store_watch.look,
        "store check": server.store_watch.check,
        "accounts": server.accounts.run,
        "users": lambda: _tidy(server.people),
        "node links": links.tend,
        "nodes": server.fleet.tend,
        "log copies": server.log_copies.run,
        "eviction": eviction.watch,
        "notifications": server.notifier.run,
        "history": lambda: record(server.recorder),
    }.items():
        server.background.begin(name, work)
    try:
        await _first_hello(engine, links, node)
        about = Announced(home, lambda: engine.cluster.gpu_count, server.users.first_link)
        await listen(
            about, server.address, server.shutdown, place, _application(server), supervisor, lambda: _keep(home, settings)
        )
    finally:
        await server.background.close()
        await server.notifier.close()
        await links.close()
        await engine.stop()
        await rounds
        await write(server.recorder, server.recorder.due(now_ms(), is_last=True))
        store.close()
    _log.info("left")
    return 0


def _be_fenced(store: Store, controller: Controller, token: str) -> None:
    """A later server of this state commands the nodes, also when this one is started again."""
    controller.is_fenced = True
    try:
        store.set_meta("fenced", token)
    except StoreError as error:
        _log.warning("it is not kept that another server commands the nodes: %s", error)


def _must_leave(rounds: asyncio.Task[None], shutdown: Shutdown) -> None:
    """Without rounds the server cannot answer: it exits, so that its supervisor starts another. Runs continue."""
    if not rounds.cancelled() and (error := rounds.exception()) is not None:
        _log.critical("the rounds ended", exc_info=error)
        shutdown.ask()


def _calm_collector() -> None:
    """What was loaded stays: the garbage collector need not walk a million jobs again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 20, 100)


def _local_node(store: Store, controller: Controller) -> str:
    """This machine's node name. A state that comes from elsewhere is this machine's from now on."""
    name, known = socket.gethostname().partition(".")[0] or "localhost", store.meta().get("local_node")
    if (same := controller.cluster.nodes.get(name)) is not None and same.access is not None:
        name += "-server"  # another machine was added under that name
    if known is None:
        store.set_meta("local_node", name)
    elif known != name:
        store.rename_node(known, name)
        store.set_meta("local_node", name)
        controller.reload()
    controller.local_node = name
    controller.cluster.node(name)
    return name


async def _first_hello(engine: Engine, links: NodeLinks, name: str) -> None:
    """Wait for the node of this machine, and for what it knows of its GPUs, but not for ever."""
    for _ in range(int(ATTACH_S / 0.02)):
        node, link = engine.cluster.nodes[name], links.get(name)
        if node.attached and ((link is not None and link.hello is not None and link.hello.gpus_known) or node.gpus):
            return
        await asyncio.sleep(0.02)
    _log.warning("the node program of this machine did not attach within %s s", ATTACH_S)


def _application(server: Parts) -> Application:
    from roost.api import app
    from roost.api.edge.peer_credentials import PeerProtocol

    return Application(app.Application(server), PeerProtocol)


async def _tidy(people: People) -> None:
    """Now and then, keep what is known of people in order."""
    while True:
        await asyncio.sleep(60)
        try:
            await people.tidy()
        except RoostError as error:
            _log.warning("cannot save users and sessions: %s", error.message)


def _restore(home: Path, source: Path, force: bool) -> int:
    """Begin from a backup."""
    target = home / "roost.db"
    if target.exists() and not force:
        raise StoreError("store.has_database", home=str(home))
    before = given_by(target) if target.exists() else None
    try:
        former = restore(source, target, lambda store: begin_again(store, home, before))
    except OSError as error:
        raise StoreError("store.cannot_restore", path=str(source), home=str(home), why=str(error.strerror)) from None
    _say(Message("store.restored", path=str(source), home=str(home)))
    if former is not None:
        _say(Message("store.former_kept", path=str(former)))
    return 0


def _say(message: Message) -> None:
    sys.stderr.write(f"{message}\n")


if __name__ == "__main__":
    sys.exit(main())
