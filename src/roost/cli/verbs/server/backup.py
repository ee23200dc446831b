"""roost backup: write all state to a file while the server runs."""

import os

from roost.cli.parse.options import Args, Operand, Verb
from roost.cli.runtime.connect import server
from roost.cli.runtime.selection import JSON
from roost.cli.text.output import clean, print_json

VERB = Verb(
    "backup",
    "write all state to a file, while running",
    operands=(Operand("file", "1", "FILE", "a new file"),),
    options=(JSON,),
    examples=(("roost backup roost-monday.db", "start from it elsewhere: roost restore roost-monday.db"),),
)


def run(args: Args) -> int:
    """Ask the server to write it."""
    path = os.path.abspath(args.file)
    answer = server(timeout_s=None).backup(path)
    if args.json:
        print_json({"version": 1, "path": path, **answer})
    else:
        print(f"written to {clean(path)}")
    return 0
