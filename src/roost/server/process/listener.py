"""Where a server listens, and as long as it listens: sockets, TLS, signals, and the words about it.

Knows the application as something that uvicorn runs; knows nothing of routes.
"""

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn

import roost
from roost.client import paths
from roost.server.address import Address
from roost.server.process.certificates import BadCertificate, Identity
from roost.server.process.service_manager import Supervisor
from roost.server.process.sockets import is_everywhere, is_loopback, tcp_sockets, unix_socket
from roost.server.shutdown import Shutdown

HANDSHAKE_S, GOODBYE_S, GRACE_S = 10, 2, 3
_log = logging.getLogger("roost.server")


class Place(NamedTuple):
    """Where to listen, by what `up` was told."""

    hosts: list[str]
    port: int | None
    identity: Identity | None

    @property
    def scheme(self) -> str:
        """The beginning of our URL."""
        return "http" if self.identity is None else "https"


class Application(NamedTuple):
    """What uvicorn is to run: the application, and the protocol that knows who called."""

    app: Any
    protocol: type[asyncio.Protocol]


def place_of(settings: dict[str, Any]) -> Place:
    """The place that the settings of `up` mean. Raises `BadCertificate` when it cannot be had."""
    said = settings.get("host") or []
    hosts = [said] if isinstance(said, str) else list(said)
    certificate, key = settings.get("tls_cert"), settings.get("tls_key")
    if key and not certificate:
        raise BadCertificate("--tls-key is of no use without --tls-cert", "name both files")
    return Place(hosts or ["127.0.0.1"], settings.get("port"), Identity(certificate, key) if certificate else None)


def socket_path(home: Path) -> Path:
    """The UNIX socket of a home."""
    return Path(paths.own_socket_path()) if os.environ.get("ROOST_HOME") is None else home / paths.SOCKET_NAME


class Announced(NamedTuple):
    """What a server says of itself when it listens."""

    home: Path
    gpus: Callable[[], int]
    first_link: Callable[[], Awaitable[str | None]]
    """A one-time link for the first administrator; None when there is one."""


async def listen(
    server: Announced,
    address: Address,
    shutdown: Shutdown,
    place: Place,
    application: Application,
    supervisor: Supervisor,
    on_ready: Callable[[], None],
) -> None:
    """Serve until told to leave. `on_ready` is called once every socket listens."""
    path = socket_path(server.home)
    tcp = tcp_sockets(place.hosts, place.port)
    plain = [unix_socket(path, for_all=os.geteuid() == 0), *(tcp if place.identity is None else ())]
    address.socket, address.url = str(path), _url(place, tcp[0])
    serving = _Server(_config(application), [] if place.identity is None else tcp, place.identity)

    def leave() -> None:
        serving.should_exit = True

    async def ready() -> None:
        on_ready()
        await _announce(server, address, place, tcp)
        supervisor.tell("READY=1", f"STATUS=at {address.url}")

    def farewell() -> None:
        supervisor.tell("STOPPING=1")
        shutdown.begin()

    serving.on_ready, serving.on_leave = ready, farewell
    shutdown.on_asked.add(leave)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, leave)
    if place.identity is not None or supervisor.is_there:
        loop.add_signal_handler(signal.SIGHUP, _hang_up(place.identity, leave))
    await serving.serve(sockets=plain)
    path.unlink(missing_ok=True)


def _config(application: Application) -> uvicorn.Config:
    return uvicorn.Config(
        application.app,
        http=application.protocol,
        log_config=None,
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=GRACE_S,
        server_header=False,
        proxy_headers=False,  # which proxies to trust is not uvicorn's decision
    )


class _Server(uvicorn.Server):
    """uvicorn over plain sockets, and over TLS ones in the same breath: one state, one shutdown."""

    def __init__(self, config: uvicorn.Config, secured: list[socket.socket], identity: Identity | None) -> None:
        super().__init__(config)
        self._secured, self._identity = secured, identity
        self.on_ready: Callable[[], Awaitable[None]] | None = None
        self.on_leave: Callable[[], None] = lambda: None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept."""
        await super().startup(sockets)
        if self._identity is not None:
            await self._start_secured(self._identity)
        if self.on_ready is not None:
            await self.on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more, and give what is under way its time."""
        self.on_leave()
        await super().shutdown(sockets)

    async def _start_secured(self, identity: Identity) -> None:
        for each in self._secured:
            listening = await asyncio.get_running_loop().create_server(
                self._protocol,
                sock=each,
                ssl=identity.context,
                backlog=self.config.backlog,
                ssl_handshake_timeout=HANDSHAKE_S,
                ssl_shutdown_timeout=GOODBYE_S,
            )
            self.servers.append(listening)

    def _protocol(self) -> asyncio.Protocol:
        make: Callable[..., asyncio.Protocol] = self.config.http_protocol_class
        return make(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)


def _hang_up(identity: Identity | None, leave: Callable[[], None]) -> Callable[[], None]:
    """What SIGHUP means: read the certificate again; or, when our terminal has gone, to go as well."""
    began_with_terminal = _has_terminal()

    def hang_up() -> None:
        if began_with_terminal and not _has_terminal():
            leave()
            return
        try:
            if identity is not None:
                identity.renew()
            _log.info("reloaded the certificate" if identity else "asked to reload, but there is no certificate to read")
        except BadCertificate as error:
            _log.error("could not reload the certificate, keeping the old one: %s (%s)", error, error.hint)

    return hang_up


def _has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


def _url(place: Place, listening: socket.socket) -> str:
    """Where people find us: what was said, or this machine's name when that was "everywhere"."""
    address, port = listening.getsockname()[:2]
    host = socket.gethostname() if is_everywhere(address) else place.hosts[0].strip("[]")
    return f"{place.scheme}://{f'[{host}]' if ':' in host else host}:{port}"


async def _announce(server: Announced, address: Address, place: Place, tcp: list[socket.socket]) -> None:
    addresses = [each.getsockname()[0] for each in tcp]
    total = server.gpus()
    where = f"{address.socket} and {address.url} ({', '.join(addresses)})"
    _log.info("roost %s serves %s at %s, %s GPUs", roost.__version__, server.home, where, total)
    for warning in _warnings(place, addresses):
        _log.warning("%s", warning)
        sys.stderr.write(f"roost: warning: {warning}\n")
    if sys.stderr.isatty():
        sys.stderr.write(f"roost {roost.__version__}: {total} GPUs, {address.url}, state in {server.home}\n")
        if (link := await server.first_link()) is not None:
            sys.stderr.write(f"The first administrator, once, from a browser: {link}\n")
        sys.stderr.write("Ctrl-C stops the server; running jobs go on.\n")
    sys.stderr.flush()


def _warnings(place: Place, addresses: list[str]) -> list[str]:
    if place.identity is not None:
        warning = place.identity.warning()
        return [warning] if warning else []
    if all(map(is_loopback, addresses)):
        return []
    return [
        "passwords and tokens travel in the clear: give --tls-cert and --tls-key, or listen on 127.0.0.1 behind a "
        "reverse proxy that does TLS"
    ]
