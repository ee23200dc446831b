"""roost uninstall: remove what `roost install` created; state and jobs stay."""

import os

from roost.cli.parse.options import Args, Option, Verb
from roost.cli.text.output import announce
from roost.cli.verbs.server.systemd import UNIT, Manager
from roost.client import paths

VERB = Verb(
    "uninstall",
    "stop the server and remove its systemd unit",
    options=(Option("--user", "your user unit"), Option("--dry-run", "print the commands; change nothing")),
    examples=(
        ("sudo roost uninstall", "jobs continue; state and logs stay"),
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
        announce("cli.no_unit", path=manager.path)
        return 0
    manager.do("disable", "--now", UNIT)
    os.unlink(manager.path)
    manager.do("daemon-reload")
    manager.says("reset-failed", UNIT)  # else systemd keeps listing a failed unit
    home = paths.home(uid=0 if manager.is_system else None)
    announce("cli.removed_unit", unit=UNIT, home=home)
    announce("cli.without_systemd")
    return 0
