"""Report an error: one line, a hint, an exit code. A traceback only with ROOST_DEBUG=1."""

import errno
import os
import sys

from roost.cli.text.output import clean
from roost.client.errors import EXIT_FAILED, EXIT_INTERNAL, RoostError, ServerUnreachable, why
from roost.client.jsontext import dumps

_BROKEN_PIPE = 141


def report(error: Exception, as_json: bool = False) -> int:
    """Print the error to stderr and give the exit code."""
    if os.environ.get("ROOST_DEBUG") == "1":
        import traceback

        traceback.print_exception(error)
    if isinstance(error, BrokenPipeError):
        return _silence()
    if isinstance(error, RoostError):
        return _report_known(error, as_json)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EIO, errno.EACCES, errno.ENOENT):
        say(f"{why(error)}: {error.filename}" if error.filename else why(error))
        return EXIT_FAILED
    report(RoostError("cli.internal", what=f"{type(error).__name__}: {error}"))
    return EXIT_INTERNAL


def say(message: str, hint: str | None = None) -> None:
    """Print one line to stderr, and a hint below it."""
    print(f"roost: {clean(message)}", file=sys.stderr)
    if hint:
        print(f"hint: {clean(hint)}", file=sys.stderr)


def _report_known(error: RoostError, as_json: bool) -> int:
    if isinstance(error, ServerUnreachable):
        from roost.cli.runtime.connect import explained

        error = explained(error)
    if as_json:
        print(dumps({"version": 1, **error.as_json()}), file=sys.stderr)
    else:
        say(error.message, error.hint)
    return error.exit_code


def _silence() -> int:
    """The reader of our output is gone: write nothing more, not even at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    return _BROKEN_PIPE
