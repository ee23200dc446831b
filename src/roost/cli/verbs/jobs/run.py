"""roost run: run a command on GPUs in the foreground: live output, exit code, Ctrl-C."""

import sys

from roost.cli.parse import job_options
from roost.cli.parse.options import Args, Json, Option, Verb
from roost.cli.runtime.connect import reach, server
from roost.cli.runtime.exit_codes import exit_code_of
from roost.cli.runtime.follower import Follower
from roost.cli.text.output import announce
from roost.cli.verbs.jobs.submit import OPERAND, job_of, resolved
from roost.client.client import Roost, new_key
from roost.client.errors import EXIT_INTERRUPTED, ApiError, RoostError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from types import FrameType
    from typing import Any
else:
    import _signal as signal  # the C module: `signal` itself imports enum, which costs as much as Python's start

VERB = Verb(
    "run",
    "run a command when GPUs are free; show output, pass exit code",
    operands=(OPERAND,),
    options=(*job_options.JOB_OPTIONS, Option("-q --quiet", "do not print why the job waits")),
    examples=(
        ("roost run python train.py", "one GPU"),
        ("roost run -g 0 make -j8", "no GPU"),
        ("roost run --mem 8G --time 30m python eval.py", "8 GiB of a shared GPU, at most half an hour"),
    ),
    about="Ctrl-C sends SIGTERM to the job, a second one SIGKILL, a third stops following.\n"
    "If you close the terminal the job continues. Its standard input is empty.",
)


def run(args: Args) -> int:
    """Submit, follow, and end as the job ended."""
    args, spec = job_of(VERB, args)
    key = new_key()
    roost, job = reach(lambda found: (found, found.submit_many([resolved(spec, found)], key=key)[0]))
    patience_s = float("inf") if args.quiet else 0.3 if sys.stderr.isatty() else 1.0
    interrupts = Interrupts(job)
    with interrupts:
        try:
            end = Follower(roost, job, patience_s=patience_s).to_the_end()
        except KeyboardInterrupt:
            announce("cli.left_running", job=job)
            return EXIT_INTERRUPTED
        except BrokenPipeError:
            announce("cli.output_closed", job=job)
            raise
    _tell(roost, job, end)
    return exit_code_of(end)


class Interrupts:
    """Ctrl-C while following: SIGTERM first, then SIGKILL, then stop following."""

    def __init__(self, job: int) -> None:
        self._job = job
        self._count = 0
        self._before: dict[int, Any] = {}
        self._links: list[Roost] = []

    def __enter__(self) -> "Interrupts":
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._interrupted)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _interrupted(self, number: int, frame: "FrameType | None") -> None:
        # Runs between two bytecodes of the main thread, which is in a read: a connection of its own is safe.
        self._count += 1
        if self._count > 2:
            raise KeyboardInterrupt
        hard = self._count == 2
        print(file=sys.stderr)
        announce("cli.sent_kill" if hard else "cli.sent_term", job=self._job)
        # Kept to the end: an interrupt that comes while an object is taken apart would be lost.
        self._links.append(server(timeout_s=10.0))
        try:
            self._links[-1].act("kill", str(self._job), **({"grace_s": 0} if hard else {}))
        except RoostError as error:
            if not (isinstance(error, ApiError) and error.code == "conflict"):
                print(f"roost: {error.message}", file=sys.stderr, flush=True)


def _tell(roost: Roost, job: int, end: Json) -> None:
    """Print how the job ended if the exit code alone does not tell."""
    outcome = end.get("outcome")
    if outcome in ("succeeded", "failed"):
        return
    try:
        error = roost.job(job).get("error")
    except RoostError:
        error = None
    from roost.cli.text.job_text import outcome_text

    print(f"roost: {outcome_text({**end, 'id': job, 'state': 'ended', 'error': error})}", file=sys.stderr)
