"""Ask on the terminal: secrets, which are not echoed, and confirmations. Without a terminal, secrets are read from stdin."""

import sys

from roost.cli.parse.options import UsageError
from roost.messages.terminal import say


def secret(code: str, **params: object) -> str:
    """A password or token, asked for by that message: typed without echo on a terminal, else the next line of stdin."""
    what = say(code, **params)
    if sys.stdin.isatty():
        from getpass import getpass

        try:
            found = getpass(f"{what}: ")
        except EOFError:
            found = ""
    else:
        found = sys.stdin.readline().rstrip("\n")
    if not found:
        raise UsageError("cli.nothing_typed", what=what.lower())
    return found


def new_password(code: str = "cli.ask_new_password") -> str:
    """A new password: typed twice on a terminal."""
    found = secret(code)
    if sys.stdin.isatty() and secret("cli.ask_repeat", what=say(code).lower()) != found:
        raise UsageError("cli.passwords_differ")
    return found


def answer(question: str, otherwise: str) -> str:
    """A line typed on the terminal; `otherwise` if it is empty or there is no terminal."""
    if not sys.stdin.isatty():
        return otherwise
    print(f"{question} [{otherwise}]: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip() or otherwise


def confirmed(question: str) -> bool:
    """Ask a yes/no question. Without a terminal it raises: no answer is never a yes."""
    if not sys.stdin.isatty():
        raise UsageError("cli.cannot_confirm")
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
