"""roost uninstall: take away what `roost install` made; state and jobs stay."""

import os

from roost.cli.parse.options import Args, Option, Verb
from roost.cli.text.output import note
from roost.cli.verbs.server.systemd import UNIT, Manager
from roost.client import paths

VERB = Verb(
    "uninstall",
    "stop the server and take its systemd unit away",
    options=(Option("--user", "the one of your own"), Option("--dry-run", "print the commands, do nothing")),
    examples=(
        ("sudo roost uninstall", "jobs run on; state and logs stay"),
        ("roost uninstall --user", ""),
    ),
)


def run(args: Args) -> int:
    """Stop, disable, remove, reload."""
    manager = Manager(is_system=not args.user)
    if args.dry_run:
        for words in (("disable", "--now", UNIT), ("daemon-reload",)):
            print(" ".join(manager.command(*words)))
            if words[0] == "disable":
                print(f"rm {manager.path}")
        return 0
    manager.check("uninstall")
    if manager.unit() is None:
        note(f"roost: nothing to do: there is no {manager.path}")
        return 0
    manager.do("disable", "--now", UNIT)
    os.unlink(manager.path)
    manager.do("daemon-reload")
    manager.says("reset-failed", UNIT)  # a server that had failed would be listed for ever
    home = paths.home(uid=0 if manager.is_system else None)
    note(f"roost: {UNIT} is gone; jobs run on, state and logs stay in {home}")
    note("roost: to go on without systemd: roost up --detach")
    return 0
