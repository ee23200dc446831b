"""HTTP/1.1 over a UNIX socket or TCP, as much of it as Roost needs and no more.

One connection, one request at a time, kept alive. Bodies by Content-Length, chunked, or to the end of the
connection; streams line by line. Knows nothing of jobs.
"""

import os
import sys

try:
    import _socket as socket
except ImportError:  # pragma: no cover - an interpreter without the C module of that name
    import socket  # type: ignore[no-redef]

from roost.client.errors import RoostError, ServerUnreachable, sentence, why
from roost.client.paths import SYSTEM_SOCKET
from roost.messages.catalog import language_of

CONNECT_TIMEOUT_S = 10.0
ANSWER_TIMEOUT_S = 120.0
_SUN_PATH_MAX = 100
_UNMAPPED = 65534
_CHUNK = 1 << 18


class Response:
    """Status and headers of an answer; the body is read with `read`, `some` or `line`.

    A TimeoutError from any of them loses nothing: call again.
    """

    def __init__(self, connection: "Connection", status: int, headers: dict[str, str]) -> None:
        self.status = status
        self.headers = headers
        self._connection = connection
        self._chunked = "chunked" in headers.get("transfer-encoding", "")
        self._left: int | None = _length(status, headers)  # of the body, or of the current chunk
        self._ended = False
        self._partial = b""

    def read(self) -> bytes:
        """The whole body."""
        pieces = []
        while piece := self.some():
            pieces.append(piece)
        return b"".join(pieces)

    def some(self) -> bytes:
        """The next bytes of the body as soon as there are any; none at its end."""
        if not self._ended and self._chunked and not self._left:
            self._next_chunk()
        if not self._ended and self._left == 0:
            self._end()
        if self._ended:
            return b""
        data = self._connection.receive(_CHUNK if self._left is None else self._left)
        if self._left is not None:
            if not data:
                raise self._connection.lost()
            self._left -= len(data)
        elif not data:
            self._end(close=True)
        return data

    def line(self) -> bytes | None:
        """The next line without its end, as soon as it is whole; None at the end of the body."""
        while b"\n" not in self._partial:
            piece = self.some()
            if not piece:
                line, self._partial = self._partial, b""
                return line or None
            self._partial += piece
        line, self._partial = self._partial.split(b"\n", 1)
        return line

    def _next_chunk(self) -> None:
        if self._left == 0:
            self._connection.receive_line()
            self._left = None
        self._left = int(self._connection.receive_line().split(b";")[0], 16)
        if self._left == 0:
            while self._connection.receive_line():
                pass

    def _end(self, close: bool = False) -> None:
        self._ended = True
        if close or self.headers.get("connection", "").lower() == "close":
            self._connection.close()


def _length(status: int, headers: dict[str, str]) -> int | None:
    if status in (204, 304):
        return 0
    length = headers.get("content-length")
    return int(length) if length is not None and "transfer-encoding" not in headers else None


class Connection:
    """A connection to one server, opened at the first request. `timeout_s` bounds the wait for an answer."""

    def __init__(self, address: str, timeout_s: float | None = ANSWER_TIMEOUT_S, token: str | None = None) -> None:
        self._socket: socket.socket | None = None
        if token is not None and not (token.isascii() and token.isprintable() and " " not in token):
            raise RoostError("cli.not_a_token")
        self.address = address
        self.timeout_s = timeout_s
        self._token = token
        self._buffer = b""

    def request(self, method: str, path: str, body: bytes | None = None, *, timeout_s: float | None = -1.0) -> Response:
        """Send a request and read the head of the answer.

        A kept connection that the server has closed meanwhile is opened again, unless the request may have been taken.
        """
        wait_s = self.timeout_s if timeout_s is not None and timeout_s < 0 else timeout_s
        message = self._head(method, path, body) + (body or b"")
        fresh = self._socket is None
        try:
            return self._exchange(message, wait_s)
        except ServerUnreachable as error:
            if fresh or (error.sent and method != "GET"):
                raise
        return self._exchange(message, wait_s)

    def wait_s(self, seconds: float | None) -> None:
        """Bound the wait for the next bytes; None waits for ever."""
        if self._socket is not None:
            self._socket.settimeout(seconds)

    def close(self) -> None:
        """Close; the next request opens again."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self._buffer = b""

    def __del__(self) -> None:
        self.close()

    def lost(self, reason: "str | OSError" = "cli.closed", **params: object) -> ServerUnreachable:
        """Close, and give the error that says so."""
        self.close()
        said = why(reason) if isinstance(reason, OSError) else sentence(reason, **params)
        return ServerUnreachable("cli.connection_lost", address=self.address, reason=said, sent=True)

    def receive(self, most: int = _CHUNK) -> bytes:
        """Some bytes, at most so many; none at the end of the connection. TimeoutError passes through."""
        if self._buffer:
            data, self._buffer = self._buffer[:most], self._buffer[most:]
            return data
        if self._socket is None:
            return b""
        try:
            return self._socket.recv(min(most, _CHUNK))
        except TimeoutError:
            raise
        except OSError as error:
            raise self.lost(error) from None

    def receive_line(self) -> bytes:
        """One line without its end."""
        while b"\n" not in self._buffer:
            held, self._buffer = self._buffer, b""
            try:
                data = self.receive()
            except TimeoutError:
                self._buffer = held
                raise
            if not data:
                raise self.lost()
            self._buffer = held + data
        line, self._buffer = self._buffer.split(b"\n", 1)
        return line.rstrip(b"\r")

    def _exchange(self, message: bytes, wait_s: float | None) -> Response:
        if self._socket is None:
            self._open()
        assert self._socket is not None
        self._socket.settimeout(wait_s)
        try:
            self._socket.sendall(message)
        except TimeoutError:
            raise self.lost("cli.no_answer_within", s=format(wait_s, "g")) from None
        except OSError as error:
            # A server may refuse a large body before it has read all of it: its answer is worth more than the error.
            if error.errno not in (32, 104):
                raise self.lost(error) from None
        try:
            return self._answer()
        except TimeoutError:
            raise self.lost("cli.no_answer_within", s=format(wait_s, "g")) from None

    def _answer(self) -> Response:
        first = self._first_line().split(b" ", 2)
        if len(first) < 2 or not first[0].startswith(b"HTTP/1."):
            raise self.lost("cli.not_http")
        headers: dict[str, str] = {}
        while line := self.receive_line():
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.lower()] = value.strip()
        if first[1] == b"100":
            return self._answer()
        return Response(self, int(first[1]), headers)

    def _first_line(self) -> bytes:
        try:
            return self.receive_line()
        except ServerUnreachable:
            if self.address.startswith("http://") and _wants_tls(self.address):
                # not `sent`: the server cannot have read the request
                raise ServerUnreachable("cli.tls_only", address=self.address, rest=self.address[7:]) from None
            raise

    def _head(self, method: str, path: str, body: bytes | None) -> bytes:
        head = f"{method} {path} HTTP/1.1\r\nHost: {self._host_name()}\r\n"
        if (language := language_of(os.environ)) != "en":
            head += f"Accept-Language: {language}\r\n"
        if self._token is not None:
            head += f"Authorization: Bearer {self._token}\r\n"
        if body is not None:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return (head + "\r\n").encode("ascii")

    def _host_name(self) -> str:
        _, separator, rest = self.address.partition("://")
        return rest.split("/")[0] if separator else "localhost"

    def _open(self) -> None:
        try:
            if "://" in self.address:
                self._socket = _open_tcp(self.address)
            else:
                self._socket = _open_unix(self.address)
        except OSError as error:
            raise ServerUnreachable("cli.no_server", address=self.address, why=error) from None


def _open_unix(path: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(CONNECT_TIMEOUT_S)
        if len(os.fsencode(path)) <= _SUN_PATH_MAX:
            connection.connect(path)
        else:
            _connect_long(connection, path)
        _check_peer(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_peer(connection: socket.socket, path: str) -> None:
    """Raise unless root serves there, or oneself: what is sent next is one's environment. Root may name anybody's."""
    uid = int.from_bytes(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[4:8], sys.byteorder)
    own = os.geteuid()
    if uid in (0, own) or (own == 0 and path != SYSTEM_SOCKET) or (uid == _UNMAPPED and _is_in_namespace()):
        return
    raise OSError(sentence("cli.other_uid", uid=uid))


def _is_in_namespace() -> bool:
    """Whether other accounts have no numbers here, as in a container of one's own."""
    try:
        with open("/proc/self/uid_map", encoding="ascii") as file:
            return file.read().split() != ["0", "0", "4294967295"]
    except OSError:
        return False


def _connect_long(connection: socket.socket, path: str) -> None:
    """A socket's name holds 107 bytes; a longer path is reached through its directory."""
    directory = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        connection.connect(f"/proc/self/fd/{directory}/{os.path.basename(path)}")
    finally:
        os.close(directory)


def _open_tcp(address: str) -> "socket.socket":
    scheme, host, port = target_of(address)
    if scheme == "https":
        from roost.client.tls import open_tls

        return open_tls(address, host, port, CONNECT_TIMEOUT_S)
    failure: OSError | None = None
    for family, kind, proto, _, target in socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM):
        connection = socket.socket(family, kind, proto)
        try:
            connection.settimeout(CONNECT_TIMEOUT_S)
            connection.connect(target)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection
        except OSError as error:
            connection.close()
            failure = error
    raise failure or OSError(sentence("cli.no_such_host"))


def _wants_tls(address: str) -> bool:
    """Whether one that hung up without a word would have talked over TLS."""
    from roost.client.tls import speaks_tls

    _, host, port = target_of(address)
    return speaks_tls(host, port, CONNECT_TIMEOUT_S)


def target_of(address: str) -> tuple[str, str, int]:
    """Scheme, host and port of a URL; OSError when it makes no sense. https has a usual port, http has none."""
    scheme, _, rest = address.partition("://")
    if scheme not in ("http", "https"):
        raise OSError(sentence("cli.url_scheme", scheme=scheme))
    place = rest.split("/")[0]
    if place.startswith("["):
        host, _, tail = place[1:].partition("]")
        port = tail.removeprefix(":")
    else:
        host, _, port = place.partition(":")
    if ":" in port:
        raise OSError(sentence("cli.url_ipv6", scheme=scheme))
    if not port and scheme == "https":
        port = "443"
    if not host or not port.isdecimal() or int(port) > 65535:
        raise OSError(sentence("cli.url_port", scheme=scheme))
    return scheme, host, int(port)
