"""The sockets of a server: a UNIX one for people on the box, TCP beside it at one or several addresses."""

import contextlib
import errno
import ipaddress
import os
import socket
import stat
from pathlib import Path
from typing import Any

DEFAULT_PORT = 7667
_MISSING = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


class CannotListen(Exception):
    """An address or port that we cannot have: what is wrong, and what to do."""

    def __init__(self, message: str, hint: str, number: int | None = None) -> None:
        super().__init__(message)
        self.hint = hint
        self.number = number


def unix_socket(path: Path, for_all: bool = False) -> socket.socket:
    """A listening UNIX socket, owner only unless for all. The home's lock is held: what lies there is a dead server's."""
    if not path.parent.is_dir():
        path.parent.mkdir(mode=0o700, parents=True)
        if for_all:
            path.parent.chmod(0o755)  # by itself: the server's umask keeps all that it makes to itself
    check_own(path.parent)
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    old = os.umask(0o111 if for_all else 0o177)
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        # The kernel takes 107 bytes of path: through the directory's descriptor any path is short.
        listening.bind(f"/proc/self/fd/{directory}/{path.name}")
    finally:
        os.umask(old)
        os.close(directory)
    listening.listen(1024)
    listening.setblocking(False)
    return listening


def check_own(directory: Path) -> None:
    """Raise OSError if another account could put its own files there: a socket, a state."""
    found = directory.stat()
    if found.st_uid not in (0, os.geteuid()) or found.st_mode & stat.S_IWOTH:
        raise OSError(errno.EPERM, f"others than its server can change {directory}: chown, chmod o-w")


def tcp_sockets(hosts: list[str], port: int | None) -> list[socket.socket]:
    """Listening TCP sockets, all at one port. Without a port: the usual one, or any free one when it is taken."""
    for wanted in (DEFAULT_PORT, 0, 0) if port is None else ():
        try:
            return _all_at(hosts, wanted)
        except CannotListen as error:
            if error.number != errno.EADDRINUSE:
                raise
    return _all_at(hosts, port or 0)


def is_loopback(address: str) -> bool:
    """Whether only this machine can reach the address."""
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback


def is_everywhere(address: str) -> bool:
    """Whether the address stands for all of this machine's."""
    return ipaddress.ip_address(address.partition("%")[0]).is_unspecified


def _all_at(hosts: list[str], port: int) -> list[socket.socket]:
    made: dict[str, socket.socket] = {}
    with contextlib.ExitStack() as undo:
        for host in hosts:
            for address, listening in _of_host(host, port, made).items():
                made[address] = listening
                undo.callback(listening.close)
                port = listening.getsockname()[1]  # where the first one is, the others go
        undo.pop_all()
    return list(made.values())


def _of_host(host: str, port: int, made: dict[str, socket.socket]) -> dict[str, socket.socket]:
    """The sockets of one host. A name may have addresses that this machine lacks, as long as it has one of them."""
    found: dict[str, socket.socket] = {}
    missing: CannotListen | None = None
    targets = _resolved(host, port)
    for family, target in targets:
        if target[0] in made:
            continue
        try:
            found[target[0]] = listening = _bound(family, target)
            port = listening.getsockname()[1]
        except CannotListen as error:
            if error.number not in _MISSING or len(targets) == 1:
                for listening in found.values():
                    listening.close()
                raise
            missing = error
    if missing is not None and not found and not any(target[0] in made for _, target in targets):
        raise missing
    return found


def _resolved(host: str, port: int) -> list[tuple[int, Any]]:
    try:
        found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CannotListen(
            f"cannot listen on {host}: {reason}", "--host takes an address or a name of this machine"
        ) from None
    return list(dict.fromkeys((family, target) for family, _, _, _, target in found))


def _bound(family: int, target: Any) -> socket.socket:
    """A socket that listens there."""
    try:
        listening = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise _explained(error, target) from None
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)  # :: leaves 0.0.0.0 to be asked for
        listening.bind(target)
        listening.listen(1024)
        listening.setblocking(False)
    except OSError as error:
        listening.close()
        raise _explained(error, target) from None
    return listening


def _explained(error: OSError, target: Any) -> CannotListen:
    address, port = target[:2]
    where = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    why, hint = error.strerror, "--host and --port name another place"
    if error.errno in _MISSING:
        why, hint = f"{address} is no address of this machine", "`ip address` lists them; 0.0.0.0 and :: are all of them"
    elif error.errno == errno.EADDRINUSE:
        why, hint = "the port is taken", f"`ss -ltnp 'sport = :{port}'` shows the process; choose another port with --port"
    elif error.errno == errno.EACCES:
        why, hint = "ports this low are root's", "--port 7667, and a reverse proxy before it"
    return CannotListen(f"cannot listen on {where}: {why}", hint, error.errno)
