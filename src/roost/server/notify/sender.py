"""The program that sends messages: lines of JSON in, lines of JSON out. Started when there is something to send.

Runs by itself, without Roost, in an empty environment. Under a root server it becomes `nobody` before it is given anything
of a user's. All secrets come over its standard input and leave for their service alone: nothing that the library says is
passed on, only words of `_WORDS`.
"""

import ctypes
import importlib
import json
import logging
import os
import re
import sys
import threading
from typing import Any

_WORDS = (
    (r"error=429|\b429\b", "too many messages for the service (429)"),
    (r"connection refused|errno 111", "connection refused"),
    (r"name or service not known|failed to resolve|nodename nor servname|name resolution", "its host is not known"),
    (r"no route to host|network is unreachable|errno 113|errno 101", "its host cannot be reached"),
    (r"certificate", "its TLS certificate is not accepted"),
    (r"authentication|\b535\b", "the service refuses the login"),
    (r"timed out|timeout", "no answer in time"),
    (r"connection reset|connection aborted|remote end closed|unexpectedly closed", "the service broke off"),
)
"""Everything that is ever said of a failure, but for the number of an HTTP or SMTP status."""
_STATUS = re.compile(r"(?:error=|status[ =:]+|\()([1-5]\d\d)\b")
_PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 4, 38
_BUNDLES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")
"""Where systems keep the certificates that they trust."""


def main() -> int:
    """Serve until standard input ends."""
    out = _own_streams()
    first = json.loads(sys.stdin.readline() or "{}")
    sys.path[:] = first.get("path") or sys.path  # what the server would import is what is imported here
    os.environ.update(first.get("proxies", {}))
    said = _Said()
    try:
        _load()
    except ImportError:
        out.say({"ready": False})
        return 0
    _become(first.get("uid"), first.get("gid"))
    logger = logging.getLogger("apprise")
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    logger.addHandler(said)
    logging.getLogger().addHandler(logging.NullHandler())
    out.say({"ready": True})
    for line in sys.stdin:
        threading.Thread(target=_serve, args=(json.loads(line), said, out), daemon=True).start()
    os._exit(0)  # whoever asked is gone: nobody would hear how the rest went


def _load() -> None:
    """All that will be needed, now: as another user we might not be able to read it, and there are no threads yet."""
    for name in ("certifi", "email.mime.multipart", "encodings.idna", "requests", "smtplib"):
        importlib.import_module(name)
    import apprise

    apprise.Apprise.instantiate("json://localhost")


def _become(uid: int | None, gid: int | None) -> None:
    """Give up root's rights for good."""
    if uid is not None and gid is not None:
        os.setgroups([])
        os.setresgid(gid, gid, gid)
        os.setresuid(uid, uid, uid)
        if os.getresuid() != (uid, uid, uid) or os.getgroups():
            os._exit(1)
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)  # no other process of this user may look into it
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    import certifi

    if not os.access(certifi.where(), os.R_OK):
        bundle = next((path for path in _BUNDLES if os.access(path, os.R_OK)), None)
        if bundle is not None:
            os.environ["REQUESTS_CA_BUNDLE"] = os.environ["SSL_CERT_FILE"] = bundle


class _Out:
    """Answers, a line each, from many threads."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()

    def say(self, answer: dict[str, Any]) -> None:
        data = json.dumps(answer).encode() + b"\n"
        with self._lock:
            while data:
                data = data[os.write(self._descriptor, data) :]


class _Said(logging.Handler):
    """What the library says, thread by thread, to be understood and dropped."""

    def __init__(self) -> None:
        super().__init__()
        self._of = threading.local()

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if "Payload" not in text and "URL" not in text:  # those carry our own text and the secrets
            self._lines().append(text[:2000])

    def take(self) -> str:
        """All of this thread since the last time."""
        lines, self._of.lines = self._lines(), []
        return "\n".join(lines)

    def _lines(self) -> list[str]:
        if not hasattr(self._of, "lines"):
            self._of.lines = []
        found: list[str] = self._of.lines
        return found


def _own_streams() -> _Out:
    """Keep standard output for answers: a service that prints must not be heard, nor what it says on errors."""
    own = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (1, 2):
        os.dup2(nothing, number)
    return _Out(own)


def _serve(asked: dict[str, Any], said: _Said, out: _Out) -> None:
    try:
        error = _send(asked) if asked["op"] == "send" else _check(asked)
        if error == _REFUSED:
            error = words_for(said.take())
    except BaseException as problem:  # whatever a service may raise: one thread ends, with an answer
        error = words_for(f"{type(problem).__name__} {problem}")
    out.say({"id": asked["id"], "error": error})


_REFUSED = "refused"


def _check(asked: dict[str, Any]) -> str | None:
    return None if _service(asked["url"]) is not None else "no service understands this URL"


def _send(asked: dict[str, Any]) -> str | None:
    import apprise

    service = _service(asked["url"])
    if service is None:
        return "no service understands this URL"
    if "overflow=" not in asked["url"].lower():
        service.overflow_mode = apprise.OverflowMode.TRUNCATE
    said = {"title": asked["subject"], "body": asked["body"], "notify_type": asked["mood"]}
    was_sent = service.notify(**said, body_format=apprise.NotifyFormat.TEXT)
    return None if was_sent else _REFUSED


def _service(url: str) -> Any:
    import apprise

    return apprise.Apprise.instantiate(url, asset=apprise.AppriseAsset(app_id="Roost", app_desc="Roost"))


def words_for(text: str) -> str:
    """Why it failed, in words of our own: nothing of the text itself, which may hold a secret, but a status number."""
    lower = text.lower()
    known = next((words for pattern, words in _WORDS if re.search(pattern, lower)), None)
    if known is not None:
        return known
    status = _STATUS.search(lower)
    return f"the service refuses it ({status[1]})" if status else "the service refuses it"


if __name__ == "__main__":
    sys.exit(main())
