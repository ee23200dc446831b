"""The exit code for a job's end."""

from roost.cli.parse.options import Json
from roost.client.errors import EXIT_CANNOT_LAUNCH, EXIT_FAILED, EXIT_TIMED_OUT

_KILLED = 143


def exit_code_of(end: Json) -> int:
    """The job's exit code; 124 if it timed out, 125 if it could not start, 128+n for a signal."""
    outcome = end.get("outcome")
    if outcome == "timed_out":
        return EXIT_TIMED_OUT
    if outcome == "cannot_start":
        return EXIT_CANNOT_LAUNCH
    code = end.get("exit_code")
    if outcome == "killed":
        return int(code) if code else _KILLED
    if code is None:
        return 0 if outcome == "succeeded" else EXIT_FAILED
    return int(code) if code or outcome == "succeeded" else EXIT_FAILED
