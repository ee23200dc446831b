"""One word of a shell script, whatever is in it."""

from __future__ import annotations


def quoted(text: str) -> str:
    """The text in single quotes, where a POSIX shell takes every byte as it stands; a single quote goes outside of them."""
    return "'" + text.replace("'", "'\\''") + "'"
