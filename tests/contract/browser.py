"""A browser without a window, and strangers: the application called in this process, as it is over TCP."""

from __future__ import annotations

import re
from html import unescape
from typing import Any, NamedTuple
from urllib.parse import urlencode

import msgspec
from tests.contract.conftest import Api
from tests.declared import check_answer

from roost.api.app import Application
from roost.api.edge.peer_credentials import SCOPE_KEY
from roost.server.identity.people import PASSWORD

GOOD = "heron lamp quiet 42"
FORM, JSON = "application/x-www-form-urlencoded", "application/json"


class Seen(NamedTuple):
    """What a browser was answered."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def text(self) -> str:
        """The page."""
        return self.body.decode()

    @property
    def json(self) -> Any:
        """The value."""
        return msgspec.json.decode(self.body)

    def header(self, name: str) -> str:
        """A header that must be there once."""
        (found,) = [value for key, value in self.headers if key == name]
        return found

    def cookies(self) -> dict[str, str]:
        """Every cookie that is set, as the header says it, by name."""
        lines = [value for key, value in self.headers if key == "set-cookie"]
        return {line.partition("=")[0]: line for line in lines}

    def token(self) -> str:
        """What the first form of the page carries."""
        found = re.search(r'name="csrf" value="([^"]+)"', self.text)
        assert found is not None, self.text
        return unescape(found[1])


class Browser:
    """Keeps cookies, sends what a browser sends, follows nothing."""

    def __init__(self, api: Api, scheme: str = "http", address: str = "192.0.2.1") -> None:
        self.app = Application(api.server)
        self.scheme, self.address = scheme, address
        self.jar: dict[str, str] = {}

    async def ask(self, method: str, path: str, data: bytes = b"", **headers: str) -> Seen:
        """One request; header names with `_` for `-`."""
        where, _, query = path.partition("?")
        said = {"host": "roost.test", **{name.replace("_", "-"): value for name, value in headers.items()}}
        if self.jar and "cookie" not in said:
            said["cookie"] = "; ".join(f"{name}={value}" for name, value in self.jar.items())
        if data:
            said.setdefault("content-length", str(len(data)))
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "path": where,
            "raw_path": where.encode(),
            "root_path": "",
            "scheme": self.scheme,
            "query_string": query.encode(),
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in said.items()],
            "client": (self.address, 1234),
            "server": ("roost.test", 80),
            SCOPE_KEY: None,
        }
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": data, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        heads = [(name.decode(), value.decode("latin-1")) for name, value in sent[0]["headers"]]
        seen = Seen(sent[0]["status"], heads, b"".join(part.get("body", b"") for part in sent[1:]))
        self._keep(seen)
        if ("content-encoding", "gzip") not in heads:
            check_answer(method, where, seen.status, seen.body)
        return seen

    def _keep(self, seen: Seen) -> None:
        for name, line in seen.cookies().items():
            value = line.partition("=")[2].partition(";")[0].strip('"')
            if "Max-Age=0" in line or not value:
                self.jar.pop(name, None)
            else:
                self.jar[name] = value

    async def get(self, path: str, **headers: str) -> Seen:
        """Open a page."""
        return await self.ask("GET", path, b"", **headers)

    async def post(self, path: str, fields: dict[str, str], **headers: str) -> Seen:
        """Send a form, as it stands."""
        return await self.ask("POST", path, urlencode(fields).encode(), content_type=FORM, **headers)

    async def send(self, page: str, action: str, **fields: str) -> Seen:
        """Open a page and send a form of it."""
        return await self.post(action, {"csrf": (await self.get(page)).token(), **fields})

    async def change(self, method: str, path: str, body: Any = None, **headers: str) -> Seen:
        """Ask the API for a change, as the dashboard does: with the session's own secret."""
        secret = {"roost_csrf": str((await self.get("/api/v1/me")).json["csrf"])}
        return await self.ask(method, path, msgspec.json.encode(body), content_type=JSON, **secret | headers)

    async def login(self, user: str, password: str = GOOD, **fields: str) -> Seen:
        """Log in by the page."""
        return await self.send("/login", "/login", user=user, password=password, **fields)

    async def logged_in(self, user: str) -> Browser:
        """The same browser, which must be in now."""
        seen = await self.login(user)
        assert seen.status == 303, seen.text
        return self

    @property
    def session(self) -> str:
        """The session's cookie."""
        return "__Host-roost_session" if self.scheme == "https" else "roost_session"


async def add_user(api: Api, name: str, password: str = GOOD, **more: Any) -> None:
    """A user with a password, and no UNIX account."""
    people = api.server.people
    await people.add(people.itself.who, [name], "none", **more)
    code = await people.new_link(people.itself.who, name, PASSWORD)
    await api.server.login.by_link(code, None, password, "")
