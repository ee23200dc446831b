"""The tokens that `roost login` stores, one for each server, and the default server.

They are in one file that only its owner can read. A file that others own or can read is never used. Imported only for
servers with a URL.
"""

import os

from roost.client import jsontext
from roost.client.errors import EXIT_NOT_PERMITTED, RoostError, sentence
from roost.client.jsontext import Callable, Json, Mapping
from roost.client.paths import logins_file


class UnsafeFile(RoostError):
    """The file of tokens may have been read or written by others."""

    exit_code = EXIT_NOT_PERMITTED


def address_of(text: str) -> str:
    """A server's URL without path, in lower case."""
    scheme, mark, rest = text.strip().partition("://")
    place = rest.split("/")[0]
    if not mark or scheme.lower() not in ("http", "https") or not place or "@" in place:
        raise ValueError(sentence("cli.server_url"))
    return f"{scheme}://{place}".lower()


def kept(environ: "Mapping[str, str]" = os.environ) -> Json:
    """The stored logins: `default` and `servers` by URL."""
    path = logins_file(environ)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return {"default": None, "servers": {}}
    except OSError as error:
        raise UnsafeFile("cli.logins_unreadable", path=path, why=error) from None
    with open(descriptor, "rb") as file:
        _check(path, os.fstat(descriptor))
        data = file.read()
    try:
        found = jsontext.loads(data.decode("utf-8"))
        return {"default": found["default"], "servers": dict(found["servers"])}
    except (ValueError, KeyError, TypeError):
        raise UnsafeFile("cli.logins_invalid", path=path) from None


def _check(path: str, about: os.stat_result) -> None:
    if about.st_uid != os.geteuid():
        raise UnsafeFile("cli.logins_not_yours", path=path)
    if about.st_mode & 0o077:
        raise UnsafeFile("cli.logins_open", path=path)


def token(address: str) -> str | None:
    """The token for the server at that URL."""
    try:
        login = kept()["servers"].get(address_of(address))
    except ValueError:
        return None
    return str(login["token"]) if login is not None else None


def default(environ: "Mapping[str, str]" = os.environ) -> str | None:
    """The URL of the server that was logged in to last."""
    found = kept(environ)["default"]
    return str(found) if found is not None else None


def keep(address: str, login: Json) -> None:
    """Store a login (`token`, `user` and `id`) and make its server the default."""

    def change(found: Json) -> None:
        found["servers"][address] = login
        found["default"] = address

    _change(change)


def forget(address: str) -> None:
    """Forget the login at that URL."""

    def change(found: Json) -> None:
        found["servers"].pop(address, None)
        if found["default"] == address:
            found["default"] = None

    _change(change)


def _change(change: "Callable[[Json], None]") -> None:
    """Change what is kept: read under a lock, written whole or not at all."""
    import fcntl

    path = logins_file()
    directory = os.path.dirname(path)
    os.makedirs(directory, mode=0o700, exist_ok=True)
    lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if os.fstat(lock).st_uid != os.geteuid():
            raise UnsafeFile("cli.directory_not_yours", path=directory)
        os.fchmod(lock, 0o700)
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = kept()
        change(found)
        _write(path, found)
    finally:
        os.close(lock)


def _write(path: str, found: Json) -> None:
    partial = f"{path}.{os.getpid()}.part"
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            os.fchmod(descriptor, 0o600)
            file.write(jsontext.dumps({"version": 1, **found}).encode("ascii") + b"\n")
            file.flush()
            os.fsync(descriptor)
        os.replace(partial, path)
    except BaseException:
        os.unlink(partial)
        raise
