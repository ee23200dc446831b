"""Asking a person on the terminal: secrets, which are not shown, and whether it is meant. Without one, stdin is read."""

import sys

from roost.cli.parse.options import UsageError


def secret(what: str) -> str:
    """A password or a token: typed unseen on a terminal, else the next line of stdin."""
    if sys.stdin.isatty():
        from getpass import getpass

        try:
            found = getpass(f"{what}: ")
        except EOFError:
            found = ""
    else:
        found = sys.stdin.readline().rstrip("\n")
    if not found:
        raise UsageError(f"no {what.lower()} was given", "it is asked for on a terminal, or read from stdin")
    return found


def new_password(what: str = "New password") -> str:
    """A new password: typed twice on a terminal."""
    found = secret(what)
    if sys.stdin.isatty() and secret(f"{what}, again") != found:
        raise UsageError("the two are not the same; nothing was changed")
    return found


def answer(question: str, otherwise: str) -> str:
    """A line typed on the terminal; `otherwise` when it is empty, and where there is no terminal."""
    if not sys.stdin.isatty():
        return otherwise
    print(f"{question} [{otherwise}]: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip() or otherwise


def is_meant(question: str) -> bool:
    """Whether a person says yes. Where there is no terminal nobody can be asked, and nothing is taken for a yes."""
    if not sys.stdin.isatty():
        raise UsageError("nobody can be asked here, and nothing was done", "-y says that it is meant")
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
