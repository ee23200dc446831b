"""roost drain and undrain: start no new jobs on nodes or GPUs, or use them again."""

from roost.cli.parse.options import JSON, Args, Operand, TableVerb, Verb
from roost.cli.parse.values import items
from roost.cli.runtime.connect import server
from roost.cli.text.output import clean, print_answer
from roost.messages.terminal import say

_TARGETS = Operand("targets", "+", "TARGET", "a node, a GPU (2 or box:2), or all")


def _drain(name: str, summary: str, *examples: tuple[str, str]) -> TableVerb:
    """One of the two verbs."""

    def run(args: Args) -> int:
        targets = [target for word in args.targets for target in items(word)]
        answer = server().drain(targets, undrain=name == "undrain")
        return print_answer(args, answer, say(f"shown.node_{name}", names=clean(", ".join(targets))))

    return TableVerb(Verb(name, summary, operands=(_TARGETS,), options=(JSON,), examples=examples), run)


TABLE = {
    "drain": _drain("drain", "start no new jobs on nodes or GPUs; running jobs continue",
                    ("roost drain 2", "GPU 2"), ("roost drain box", "the whole node")),
    "undrain": _drain("undrain", "use drained nodes or GPUs again", ("roost undrain 2", "GPU 2")),
}  # fmt: skip
