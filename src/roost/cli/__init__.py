"""The command line: one verb, one file; this one only finds the verb and reports what went wrong.

Data goes to stdout, words to stderr. Nothing is imported before it is known to be needed: `roost submit` is to cost
little more than an empty Python.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: "Sequence[str] | None" = None) -> int:
    """Run a command line and give its exit code. Never a traceback, unless ROOST_DEBUG=1."""
    words = sys.argv[1:] if argv is None else list(argv)
    from roost.cli.dispatch import dispatch

    try:
        code = dispatch(words)
        sys.stdout.flush()
        return code
    except Exception as error:
        from roost.cli.runtime.failures import report

        return report(error)
    except KeyboardInterrupt:
        return 130
