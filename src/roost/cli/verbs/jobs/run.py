"""roost run: run a command on GPUs as if it were typed: live output, its exit code, Ctrl-C."""

import sys

from roost.cli.parse import job_options
from roost.cli.parse.options import Args, Json, Option, Verb
from roost.cli.runtime.connect import reach, server
from roost.cli.runtime.exit_codes import exit_code_of
from roost.cli.runtime.follower import Follower
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
    "run a command when GPUs are free, follow it, exit as it does",
    operands=(OPERAND,),
    options=(*job_options.JOB_OPTIONS, Option("-q --quiet", "do not say why it waits")),
    examples=(
        ("roost run python train.py", "one GPU"),
        ("roost run -g 0 make -j8", "no GPU"),
        ("roost run --mem 8G --time 30m python eval.py", "8 GiB of a shared GPU, half an hour at most"),
    ),
    about="Ctrl-C asks the job to end, a second one kills it, a third leaves it alone.\n"
    "Closing the terminal leaves it running. Its standard input is empty.",
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
            print(f"roost: left; job {job} goes on: roost log -f {job}", file=sys.stderr)
            return EXIT_INTERRUPTED
        except BrokenPipeError:
            print(f"roost: nobody reads; job {job} goes on: roost log -f {job}", file=sys.stderr)
            raise
    _tell(roost, job, end)
    return exit_code_of(end)


class Interrupts:
    """Ctrl-C while following: first ask the job to end, then kill it, then leave."""

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
        said = "killing it" if hard else "asked it to end; again to kill it"
        print(f"\nroost: job {self._job}: {said}", file=sys.stderr, flush=True)
        # Kept to the end: an interrupt that comes while an object is taken apart would be lost.
        self._links.append(server(timeout_s=10.0))
        try:
            self._links[-1].act("kill", str(self._job), **({"grace_s": 0} if hard else {}))
        except RoostError as error:
            if not (isinstance(error, ApiError) and error.code == "conflict"):
                print(f"roost: {error.message}", file=sys.stderr, flush=True)


def _tell(roost: Roost, job: int, end: Json) -> None:
    """A line about an end that the exit code alone does not explain."""
    outcome = end.get("outcome")
    if outcome in ("succeeded", "failed"):
        return
    try:
        error = roost.job(job).get("error")
    except RoostError:
        error = None
    from roost.cli.text.job_text import outcome_text

    print(f"roost: {outcome_text({**end, 'id': job, 'state': 'ended', 'error': error})}", file=sys.stderr)
