"""Slows down password guessing without locking out the account's owner. Time is an argument.

A try counts as failed until it is known to be right, so that many at once gain nothing. Counted are

    tries at one account from one address        few are free: this is how passwords are guessed
    all tries from one address                   more are free: several people may share it
    all tries at one account, from anywhere      many are free, and pauses are short: otherwise anyone could lock
                                                 out anyone

An address from which the account's owner logged in before is slowed by the first rule alone: others may be behind the same
proxy. Sessions, tokens and the UNIX
socket are not throttled here.
"""

import ipaddress
from typing import Any

import msgspec


class Rule(msgspec.Struct, frozen=True):
    """How many failures are free, and the longest pause. The first pause is a second; every further failure doubles it."""

    free: int
    longest_s: float


PAIR, ADDRESS, ACCOUNT = Rule(5, 300), Rule(20, 300), Rule(100, 30)
FIRST_S = 1.0
FORGET_S = 3600.0
MAX_KEPT = 20_000
"""How many accounts and addresses are remembered; the oldest are dropped first."""
Key = tuple[str, str]


class _Tried(msgspec.Struct):
    count: int
    last_s: float
    until_s: float


class Throttle:
    """Counts failed tries."""

    def __init__(self) -> None:
        self._tried: dict[Key, _Tried] = {}
        self._good: dict[Key, None] = {}

    def begin(self, account: str, address: str, now_s: float, is_known: bool = False) -> float:
        """Begin a try: 0, or how long to wait before it. `is_known`: the owner logged in from there before."""
        rules = _rules(account, address, is_known or (account, block(address)) in self._good)
        waits = [found.until_s - now_s for key in rules if (found := self._tried.get(key)) is not None]
        if (wait_s := max(waits, default=0.0)) > 0:
            return wait_s
        for key, rule in rules.items():
            self._count(key, rule, now_s)
        _bound(self._tried)
        return 0.0

    def _count(self, key: Key, rule: Rule, now_s: float) -> None:
        before = self._tried.pop(key, None)
        count = before.count + 1 if before is not None and now_s - before.last_s < FORGET_S else 1
        over = count - rule.free
        pause = min(rule.longest_s, FIRST_S * 2.0 ** min(over, 20)) if over >= 0 else 0.0
        self._tried[key] = _Tried(count, now_s, now_s + pause)

    def succeeded(self, account: str, address: str, is_known: bool = False) -> None:
        """The password was right: reset the count of this account from there, and take this try off the counts it is in."""
        rules = _rules(account, address, is_known or (account, block(address)) in self._good)
        self._tried.pop(next(iter(rules)), None)
        for key in rules:
            if (found := self._tried.get(key)) is not None:
                found.count -= 1
                found.until_s = found.last_s
        self._good[(account, block(address))] = None
        _bound(self._good)


def _rules(account: str, address: str, is_good: bool) -> dict[Key, Rule]:
    """The counts that a try belongs to. Account names have no spaces, so the keys are distinct."""
    place = block(address)
    rules = {("pair", f"{account} {place}"): PAIR}
    return rules if is_good else {**rules, ("address", place): ADDRESS, ("account", account): ACCOUNT}


def block(address: str) -> str:
    """The addresses that one person may have: one of IPv4, a /64 of IPv6."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((int(found) >> 64 << 64, 64)))


def _bound(kept: dict[Any, Any]) -> None:
    while len(kept) > MAX_KEPT:
        del kept[next(iter(kept))]


class Pace:
    """A token bucket of requests for each user: a burst at once, then so many a second."""

    def __init__(self) -> None:
        self._left: dict[str, tuple[float, float]] = {}

    def takes(self, user: str, rate: float, burst: float, now_s: float) -> float:
        """Take one request; 0, or how long to wait when the bucket is empty."""
        left, since = self._left.pop(user, (burst, now_s))
        left = min(burst, left + rate * (now_s - since))
        self._left[user] = (max(0.0, left - 1), now_s)
        _bound(self._left)
        return 0.0 if left >= 1 else (1 - left) / rate
