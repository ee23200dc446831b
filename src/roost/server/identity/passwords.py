"""Passwords: argon2id, and none that anybody would guess first. Slow on purpose: call from a thread."""

from functools import cache
from importlib import resources
from typing import Any

MIN_LENGTH, MAX_LENGTH = 10, 1024
_LEET = str.maketrans("013457@$!", "oieastasi")
_ROWS = (
    "abcdefghijklmnopqrstuvwxyz",
    "qwertyuiopasdfghjklzxcvbnm",
    "qazwsxedcrfvtgbyhnujmikolp",
    "01234567890123456789",
    "1qaz2wsx3edc4rfv5tgb",
)


def why_weak(password: str, user: str) -> str | None:
    """Why that password must not be set; None when it may."""
    if len(password) < MIN_LENGTH:
        return f"it has {len(password)} characters, at least {MIN_LENGTH} are needed"
    if len(password) > MAX_LENGTH:
        return f"it has {len(password):,} characters, at most {MAX_LENGTH:,} are taken"
    low = password.casefold()
    if len(user) >= 3 and user.casefold() in low:
        return "it holds the user's own name"
    if len(set(low)) < 5:
        return "it repeats a few characters"
    bare = low.translate(_LEET).strip("0123456789!@#$%^&*()-_=+.,;:?/ '\"oie")
    core = low.strip("0123456789!@#$%^&*()-_=+.,;:?/ '\"")
    if {low, core, bare, low.translate(_LEET)} & _common():
        return "it is one of the most common passwords, with at most some digits around it"
    if _is_row(low):
        return "it is a row of keys or letters"
    return None


def _is_row(low: str) -> bool:
    """Whether all of it runs along the keyboard or the alphabet, forwards or backwards, perhaps twice."""
    half = low[: len(low) // 2]
    parts = (low, half) if low == half * 2 else (low,)
    return any(part in row or part[::-1] in row for part in parts for row in _ROWS)


@cache
def _common() -> frozenset[str]:
    text = resources.files("roost.server").joinpath("common_passwords.txt").read_text(encoding="utf-8")
    return frozenset(word for line in text.splitlines() if not line.startswith("#") for word in line.split())


def hashed(password: str) -> str:
    """The hash to keep."""
    return str(_hasher().hash(password))


def is_right(password: str, known: str | None) -> bool:
    """Whether it is the password. Takes as long for somebody who has none."""
    if len(password) > MAX_LENGTH:
        return False
    fits = bool(_hasher().verify(password, known or _nobody()))
    return fits and known is not None


@cache
def _nobody() -> str:
    return hashed("nobody has this password, and nobody ever will")


@cache
def _hasher() -> Any:
    from pwdlib import PasswordHash
    from pwdlib.hashers.argon2 import Argon2Hasher

    return PasswordHash((Argon2Hasher(),))
