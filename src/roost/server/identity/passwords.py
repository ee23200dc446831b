"""Passwords: hashed with argon2id, and checked against those that are guessed first. Slow on purpose: call from a thread."""

from functools import cache
from importlib import resources
from typing import Any

from roost.messages import Message

MIN_LENGTH, MAX_LENGTH = 10, 1024
_LEET = str.maketrans("013457@$!", "oieastasi")
_ROWS = (
    "abcdefghijklmnopqrstuvwxyz",
    "qwertyuiopasdfghjklzxcvbnm",
    "qazwsxedcrfvtgbyhnujmikolp",
    "01234567890123456789",
    "1qaz2wsx3edc4rfv5tgb",
)


def why_weak(password: str, user: str) -> Message | None:
    """Why that password is not accepted; None when it is."""
    if len(password) < MIN_LENGTH:
        return Message("login.weak_short", count=len(password), least=MIN_LENGTH)
    if len(password) > MAX_LENGTH:
        return Message("login.weak_long", count=len(password), most=MAX_LENGTH)
    low = password.casefold()
    if len(user) >= 3 and user.casefold() in low:
        return Message("login.weak_name")
    if len(set(low)) < 5:
        return Message("login.weak_repeats")
    bare = low.translate(_LEET).strip("0123456789!@#$%^&*()-_=+.,;:?/ '\"oie")
    core = low.strip("0123456789!@#$%^&*()-_=+.,;:?/ '\"")
    if {low, core, bare, low.translate(_LEET)} & _common():
        return Message("login.weak_common")
    if _is_row(low):
        return Message("login.weak_row")
    return None


def _is_row(low: str) -> bool:
    """Whether it runs along the keyboard or the alphabet, forwards or backwards, perhaps twice."""
    half = low[: len(low) // 2]
    parts = (low, half) if low == half * 2 else (low,)
    return any(part in row or part[::-1] in row for part in parts for row in _ROWS)


@cache
def _common() -> frozenset[str]:
    text = resources.files("roost.server").joinpath("common_passwords.txt").read_text(encoding="utf-8")
    return frozenset(word for line in text.splitlines() if not line.startswith("#") for word in line.split())


def hashed(password: str) -> str:
    """The hash to store."""
    return str(_hasher().hash(password))


def is_right(password: str, known: str | None) -> bool:
    """Whether it is the password. Takes as long for a user without one."""
    if len(password) > MAX_LENGTH:
        return False
    fits = bool(_hasher().verify(password, known or _hash_of_none()))
    return fits and known is not None


@cache
def _hash_of_none() -> str:
    return hashed("a password that no user has")


@cache
def _hasher() -> Any:
    from pwdlib import PasswordHash
    from pwdlib.hashers.argon2 import Argon2Hasher

    return PasswordHash((Argon2Hasher(),))
