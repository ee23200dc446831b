"""The UNIX accounts of this machine, cached: a network directory may be slow to answer."""

import os
import pwd
import time

import msgspec

_LIVES_S, _ABSENT_S = 30.0, 2.0
"""How long an account found by name is cached, and how long that there is none."""
_UID_LIVES_S = 1.0
"""Shorter: a uid says who calls, and it may be given to another account."""


class Unix(msgspec.Struct, frozen=True):
    """A UNIX account."""

    uid: int
    name: str
    home: str
    is_named: bool = True
    """Whether the machine knows it by name; else `name` is its uid, which may be the name of another account."""


_FILE = "/etc/passwd"
_seen_at: dict[str, int] = {}
_by_uid: dict[int, tuple[float, Unix]] = {}
_by_name: dict[str, tuple[float, Unix | None]] = {}


def unix_of_uid(uid: int) -> Unix:
    """The account of a uid; one without a name is named by its uid."""
    _forget_if_changed()
    found = _by_uid.get(uid)
    if found is None or found[0] < time.monotonic():
        try:
            entry = pwd.getpwuid(uid)
            account = Unix(uid, entry.pw_name, entry.pw_dir)
        except KeyError:
            account = Unix(uid, str(uid), "/", False)
        found = _by_uid[uid] = (time.monotonic() + _UID_LIVES_S, account)
    return found[1]


def unix_name(name: str) -> Unix | None:
    """The account of that name; None when there is none."""
    _forget_if_changed()
    found = _by_name.get(name)
    if found is None or found[0] < time.monotonic():
        if len(_by_name) > 10_000:
            _by_name.clear()
        asked = _asked(name)
        found = _by_name[name] = (time.monotonic() + (_LIVES_S if asked is not None else _ABSENT_S), asked)
    return found[1]


def _forget_if_changed() -> None:
    """Drop the cache when /etc/passwd has changed: a uid that was given to another account is theirs at once."""
    try:
        stamp = os.stat(_FILE).st_mtime_ns
    except OSError:
        stamp = 0
    if stamp != _seen_at.get(_FILE):
        _by_uid.clear()
        _by_name.clear()
        _seen_at[_FILE] = stamp


def _asked(name: str) -> Unix | None:
    try:
        entry = pwd.getpwnam(name)
    except (KeyError, ValueError, OSError):
        return None
    return Unix(entry.pw_uid, entry.pw_name, entry.pw_dir)
