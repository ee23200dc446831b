"""Slowing down whoever guesses: by the account that is tried and by the address that tries. Time is an argument."""

from __future__ import annotations

import msgspec

FREE = {"account": 5, "address": 20}
"""Failures that cost nothing yet; every further one doubles the pause."""
FIRST_S, LONGEST_S = 1.0, 300.0
FORGET_S = 3600.0
MOST = 20_000
"""How many accounts and addresses are remembered; the oldest go first."""


class _Tried(msgspec.Struct):
    count: int
    last_s: float
    until_s: float


class Throttle:
    """Remembers failures."""

    def __init__(self) -> None:
        self._tried: dict[tuple[str, str], _Tried] = {}

    def wait_s(self, account: str, address: str, now_s: float) -> float:
        """How long to wait before the next try; 0: now."""
        return max(0.0, *(found.until_s - now_s for key in _keys(account, address) if (found := self._tried.get(key))), 0.0)

    def failed(self, account: str, address: str, now_s: float) -> None:
        """A try failed."""
        for key in _keys(account, address):
            before = self._tried.pop(key, None)
            count = before.count + 1 if before is not None and now_s - before.last_s < FORGET_S else 1
            over = count - FREE[key[0]]
            pause = min(LONGEST_S, FIRST_S * 2.0 ** min(over, 20)) if over >= 0 else 0.0
            self._tried[key] = _Tried(count, now_s, now_s + pause)
        while len(self._tried) > MOST:
            del self._tried[next(iter(self._tried))]

    def succeeded(self, account: str) -> None:
        """The account's own failures are forgiven; the address's are not: it may be guessing at others."""
        self._tried.pop(("account", account), None)


def _keys(account: str, address: str) -> tuple[tuple[str, str], tuple[str, str]]:
    return ("account", account), ("address", address)


class Pace:
    """A bucket of requests for each user: a burst at once, then so many a second."""

    def __init__(self) -> None:
        self._left: dict[str, tuple[float, float]] = {}

    def takes(self, user: str, rate: float, burst: float, now_s: float) -> float:
        """Take one request; how long to wait first when the bucket is empty, else 0."""
        left, since = self._left.pop(user, (burst, now_s))
        left = min(burst, left + rate * (now_s - since))
        self._left[user] = (max(0.0, left - 1), now_s)
        while len(self._left) > MOST:
            del self._left[next(iter(self._left))]
        return 0.0 if left >= 1 else (1 - left) / rate
