"""roost gpu: take a GPU out, put it back, set how it is shared."""

from roost.cli.parse import values
from roost.cli.parse.options import JSON, ONE, Args, Operand, Option, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import clean, print_answer

_DONE = {
    "disable": "disabled",
    "enable": "enabled",
    "drain": "drained",
    "undrain": "undrained",
    "release": "opened",
    "set": "set",
}
VERB = Verb(
    "gpu",
    "close GPUs, open them again, or set how they are shared",
    operands=(
        Operand("action", "1", "ACTION", ", ".join(_DONE), tuple(_DONE)),
        Operand("gpus", "+", "GPU", "index, UUID, alias, box:2, or all"),
    ),
    options=(
        Option("--slots", "set: how many jobs may share it", ONE, "N", values.count),
        Option("--alias", "set: a name of its own", ONE, "NAME"),
        JSON,
    ),
    examples=(
        ("roost gpu disable 2", "nothing new starts on it; what runs goes on"),
        ("roost gpu set 0 --slots 2", "two jobs at a time"),
        ("roost gpu release all", "open all again, whether they were disabled or drained"),
    ),
    about="disable and drain: nothing new starts there, what runs goes on.\n"
    "enable opens what was disabled, undrain what was drained, release both.",
)


def run(args: Args) -> int:
    """Send the action."""
    parameters = args.said("slots", "alias")
    if bool(parameters) != (args.action == "set"):
        raise UsageError(
            "set what? --slots N or --alias NAME" if args.action == "set" else "--slots and --alias go with set"
        )
    names = [name for word in args.gpus for name in values.items(word)]
    answer = server().gpu_action(args.action, names, **parameters)
    return print_answer(args, answer, f"{_DONE[args.action]} GPU {clean(', '.join(names))}")
