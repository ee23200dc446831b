"""roost restore: replace this home's state by a backup. The server must be stopped."""

import os
import subprocess

from roost.cli.parse.options import Args, Operand, Option, UsageError, Verb
from roost.cli.text.output import announce
from roost.client import paths
from roost.client.errors import EXIT_FAILED, RoostError
from roost.client.server_api import server_address
from roost.client.server_process import answers, server_command

VERB = Verb(
    "restore",
    "replace the state by a backup; the server must be stopped",
    operands=(Operand("file", "1", "FILE", "a file written by `roost backup`"),),
    options=(Option("--force", "replace existing state"),),
    examples=(("roost restore roost-monday.db", ""),),
)


def run(args: Args) -> int:
    """Run the server's program, which knows the files."""
    path = os.path.abspath(args.file)
    if not os.path.isfile(path):
        raise UsageError("cli.no_such_file", file=args.file)
    if answers(server_address()):
        raise RoostError("cli.server_running")
    home = paths.home()
    if not args.force and os.path.exists(home + "/roost.db"):
        raise RoostError("cli.has_database", home=home)
    command = server_command(home, ("--restore", path, *(["--force"] if args.force else [])))
    if subprocess.run(command).returncode != 0:
        return EXIT_FAILED
    announce("cli.start_again")
    return 0
