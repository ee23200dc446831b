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
    """Nobody has said that a node's key is the right one."""

    code, status = "host_key_unknown", 409

    def __init__(self, node: str, host_key: str, kind: str, was: str | None = None) -> None:
        what = f"is {host_key} ({kind})" if was is None else f"has changed from {was} to {host_key} ({kind})"
        super().__init__(
            f"the host key of {node} {what}, and nobody has said that this is right",
            f"compare it on {node} itself (ssh-keygen -lf /etc/ssh/ssh_host_{kind.lower()}_key.pub), "
            f"then say: --host-key {host_key}",
        )
        self.host_key = host_key


class NotKnown(RoostError):
    """Nobody says who is asking."""

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

    def __init__(self, message: str, after_s: float) -> None:
        super().__init__(message, f"try again in {max(1, round(after_s))} s")
        self.after_s = max(1, round(after_s))


class NotInstalled(RoostError):
    """It needs a package that is not there."""

    code, status = "not_installed", 501


class TryLater(RoostError):
    """Shutting down, starting, or a node that cannot be reached."""

    code, status = "try_later", 503


class DiskFull(RoostError):
    code, status = "disk_full", 507
