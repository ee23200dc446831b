"""One line of `roost node check`, before it has its name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether it is right, what was found, and what to type. None: not known, or worth knowing and nobody's fault."""

    ok: bool | None
    text: str
    hint: str | None = None


def good(text: str, hint: str | None = None) -> Verdict:
    return Verdict(True, text, hint)


def bad(text: str, hint: str | None = None) -> Verdict:
    return Verdict(False, text, hint)


def unsure(text: str, hint: str | None = None) -> Verdict:
    return Verdict(None, text, hint)
