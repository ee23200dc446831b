"""The client's routes about nodes: added, checked, trusted, given up, removed; and users' own logins there.

    roost = Roost()
    roost.fleet.add("lab3", "ssh://root@10.0.0.3:2222", host_key="SHA256:…")
    roost.fleet.check("lab3")["checks"]

Imported at the first use of `Roost.fleet`.
"""

from roost.client.jsontext import Json
from roost.client.server_api import ServerApi, query, quoted

_LONG_S = 300.0  # a first contact logs in, looks for a Python, and copies the program


class Fleet:
    """The nodes of one server."""

    def __init__(self, roost: "ServerApi") -> None:
        self._roost = roost

    def nodes(self) -> "list[Json]":
        """Every node: `name`, `state`, `reason`, `target`, `gpus`, `jobs`, …"""
        return self._roost._list("/nodes", "nodes")

    def node(self, name: str) -> "Json":
        """One node."""
        found: Json = self._roost._get(self._path(name))["node"]
        return found

    def add(
        self,
        name: str,
        target: str | None = None,
        *,
        host_key: str | None = None,
        key: str | None = None,
        python: str | None = None,
        dir: str | None = None,
        sim: str | None = None,
    ) -> "Json":
        """Add a node once it was reached, and give it.

        When nobody has said that its host key is right, an `ApiError` of code `host_key_unknown` has it as `host_key`.
        """
        asked = {"name": name, "target": target, "host_key": host_key, "key": key, "python": python, "dir": dir, "sim": sim}
        return self._roost._part("POST", "/nodes", "node", asked, _LONG_S)

    def remove(self, name: str, *, force: bool = False) -> "Json":
        """Forget a node, with `force` also when it has jobs: `node`, and `lost`, those jobs."""
        return self._roost._send("DELETE", self._path(name) + ("?force=true" if force else ""), {})

    def check(self, name: str) -> "Json":
        """What works there and what is missing: `ok`, and `checks`, each `name`, `ok` (None: not known), `text`, `hint`."""
        return self._roost._post(self._path(name) + "/check", {}, wait_s=_LONG_S)

    def lost(self, name: str) -> "Json":
        """Give up what runs on a node that cannot be reached: `node`, and `lost`, its jobs."""
        return self._roost._post(self._path(name) + "/lost", {})

    def trust(self, name: str, host_key: str | None = None) -> "Json":
        """Believe its new host key from now on, and give the node. Refused as `add` is unless `host_key` is what it has."""
        return self._roost._part("POST", self._path(name) + "/trust", "node", {"host_key": host_key}, _LONG_S)

    def login(self, name: str, target: str, *, key: str | None = None, user: str | None = None) -> "Json":
        """Let my jobs, or a user's, run on a node through a login of their own; `key` is a file on the server's machine."""
        body = {"target": target, "key": key, "user": user}
        return self._roost._part("PUT", self._path(name) + "/login", "login", body, _LONG_S)

    def logout(self, name: str, *, user: str | None = None) -> "Json":
        """Take that login back, and give it as it was."""
        return self._roost._part("DELETE", self._path(name) + "/login" + query(user=user), "login", {})

    def logins(self) -> "list[Json]":
        """The logins that I may see: `user`, `node`, `target`, `key`."""
        return self._roost._list("/logins", "logins")

    def _path(self, name: str) -> str:
        return "/nodes/" + quoted(name).replace("/", "%2F")
