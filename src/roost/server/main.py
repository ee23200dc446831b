"""Start a server: lock, store, node, sockets, in this order; and leave in the other."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import json
import logging
import logging.handlers
import os
import shutil
import signal
import socket
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import roost
from roost.client import paths
from roost.core.errors import RoostError
from roost.links import local
from roost.links.link import Link
from roost.node.gpus_sim import parse_sim_spec
from roost.server.archiving import keep_bounded
from roost.server.clock import now_ms
from roost.server.commands import Who
from roost.server.controller import Controller
from roost.server.engine import Engine
from roost.server.lock import HomeInUse, take
from roost.server.people import FIRST
from roost.server.service import Service
from roost.server.sockets import tcp_socket, unix_socket
from roost.store.store import Store, WrongVersion

EXIT_TRY_LATER, EXIT_USAGE, EXIT_ERROR = 75, 2, 1
ATTACH_S = 10.0
"""How long the sockets wait for the first node: without it, nothing is known that could be promised."""

SIM_OFF = ("off", "none", "0")
RUNS_KEPT = 500_000
KEYS_KEPT_MS = 86_400_000
"""How long a submit may be repeated under its key."""

_log = logging.getLogger("roost.server")


def main(argv: list[str] | None = None) -> int:
    """Run a server in the foreground until it is told to leave. Returns the exit code."""
    options = _options(argv)
    os.umask(0o077)  # all that a server writes is its owner's alone
    if options.sim is not None and options.sim not in SIM_OFF:
        try:
            parse_sim_spec(options.sim)
        except ValueError as error:
            return _fail(str(error), "--sim 4x24G simulates four GPUs of 24 GiB", EXIT_USAGE)
    home = Path(options.home or paths.home())
    try:
        # Under root, others pass through to what is theirs below; all else in it is the server's alone.
        home.mkdir(mode=0o711 if os.geteuid() == 0 else 0o700, parents=True, exist_ok=True)
        held = take(home)
    except HomeInUse as error:
        return _fail(str(error), "`roost status` shows it, `roost down` stops it", EXIT_TRY_LATER)
    except OSError as error:
        return _fail(f"cannot use {home}: {error.strerror}", "set ROOST_HOME to a directory of yours", EXIT_ERROR)
    try:
        if options.restore:
            return _restore(home, Path(options.restore), options.force)
        _open_log(home)
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            return runner.run(_serve(home, _settings(home, options)))
    except WrongVersion as error:
        return _fail(str(error), "install that release, or name another ROOST_HOME", EXIT_ERROR)
    except (OSError, sqlite3.Error) as error:
        _log.exception("the server ends")
        return _fail(f"cannot serve {home}: {error}", f"see {home / 'server.log'}", EXIT_ERROR)
    finally:
        os.close(held)


def _options(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="roost up")
    parser.add_argument("--home")
    parser.add_argument("--sim")
    parser.add_argument("--host")
    parser.add_argument("--port", type=int)
    parser.add_argument("--restore")
    parser.add_argument("--force", action="store_true")
    return parser.parse_args(argv)


def _fail(message: str, hint: str, code: int) -> int:
    sys.stderr.write(f"roost: {message}\nhint: {hint}\n")
    return code


def _settings(home: Path, options: argparse.Namespace) -> dict[str, Any]:
    """What was said now, else what the last `up` in this home said; kept for the next start."""
    saved: dict[str, Any] = {}
    with contextlib.suppress(OSError, ValueError):
        saved = json.loads((home / "up.json").read_text())
    for key in ("sim", "host", "port"):
        if getattr(options, key) is not None:
            saved[key] = getattr(options, key)
    if saved.get("sim") in SIM_OFF:
        saved["sim"] = None
    partial = home / "up.json.part"
    partial.write_text(json.dumps(saved))
    partial.replace(home / "up.json")
    return saved


def _open_log(home: Path) -> None:
    handler = logging.handlers.RotatingFileHandler(home / "server.log", maxBytes=5 << 20, backupCount=5, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    logging.getLogger("alembic").setLevel(logging.WARNING)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    import uvloop

    return uvloop.new_event_loop


async def _serve(home: Path, settings: dict[str, Any]) -> int:
    store = Store(home / "roost.db")
    store.forget_submissions(now_ms() - KEYS_KEPT_MS)
    store.forget_history(RUNS_KEPT)
    controller = Controller(store)
    controller.socket = str(_socket_path(home))
    _calm_collector()
    engine = Engine(controller)
    service = Service(home, store, engine)
    node = _local_node(store, controller)
    link = Link(node, local.command(home, settings.get("sim")), engine.report, engine.lost)
    engine.links[node] = link
    rounds = asyncio.create_task(engine.run())
    loops = (link.run(), keep_bounded(service), _watch_disk(service), _tidy(service))
    tasks = [asyncio.create_task(t) for t in loops]
    try:
        await _first_hello(engine, link)
        await _listen(service, settings)
    finally:
        for task in tasks:
            task.cancel()
        link.send([{"op": "shutdown", "when_idle": True}])
        await link.flushed()
        link.close()
        await engine.stop()
        await rounds
        store.close()
    _log.info("left")
    return 0


def _calm_collector() -> None:
    """What was loaded stays: the garbage collector need not walk a million jobs again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def _local_node(store: Store, controller: Controller) -> str:
    """This machine's node name. A state that comes from elsewhere is this machine's from now on."""
    name, known = socket.gethostname().partition(".")[0] or "localhost", store.meta().get("local_node")
    if known is None:
        store.set_meta("local_node", name)
    elif known != name:
        store.rename_node(known, name)
        store.set_meta("local_node", name)
        controller.reload()
    controller.cluster.node(name)
    return name


async def _first_hello(engine: Engine, link: Link) -> None:
    """Wait for the node, and for what it knows of its GPUs, but not for ever."""
    for _ in range(int(ATTACH_S / 0.02)):
        node = engine.controller.cluster.nodes[link.node]
        if node.attached and ((link.hello is not None and link.hello.gpus_known) or node.gpus):
            return
        await asyncio.sleep(0.02)
    _log.warning("the node program of this machine did not attach within %s s", ATTACH_S)


def _socket_path(home: Path) -> Path:
    return Path(paths.own_socket_path()) if os.environ.get("ROOST_HOME") is None else home / paths.SOCKET_NAME


async def _listen(service: Service, settings: dict[str, Any]) -> None:
    import uvicorn

    from roost.api.app import make_app
    from roost.api.peer import PeerProtocol

    host = settings.get("host") or "127.0.0.1"
    path = _socket_path(service.home)
    tcp = tcp_socket(host, settings.get("port"))
    unix = unix_socket(path, for_all=service.people.is_root)
    service.socket = str(path)
    service.url = f"http://{f'[{host}]' if ':' in host else host}:{tcp.getsockname()[1]}"
    config = uvicorn.Config(
        make_app(service),
        http=PeerProtocol,
        log_config=None,
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=3,
        server_header=False,
        proxy_headers=False,  # it would believe whoever comes over loopback; see `address_of` in api/gate.py
    )
    server = uvicorn.Server(config)
    service.on_shutdown = lambda: setattr(server, "should_exit", True)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, service.on_shutdown)
    await _announce(service)
    await server.serve(sockets=[unix, tcp])
    path.unlink(missing_ok=True)


async def _announce(service: Service) -> None:
    totals = service.status()["gpus"]
    _log.info(
        "roost %s serves %s at %s and %s, %s GPUs",
        roost.__version__,
        service.home,
        service.socket,
        service.url,
        totals["total"],
    )
    if sys.stderr.isatty():
        sys.stderr.write(f"roost {roost.__version__}: {totals['total']} GPUs, {service.url}, state in {service.home}\n")
        if not service.people.has_administrator:
            code = await service.people.new_link(Who(), None, FIRST)
            sys.stderr.write(f"The first administrator, once, from a browser: {service.link_url(code)}\n")
        sys.stderr.write("Ctrl-C stops the server; running jobs go on.\n")


async def _tidy(service: Service) -> None:
    """Now and then, keep what is known of people in order."""
    while True:
        await asyncio.sleep(60)
        try:
            await service.people.tidy()
        except RoostError as error:
            _log.warning("cannot keep what is known of people: %s", error.message)


async def _watch_disk(service: Service) -> None:
    """Refuse new jobs before the disk is so full that a commit would fail; keep the write-ahead log short."""
    while True:
        await asyncio.to_thread(service.store.checkpoint)
        floor = service.cluster.number("disk.min_mib")
        free = await asyncio.to_thread(service.store.free_mib)
        service.engine.controller.disk_is_full = free < floor
        await asyncio.sleep(1)


def _restore(home: Path, source: Path, force: bool) -> int:
    """Begin from a backup: the database is copied; ids that runs on this machine have used are not given again."""
    target = home / "roost.db"
    if target.exists() and not force:
        return _fail(f"{home} has a state already", "--force replaces it, or name another ROOST_HOME", EXIT_ERROR)
    try:
        with contextlib.closing(sqlite3.connect(f"file:{source}?mode=ro", uri=True)) as db:
            db.execute("SELECT count(*) FROM jobs")
    except sqlite3.Error as error:
        return _fail(f"{source} is not a backup of Roost: {error}", "roost backup FILE makes one", EXIT_USAGE)
    for suffix in ("-wal", "-shm"):
        (home / f"roost.db{suffix}").unlink(missing_ok=True)
    partial = home / "roost.db.part"
    shutil.copyfile(source, partial)
    os.chmod(partial, 0o600)
    partial.replace(target)
    used = [
        int(p.name.partition(".")[0]) for p in (home / "node" / "runs").glob("*.*") if p.name.partition(".")[0].isdigit()
    ]
    store = Store(target)
    last = max([int(store.meta().get("last_job", "0")), *used])
    store.set_meta("last_job", str(last))
    store.close()
    sys.stderr.write(f"restored {source} into {home}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
