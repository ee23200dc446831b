"""Which of two servers that came from one state is the later one: the restored one, however long the other still runs.

A state has an epoch, and a restore begins a new one. Every attach names it; a node remembers the last one and lets no older
one of that server in. It is signed with a secret of the state: a node can show a server only what one has said.
"""

import hmac
import os

import msgspec


class Epoch(msgspec.Struct, frozen=True):
    """The epoch of a state."""

    server: str
    secret: str
    count: int
    chance: str
    """Two restores of one backup in one second are told apart by it."""

    @property
    def token(self) -> str:
        """What nodes are told."""
        return f"{self._said}.{self._sign(self._said)}"

    @property
    def _said(self) -> str:
        return f"{self.server}.{self.count}.{self.chance}"

    def is_before(self, token: str) -> bool:
        """Whether that is the token of a later epoch of this server; what nobody with the secret has signed is not."""
        said, _, signature = token.rpartition(".")
        parts = said.split(".")
        if len(parts) != 3 or not hmac.compare_digest(signature.encode(), self._sign(said).encode()):
            return False
        return parts[0] == self.server and (int(parts[1]), parts[2]) > (self.count, self.chance)

    def _sign(self, said: str) -> str:
        return hmac.new(self.secret.encode(), said.encode(), "sha256").hexdigest()[:32]

    def next(self, now_s: int) -> "Epoch":
        """That of a state which is begun from this one now."""
        return msgspec.structs.replace(self, count=max(self.count + 1, now_s), chance=os.urandom(4).hex())


def first(server: str, now_s: int) -> Epoch:
    """The epoch of a state that has none."""
    return Epoch(server, os.urandom(16).hex(), now_s, os.urandom(4).hex())
