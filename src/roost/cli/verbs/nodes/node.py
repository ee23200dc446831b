"""roost node: the nodes."""

from roost.cli.parse.options import Args, Verb
from roost.cli.runtime.selection import JSON

VERB = Verb(
    "node",
    "list the nodes, as `roost nodes`",
    options=(JSON,),
    examples=(
        ("roost node", "the same as `roost nodes`"),
        ("roost node add lab3 ssh://root@10.0.0.3:2222", "an administrator: one more"),
        ("roost node check lab3", "what is missing there"),
    ),
    about="Further: roost node add, show, check, rm, lost, trust, login; drain, undrain.",
)


def run(args: Args) -> int:
    """The same as `nodes`."""
    from roost.cli.verbs.nodes.nodes import run as listed

    return listed(args)
