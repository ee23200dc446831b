"""roost log: the output of a job, or the server's own log."""

import sys

from roost.cli.parse import values
from roost.cli.parse.options import ONE, Args, Operand, Option, Verb
from roost.cli.runtime.connect import server
from roost.cli.runtime.follower import Follower, write_all
from roost.cli.runtime.selection import one_job
from roost.cli.text.output import announce
from roost.client.client import Roost
from roost.client.errors import ApiError

VERB = Verb(
    "log",
    "print a job's output, or the server's log (`log server`)",
    operands=(Operand("job", "?", "ID", "12, @ (your last job, the default), or server"),),
    options=(
        Option("-f --follow", "follow the output until the job ends"),
        Option("-n --lines", "only the last N lines", ONE, "N", values.count),
        Option("--out", "standard output only"),
        Option("--err", "standard error only"),
        Option("--attempt", "output of this attempt (default: the last)", ONE, "N", values.count),
    ),
    examples=(
        ("roost log -f 12", "live"),
        ("roost log 12 -n 50 --err", "the last 50 lines of standard error"),
        ("roost log server", "the server's log"),
    ),
    about="By default, standard output goes to stdout and standard error to stderr.",
)


def run(args: Args) -> int:
    """Copy the bytes."""
    roost = server()
    word = args.job or "@"
    if word == "server":
        write_all(1, roost.server_log(args.lines))
        return 0
    if bool(args.out) == bool(args.err):
        descriptors = {"out": 1, "err": 2}
    else:
        descriptors = {"out": 1} if args.out else {"err": 1}
    job = one_job(roost, word)
    if args.follow:
        patience_s = 0.3 if sys.stderr.isatty() else 1.0
        follower = Follower(
            roost, job, attempt=args.attempt, lines=args.lines, descriptors=descriptors, patience_s=patience_s
        )
        follower.to_the_end()
        _say_how_it_is(roost, job)
        return 0
    try:
        written = sum([_copy(roost, job, stream, args, descriptor) for stream, descriptor in descriptors.items()])
    except ApiError as error:
        if error.code != "not_found" or not _never_ran(roost, job):
            raise
        written = 0
    if not written:
        _say_how_it_is(roost, job)
    return 0


def _say_how_it_is(roost: Roost, job: int) -> None:
    """On a terminal, print the state of a job that has not succeeded: the log does not show it."""
    if not sys.stderr.isatty():
        return
    from roost.cli.text.job_text import outcome_text

    found = roost.job(job)
    if found["state"] != "ended":
        announce("cli.no_output", found=outcome_text(found))
    elif found.get("outcome") != "succeeded":
        print(f"roost: {outcome_text(found)}", file=sys.stderr)


def _never_ran(roost: Roost, job: int) -> bool:
    """Whether the job exists and has no log because it never started."""
    try:
        return not roost.job(job).get("started_at")
    except ApiError:
        return False


def _copy(roost: Roost, job: int, stream: str, args: Args, descriptor: int) -> int:
    """Copy one stream; return the number of bytes."""
    if args.lines is not None:
        data = roost.log(job, stream=stream, attempt=args.attempt, lines=args.lines)
        write_all(descriptor, data)
        return len(data)
    dropped = ""
    size = 0
    for data, headers in roost.log_pieces(job, stream=stream, attempt=args.attempt):
        if headers.get("roost-dropped") and headers["roost-dropped"] != dropped:
            dropped = headers["roost-dropped"]
            announce("cli.dropped", dropped=dropped)
        write_all(descriptor, data)
        size += len(data)
    return size
