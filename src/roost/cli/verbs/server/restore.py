"""roost restore: put a backup in place of this home's state. Works without a server, and only without."""

import os
import subprocess

from roost.cli.parse.options import Args, Operand, Option, UsageError, Verb
from roost.cli.text.output import note
from roost.client import paths
from roost.client.errors import EXIT_FAILED, RoostError
from roost.client.server_api import server_address
from roost.client.server_process import answers, server_command

VERB = Verb(
    "restore",
    "start from a backup; the server must be down",
    operands=(Operand("file", "1", "FILE", "what `roost backup` wrote"),),
    options=(Option("--force", "replace the state that is there"),),
    examples=(("roost restore roost-monday.db", ""),),
)


def run(args: Args) -> int:
    """Have the server's program do it, which knows the files."""
    path = os.path.abspath(args.file)
    if not os.path.isfile(path):
        raise UsageError(f"no such file: {args.file}")
    if answers(server_address()):
        raise RoostError("a server is running", "stop it first: roost down")
    home = paths.home()
    if not args.force and os.path.exists(home + "/roost.db"):
        raise RoostError(f"{home} already has a database", "replace it: roost restore --force FILE")
    command = server_command(home, ("--restore", path, *(["--force"] if args.force else [])))
    if subprocess.run(command).returncode != 0:
        return EXIT_FAILED
    note("roost: start it with: roost up --detach")
    return 0
