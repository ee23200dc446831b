"""The client's routes about people: who I am, tokens, passwords, defaults, users, the notice, the audit.

    roost = Roost()
    roost.people.me()["user"]
    roost.people.add(["ana", "bob"])

Imported at the first use of `Roost.people`.
"""

from roost.client.jsontext import Any, Iterator, Json, Mapping, Sequence
from roost.client.server_api import ServerApi, query, quoted

_PAGE = 10_000


class People:
    """Everybody of one server."""

    def __init__(self, roost: "ServerApi") -> None:
        self._roost = roost

    # Myself

    def me(self) -> "Json":
        """Who I am and what I may: `user`, `admin`, `via`, `unix`, `runs_as`, `token` (its number), `notice`."""
        return self._roost._get("/me")

    def login(self, user: str, password: str, label: str) -> "Json":
        """Get a token by name and password: `user`, `token`, `id`. The token is told this once."""
        return self._roost._post("/login", {"user": user, "password": password, "token": label})

    def set_password(self, new: str, old: str | None = None) -> None:
        """Set my password; the old one is needed when a token let me in."""
        self._roost._post("/me/password", {"new": new, "old": old})

    def web_link(self) -> str:
        """A link that logs a browser in as me, once, within five minutes."""
        return self._reachable(self._roost._post("/me/link", {})["url"])

    def tokens(self, *, all: bool = False) -> "list[Json]":
        """My tokens, or everybody's: `id`, `user`, `label`, `scope`, `created_at`, `expires_at`, `used_at`."""
        return self._roost._list("/tokens" + ("?all=true" if all else ""), "tokens")

    def new_token(self, label: str, lives_s: int | None = None, scope: str = "operate") -> "Json":
        """A token, told this once under `token`. Its `scope` is what it may do: `read`, `submit` or `operate`."""
        return self._roost._post("/tokens", {"label": label, "lives_s": lives_s, "scope": scope})

    def revoke(self, token: int) -> "Json":
        """End a token at once, and all that was made with it."""
        return self._roost._send("DELETE", f"/tokens/{token}", {})

    def end_everything(self) -> "Json":
        """End all my tokens, sessions and login links, this one too: how many `tokens` and `sessions`."""
        return self._roost._post("/logout/all", {})

    def defaults(self) -> "Json":
        """What my jobs are like unless a submit says otherwise: keys of a JobSpec."""
        found: Json = self._roost._get("/defaults")["defaults"]
        return found

    def set_defaults(self, values: "Mapping[str, Any]") -> "Json":
        """Set them, all of them."""
        return self._roost._part("PUT", "/defaults", "defaults", dict(values))

    # Everybody

    def add(
        self,
        names: "Sequence[str]",
        *,
        unix: str | None = None,
        admin: bool = False,
        ties: "Mapping[str, str] | None" = None,
    ) -> "list[Json]":
        """Add users, all or none. Each result has a one-time `link` for choosing a password."""
        body = {"names": list(names), "unix": unix, "admin": admin, "ties": dict(ties or {})}
        made: list[Json] = self._roost._post("/users", body)["users"]
        return [{**user, "link": self._reachable(user["link"])} for user in made]

    def change(self, name: str, **changes: "Any") -> "Json":
        """Change `admin`, `locked`, `unix` (None: none), or what `Roost.set_user` changes."""
        return self._roost._send("PATCH", f"/users/{quoted(name)}", changes)

    def delete(self, name: str) -> "Json":
        """Delete a user. `ended` lists their jobs that were ended; `admitted`: their UNIX account can still use Roost."""
        return self._roost._send("DELETE", f"/users/{quoted(name)}", {})

    def link(self, name: str) -> str:
        """A link by which that user chooses a new password, once."""
        return self._reachable(self._roost._post(f"/users/{quoted(name)}" + "/link", {})["url"])

    def first_link(self) -> str | None:
        """A link for the first administrator; None when there is one. Only for the server's own account, on its machine."""
        url: str | None = self._roost._post("/administrator/link", {})["url"]
        return url

    def notice(self) -> "Json | None":
        """What everybody is to see: `text`, `by`, `at`."""
        found: Json | None = self._roost._get("/notice")["notice"]
        return found

    def set_notice(self, text: str | None) -> "Json | None":
        """Set it; None takes it away."""
        found: Json | None = self._roost._send("PUT", "/notice", {"text": text})["notice"]
        return found

    def verify_audit(self) -> "Json":
        """Whether the chain of the audit holds: `ok`, `lines`, `last`, `hash`; else `broken` and `how`."""
        return self._roost._get("/audit/verify")

    def audit(self, *, user: str = "", action: str = "", since: str = "", most: int = 50) -> "Iterator[Json]":
        """Who did what, when, from where, the newest first; at most so many."""
        cursor: int | None = None
        while most > 0:
            narrow = query(user=user, action=action, since=since, limit=min(most, _PAGE), cursor=cursor)
            page = self._roost._get("/audit" + narrow)
            yield from page["audit"]
            most, cursor = most - len(page["audit"]), page["next"]
            if cursor is None:
                return

    def usage(self, *, weeks: int | None = None, user: str | None = None) -> "Json":
        """GPU hours per week: `weeks` are their names, `users` have `user`, `gpu_hours`, `jobs`, `waited_s_mean`."""
        return self._roost._get("/usage" + query(weeks=weeks, user=user))

    def _reachable(self, url: str) -> str:
        """A link to the server as it is reached from here: it does not know by which name."""
        address = self._roost.address
        return address.rstrip("/") + "/" + url.partition("://")[2].partition("/")[2] if "://" in address else url
