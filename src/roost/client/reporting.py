"""What a job says of itself, from inside: to the server that runs it, or into its report file, which its node reads.

    from roost.client import report

    report({"loss": 0.31})

The file is there on every node, also where nothing of Roost is installed; the socket where the server is.
"""

import os

from roost.client.errors import BadReport, RoostError, ServerUnreachable
from roost.client.jsontext import Any, Json, Mapping, dumps

_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def report(results: "Mapping[str, Any]") -> "Json":
    """Say how the job goes that this runs in: numbers and short texts by name. The last word on a name stands."""
    job, attempt = os.environ.get("ROOST_JOB_ID", ""), os.environ.get("ROOST_ATTEMPT", "")
    if not job.isdecimal():
        raise BadReport("this is not inside a job", "say which: roost report --job 12 loss=0.31")
    socket, path = os.environ.get("ROOST_SOCKET"), os.environ.get("ROOST_REPORT")
    if path and not socket:
        return {"id": int(job), "results": _append(path, results)}
    from roost.client.client import Roost

    try:
        return Roost(socket or None).report(int(job), results, attempt=int(attempt) if attempt.isdecimal() else None)
    except ServerUnreachable as error:
        if not socket:
            error.hint = f"this job has neither ROOST_SOCKET nor ROOST_REPORT; from elsewhere: roost report --job {job} …"
        raise


def _append(path: str, results: "Mapping[str, Any]") -> "Json":
    """A line for each, in one piece: nobody else's words get in between."""
    from roost.node.runs.results import plain

    _check(results)
    said = {name: plain(value) for name, value in results.items()}
    text = "".join(dumps({name: value}) + "\n" for name, value in said.items()).encode()
    try:
        fd = os.open(path, _FLAGS, 0o600)
        try:
            if os.write(fd, text) < len(text):
                raise RoostError(f"cannot write all of it to {path}", "is the disk full?")
        finally:
            os.close(fd)
    except OSError as problem:
        raise RoostError(f"cannot write to {path}: {problem.strerror}", "ROOST_REPORT names that file") from None
    return said


def _check(results: "Mapping[str, Any]") -> None:
    """Raise for what the server would not take."""
    from roost.node.runs.results import MAX_NAMES, problem_of

    if not results:
        raise BadReport("there is nothing to report", "roost report loss=0.31")
    if len(results) > MAX_NAMES:
        raise BadReport(f"{len(results)} results are too many: a job has at most {MAX_NAMES}")
    for name, value in results.items():
        if (problem := problem_of(name, value)) is not None:
            raise BadReport(problem, "numbers and short texts under short names without = and spaces")
