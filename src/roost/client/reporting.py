"""What a job says of itself, from inside: to the server that runs it, or into its report file, which its node reads.

    from roost.client import report

    report({"loss": 0.31})

The file is there on every node, also where nothing of Roost is installed; the socket where the server is.
"""

import os

from roost.client.errors import BadReport, RoostError, ServerUnreachable, sentence
from roost.client.jsontext import Any, Json, Mapping, dumps

_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def report(results: "Mapping[str, Any]") -> "Json":
    """Report results of the current job: numbers and short texts by name. A later value replaces an earlier one."""
    job, attempt = os.environ.get("ROOST_JOB_ID", ""), os.environ.get("ROOST_ATTEMPT", "")
    if not job.isdecimal():
        raise BadReport("cli.not_in_job")
    socket, path = os.environ.get("ROOST_SOCKET"), os.environ.get("ROOST_REPORT")
    if path and not socket:
        return {"id": int(job), "results": _append(path, results)}
    from roost.client.client import Roost

    try:
        return Roost(socket or None).report(int(job), results, attempt=int(attempt) if attempt.isdecimal() else None)
    except ServerUnreachable as error:
        if not socket:
            error.hint = sentence("cli.report_elsewhere", job=job)
        raise


def _append(path: str, results: "Mapping[str, Any]") -> "Json":
    """Append a line for each result, in one write, so that lines of other processes do not mix with it."""
    from roost.node.runs.results import plain

    _check(results)
    said = {name: plain(value) for name, value in results.items()}
    text = "".join(dumps({name: value}) + "\n" for name, value in said.items()).encode()
    try:
        fd = os.open(path, _FLAGS, 0o600)
        try:
            if os.write(fd, text) < len(text):
                raise RoostError("cli.short_write", path=path)
        finally:
            os.close(fd)
    except OSError as problem:
        raise RoostError("cli.cannot_write", path=path, strerror=problem) from None
    return said


def _check(results: "Mapping[str, Any]") -> None:
    """Raise if the server would refuse the results."""
    from roost.node.runs.results import MAX_NAMES, problem_of

    if not results:
        raise BadReport("cli.nothing_to_report")
    if len(results) > MAX_NAMES:
        raise BadReport("cli.too_many_results", results=len(results), max_names=MAX_NAMES)
    for name, value in results.items():
        if (problem := problem_of(name, value)) is not None:
            raise BadReport("cli.result_invalid", why=problem)
