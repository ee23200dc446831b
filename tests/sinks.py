"""Where messages arrive in tests: a mail server and a webhook, real ones on loopback, that can be down and come up again."""

from __future__ import annotations

import base64
import email
import email.policy
import json
import socketserver
import threading
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]


class _Crowded(ThreadingHTTPServer):
    """Forty may knock at once: the usual five would make the others try again, seconds later."""

    request_queue_size = 128


class _Server:
    """A server of one port, which it keeps while it is down."""

    def __init__(self) -> None:
        self.port = 0
        self.listening: Any = None

    def up(self) -> None:
        """Listen."""
        self.listening = self.make()
        self.port = self.listening.server_address[1]
        threading.Thread(target=self.listening.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def down(self) -> None:
        """Listen no more."""
        if self.listening is not None:
            self.listening.shutdown()
            self.listening.server_close()
            self.listening = None

    def make(self) -> Any:
        """What listens."""
        raise NotImplementedError


class Webhook(_Server):
    """Keeps every JSON that is posted to it, or answers with another status."""

    def __init__(self) -> None:
        super().__init__()
        self.got: list[Json] = []
        self.status = 200
        self.hangs = threading.Event()
        self.hangs.set()
        self.up()

    def make(self) -> ThreadingHTTPServer:
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers["content-length"]))
                hook.hangs.wait()
                if hook.status == 200:
                    hook.got.append(json.loads(data))
                self.send_response(hook.status)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        return _Crowded(("127.0.0.1", self.port), Handler)

    @property
    def url(self) -> str:
        """As a target, with secrets in every place."""
        return f"json://me:s3cret-word@127.0.0.1:{self.port}/s3cret-path?cto=2&rto=60"

    @property
    def subjects(self) -> list[str]:
        """Of what came, in order."""
        return [each["title"] for each in self.got]


class Mailbox(_Server):
    """Takes mail from senders who know the password."""

    def __init__(self) -> None:
        super().__init__()
        self.mails: list[EmailMessage] = []
        self.to: list[str] = []
        self.logins: list[str] = []
        self.up()

    def make(self) -> socketserver.ThreadingTCPServer:
        box = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                self.say("220 mailbox")
                while line := self.rfile.readline():
                    verb, _, rest = line.decode().strip().partition(" ")
                    if not self.obey(verb.upper(), rest):
                        return

            def obey(self, verb: str, rest: str) -> bool:
                if verb == "EHLO":
                    self.say("250-mailbox\r\n250-SMTPUTF8\r\n250-8BITMIME\r\n250 AUTH PLAIN")
                elif verb == "AUTH":
                    box.logins.append(base64.b64decode(rest.rsplit(maxsplit=1)[-1]).decode().replace("\0", " ").strip())
                    self.say("235 yes")
                elif verb == "DATA":
                    self.say("354 go on")
                    box.mails.append(_mail(self.data()))
                    self.say("250 kept")
                elif verb == "RCPT":
                    box.to.append(rest.partition("<")[2].partition(">")[0])
                    self.say("250 yes")
                else:
                    self.say("221 bye" if verb == "QUIT" else "250 yes")
                return verb != "QUIT"

            def data(self) -> bytes:
                lines = []
                while (line := self.rfile.readline()) not in (b".\r\n", b""):
                    lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
                return b"".join(lines)

            def say(self, text: str) -> None:
                self.wfile.write(text.encode() + b"\r\n")

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address, daemon_threads = True, True

        return Server(("127.0.0.1", self.port), Handler)

    @property
    def url(self) -> str:
        """As a target, with a secret in it."""
        return f"mailto://me:s3cret-word@localhost:{self.port}?from=roost@lab.org&to=ada@lab.org&mode=insecure"

    @property
    def subjects(self) -> list[str]:
        """Of what came, in order."""
        return [str(mail["Subject"]) for mail in self.mails]


def _mail(data: bytes) -> EmailMessage:
    return email.message_from_bytes(data, policy=email.policy.default)


def text_of(mail: EmailMessage) -> str:
    """What a mail says in plain text."""
    part = mail.get_body(("plain",))
    assert part is not None, mail
    return str(part.get_content())
