"""roost gpu: disable or enable GPUs, and set how they are shared."""

from roost.cli.parse import values
from roost.cli.parse.options import JSON, ONE, Args, Operand, Option, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import clean, print_answer
from roost.messages.terminal import say

_ACTIONS = ("disable", "enable", "drain", "undrain", "release", "set")
VERB = Verb(
    "gpu",
    "disable or enable GPUs, or set how they are shared",
    operands=(
        Operand("action", "1", "ACTION", ", ".join(_ACTIONS), _ACTIONS),
        Operand("gpus", "+", "GPU", "index, UUID, alias, box:2, or all"),
    ),
    options=(
        Option("--slots", "set: number of jobs that may share the GPU", ONE, "N", values.count),
        Option("--alias", "set: another name for the GPU", ONE, "NAME"),
        JSON,
    ),
    examples=(
        ("roost gpu disable 2", "start no new jobs on it; running jobs continue"),
        ("roost gpu set 0 --slots 2", "two jobs may share it"),
        ("roost gpu release all", "use all GPUs again, disabled or drained"),
    ),
    about="disable and drain: no new jobs start there, running jobs continue.\n"
    "enable undoes disable, undrain undoes drain, release undoes both.",
)


def run(args: Args) -> int:
    """Send the action."""
    parameters = args.said("slots", "alias")
    if bool(parameters) != (args.action == "set"):
        raise UsageError("cli.gpu_set" if args.action == "set" else "cli.gpu_no_set")
    names = [name for word in args.gpus for name in values.items(word)]
    answer = server().gpu_action(args.action, names, **parameters)
    return print_answer(args, answer, say(f"shown.gpu_{args.action}", names=clean(", ".join(names))))
