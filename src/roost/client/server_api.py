"""The API of a server: where it is, which token it is shown, and requests to it, JSON in and out."""

import os

from roost.client import jsontext, paths
from roost.client.errors import ApiError, ServerUnreachable, sentence
from roost.client.http import Connection, Response
from roost.client.jsontext import Any, Json, Mapping

API = "/api/v1"
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~,:@/")


class ServerApi:
    """A connection to a server, for those who know its routes. Connects at the first call."""

    def __init__(self, address: str | None = None, *, timeout_s: float | None = 120.0, token: str | None = None) -> None:
        self.address = address or server_address()
        self._token = token_for(self.address) if token is None else token or None
        self._connection = Connection(self.address, timeout_s, self._token)

    def close(self) -> None:
        """Close the connection; the next call opens it again."""
        self._connection.close()

    def _raw(self, path: str, wait_s: float | None = -1.0) -> Response:
        return self._checked(self._connection.request("GET", API + path, timeout_s=wait_s))

    def _get(self, path: str, wait_s: float | None = -1.0) -> "Json":
        return self._decoded(self._raw(path, wait_s))

    def _list(self, path: str, name: str, wait_s: float | None = -1.0) -> "list[Json]":
        found: list[Json] = self._get(path, wait_s)[name]
        return found

    def _part(self, method: str, path: str, name: str, body: "Mapping[str, Any]", wait_s: float | None = -1.0) -> "Json":
        found: Json = self._send(method, path, body, wait_s)[name]
        return found

    def _post(self, path: str, body: "Mapping[str, Any]", wait_s: float | None = -1.0) -> "Json":
        return self._send("POST", path, body, wait_s)

    def _send(self, method: str, path: str, body: "Mapping[str, Any]", wait_s: float | None = -1.0) -> "Json":
        data = jsontext.dumps(body).encode("ascii")
        return self._decoded(self._connection.request(method, API + path, data, timeout_s=wait_s))

    def _decoded(self, response: Response) -> "Json":
        body = self._checked(response).read()
        if not body:
            return {}
        try:
            answer = jsontext.loads(body.decode("utf-8"))
        except ValueError as error:
            raise ServerUnreachable("cli.not_json", address=self.address, why=str(error)) from None
        return answer if isinstance(answer, dict) else {"answer": answer}

    def _checked(self, response: Response) -> Response:
        if response.status >= 400:
            raise api_error(response.status, response.read())
        return response


def server_address(environ: "Mapping[str, str]" = os.environ) -> str:
    """Where to connect: `ROOST_SERVER` when set, else the socket of this home or machine, else where one has logged in."""
    if named := environ.get("ROOST_SERVER"):
        return named
    socket = paths.socket_path(environ)
    if environ.get("ROOST_HOME") or os.path.exists(socket) or not os.path.exists(paths.logins_file(environ)):
        return socket
    from roost.client import logins

    return logins.default(environ) or socket


def is_foreign(environ: "Mapping[str, str]" = os.environ) -> bool:
    """True when the address was named by `ROOST_SERVER` or `roost login`, or is the machine's: not ours to start."""
    if environ.get("ROOST_SERVER"):
        return True
    found = server_address(environ)
    return "://" in found or (os.getuid() != 0 and found == paths.SYSTEM_SOCKET)


def token_for(address: str) -> str | None:
    """The token to show at that address: of `ROOST_TOKEN`, else of `roost login`. A UNIX socket needs none."""
    if "://" not in address:
        return None
    if named := os.environ.get(paths.TOKEN_VARIABLE):
        return named
    if not os.path.exists(paths.logins_file()):
        return None
    from roost.client import logins

    return logins.token(address)


def api_error(status: int, body: bytes) -> ApiError:
    """The error in the body of an answer, from Roost or a proxy."""
    try:
        error = jsontext.loads(body.decode("utf-8"))["error"]
        message, index = error["message"], error.get("index")
        if index is None and message.startswith("jobs["):  # a job of the wrong shape: jobs[3].gpus: …
            index, message = _position(message)
        return ApiError(status, error["code"], message, error.get("hint"), index, error.get("host_key"))
    except (ValueError, KeyError, TypeError):
        text = body[:200].decode("utf-8", "replace").strip()
        code = "cli.server_answered_with" if text else "cli.server_answered"
        return ApiError(status, "unknown", sentence(code, status=status, text=text))


def _position(message: str) -> tuple[int | None, str]:
    number, _, rest = message.removeprefix("jobs[").partition("]")
    return (int(number), rest.removeprefix(".")) if number.isdecimal() else (None, message)


def query(**parameters: "str | int | None") -> str:
    """The end of a URL that has these parameters, as far as they are given."""
    parts = [f"{key}={quoted(str(value))}" for key, value in parameters.items() if value is not None and value != ""]
    return "?" + "&".join(parts) if parts else ""


def quoted(text: str) -> str:
    """A text as a part of a URL."""
    if text.isalnum() and text.isascii():
        return text
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in text.encode("utf-8", "surrogateescape"))
