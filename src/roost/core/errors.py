"""Errors that a person meets, each with its code and its HTTP status.

Expected refusals inside the scheduler are values (`reasons`), not exceptions.
"""

from typing import Any, ClassVar

from roost.messages import Message, MessageError, hint_of, plain


class RoostError(MessageError):
    """What was tried, why not, and what to do next: a code of the catalogues and its parameters, rendered at the edge.

    `index` is the position of the bad item where several were sent. The hint is `CODE.hint` of the catalogue, or given.
    """

    code: ClassVar[str] = "internal"
    status: ClassVar[int] = 500

    def __init__(
        self, message: str | Message, hint: str | Message | None = None, index: int | None = None, **params: Any
    ) -> None:
        super().__init__(message, **params)
        self.advice = plain(hint) if isinstance(hint, str) else hint or hint_of(self.said)
        self.index = index

    @property
    def message(self) -> str:
        """The message in English."""
        return str(self.said)

    @property
    def hint(self) -> str | None:
        """The hint in English."""
        return None if self.advice is None else str(self.advice)


class BadRequest(RoostError):
    code, status = "bad_request", 400


class Impossible(RoostError):
    """Understood, and it can never run."""

    code, status = "impossible", 422


class NotFound(RoostError):
    code, status = "not_found", 404


class Conflict(RoostError):
    code, status = "conflict", 409


class HostKeyUnknown(RoostError):
    """A node's host key has not been confirmed."""

    code, status = "host_key_unknown", 409

    def __init__(self, node: str, host_key: str, kind: str, was: str | None = None) -> None:
        key: dict[str, Any] = {"node": node, "host_key": host_key, "kind": kind, "file": f"ssh_host_{kind.lower()}_key.pub"}
        if was is None:
            super().__init__("node.host_key_unknown", **key)
        else:
            super().__init__("node.host_key_changed", Message("node.host_key_unknown.hint", **key), was=was, **key)
        self.host_key = host_key


class NotKnown(RoostError):
    """The caller is not known: no valid token, session or socket."""

    code, status = "not_known", 401


class NotPermitted(RoostError):
    code, status = "not_permitted", 403


class TooLarge(RoostError):
    code, status = "too_large", 413


class OverQuota(RoostError):
    """No more may wait now: the user's quota, or the queue's."""

    code, status = "over_quota", 429


class TooFast(RoostError):
    code, status = "too_fast", 429

    def __init__(self, message: str, after_s: float, **params: Any) -> None:
        self.after_s = max(1, round(after_s))
        super().__init__(message, Message("login.retry_after", seconds=self.after_s), **params)


class NotInstalled(RoostError):
    """It needs a package that is not there."""

    code, status = "not_installed", 501


class TryLater(RoostError):
    """Shutting down, starting, or a node that cannot be reached."""

    code, status = "try_later", 503


class DiskFull(RoostError):
    code, status = "disk_full", 507
