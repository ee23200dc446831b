"""roost backup: write the server's state to a file while it runs."""

import os

from roost.cli.parse.options import JSON, Args, Operand, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import clean, print_answer
from roost.messages.terminal import say

VERB = Verb(
    "backup",
    "write the server's state to a file while it runs",
    operands=(Operand("file", "1", "FILE", "a new file"),),
    options=(JSON,),
    examples=(("roost backup roost-monday.db", "restore it with: roost restore roost-monday.db"),),
)


def run(args: Args) -> int:
    """Ask the server to write it."""
    path = os.path.abspath(args.file)
    answer = server(timeout_s=None).backup(path)
    return print_answer(args, {"path": path, **answer}, say("shown.backup", path=clean(path)))
