"""The POSIX shell that everything is started by, and how a word is quoted for it."""

from __future__ import annotations

SHELL = "/bin/sh"


def quoted(text: str) -> str:
    """The text in single quotes, where a POSIX shell takes every byte as it stands; a single quote goes outside of them."""
    return "'" + text.replace("'", "'\\''") + "'"
