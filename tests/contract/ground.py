"""A server to try anything on: made even again before each trial, whatever the last one did to it."""

from __future__ import annotations

import contextlib
from http.client import HTTPException
from typing import Any

from tests.box import Box

from roost.core.settings import DEFAULTS

SETTINGS = {**DEFAULTS, "http.rate": 1_000_000, "http.burst": 1_000_000}
USER, PASSWORD = "some.body", "four words that do not rhyme"


class Ground:
    """One server, and the tokens of those who ask it."""

    def __init__(self, box: Box) -> None:
        ssh = box.work / "bin" / "ssh"  # hosts are made up too: nobody is to be called by accident
        ssh.write_text("#!/bin/sh\necho 'ssh: Could not resolve hostname: Name or service not known' >&2\nexit 255\n")
        ssh.chmod(0o755)
        self.box = box.up()
        self.url = box.url
        self._tokens: dict[str, str] = {}

    def close(self) -> None:
        """Take it down."""
        self.box.close()

    def even(self) -> None:
        """Up, with its own settings, nothing paused, and everybody known."""
        if not self._is_up():
            self.box.stop()
            self.url = self.box.up().url
        if {row["key"]: row["value"] for row in self._get("/settings")["settings"]} != SETTINGS:
            self._change("PUT", "/settings", SETTINGS)
        if self._get("/status")["server"]["scheduling"] != "on":
            self._change("POST", "/scheduler", {"paused": False})
        if not self._is_valid("administrator"):
            self._tokens["administrator"] = self._change("POST", "/tokens", {"label": "trial"})["token"]
        if not self._is_valid("user"):
            self._tokens["user"] = self._new_user_token()

    def headers(self, who: str) -> dict[str, str]:
        """What a request of that one carries."""
        return {"Authorization": f"Bearer {self._tokens[who]}"} if who in self._tokens else {}

    def _is_up(self) -> bool:
        with contextlib.suppress(OSError, HTTPException):
            return self.box.http("GET", "/status").status == 200
        return False

    def _change(self, method: str, path: str, body: Any) -> Any:
        answer = self.box.http(method, path, body)
        assert answer.status in (200, 201), answer
        return answer.json

    def _get(self, path: str) -> Any:
        return self.box.http("GET", path).json

    def _is_valid(self, who: str) -> bool:
        return who in self._tokens and self.box.http("GET", "/me", tcp=True, **self.headers(who)).status == 200

    def _new_user_token(self) -> str:
        """Got as a new user gets it: with an invitation link, a password and a login."""
        known = self._get(f"/users/{USER}")["added"]
        if known:
            self._change("PATCH", f"/users/{USER}", {"locked": False, "admin": False})
        else:
            self._change("POST", "/users", {"names": [USER], "unix": "none"})
        code = self._change("POST", f"/users/{USER}/link", None)["url"].rpartition("/")[2]
        self._change("POST", f"/link/{code}", {"password": PASSWORD})
        return str(self._change("POST", "/login", {"user": USER, "password": PASSWORD, "token": "trial"})["token"])

    def run_some(self) -> list[int]:
        """Jobs of every sort, all ended."""
        box = self.box
        jobs = [
            box.submit("echo", "hello"),
            box.submit("-g", "2", "false"),
            box.submit("roost report loss=0.5; echo out; echo err >&2"),
        ]
        jobs += self._change("POST", "/sweeps", {"job": {"command": "echo {x}"}, "params": {"x": "1,2"}})["ids"]
        for job in jobs:
            box.ends(job)
        return jobs
