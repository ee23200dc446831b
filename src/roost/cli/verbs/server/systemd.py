"""systemd for `install` and `uninstall`: where units are, and how to run systemctl."""

import os
import shutil
import subprocess
import sys

from roost.cli.verbs.server.unit_text import MARK
from roost.client.errors import EXIT_NOT_PERMITTED, EXIT_UNREACHABLE, RoostError
from roost.messages.terminal import say

UNIT = "roost.service"
BOOTED = "/run/systemd/system"
SYSTEM_UNITS = "/etc/systemd/system"


class Manager:
    """The system's service manager, or that of this user."""

    def __init__(self, is_system: bool) -> None:
        self.is_system = is_system
        self.prefix = ("systemctl",) if is_system else ("systemctl", "--user")
        self.path = os.path.join(SYSTEM_UNITS if is_system else _user_units(), UNIT)

    def check(self, verb: str) -> None:
        """Raise if this account or this machine cannot do it."""
        if self.is_system and os.geteuid() != 0:
            raise RoostError("cli.root_changes", path=self.path, verb=verb, exit_code=EXIT_NOT_PERMITTED)
        if not os.path.isdir(BOOTED) or shutil.which("systemctl") is None:
            boot = f"@reboot {os.path.abspath(sys.argv[0])} up --detach"
            raise RoostError("cli.no_systemd", line=boot, exit_code=EXIT_UNREACHABLE)

    def command(self, *words: str) -> list[str]:
        """systemctl with these words."""
        return [*self.prefix, *words]

    def do(self, *words: str) -> None:
        """Run systemctl; RoostError with its last line of output if it fails."""
        run(self.command(*words), hint=f"{' '.join(self.prefix)} status roost; {self.journal}")

    def says(self, *words: str) -> str:
        """The output of systemctl, also if it fails."""
        ran = subprocess.run(self.command(*words), stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return ran.stdout.strip()

    @property
    def journal(self) -> str:
        """The command that shows the server's log."""
        return f"journalctl {'' if self.is_system else '--user '}-u roost -n 20"

    def unit(self) -> str | None:
        """The text of the existing unit. Raises if `roost install` did not write it."""
        try:
            with open(self.path, encoding="utf-8", errors="replace") as file:
                text = file.read()
        except FileNotFoundError:
            return None
        if not text.startswith(MARK):
            raise RoostError("cli.not_our_unit", path=self.path)
        return text


def run(command: list[str], *, hint: str) -> None:
    """Run a command; RoostError with its last line of output if it fails."""
    try:
        ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    except OSError as error:
        raise RoostError("cli.command_failed", hint, command=" ".join(command), why=error) from None
    if ran.returncode != 0:
        lines = (ran.stderr + ran.stdout).strip().splitlines()
        last = lines[-1] if lines else say("cli.exit_code", code=ran.returncode)
        raise RoostError("cli.command_failed", hint, command=" ".join(command), why=last)


def _user_units() -> str:
    config = os.environ.get("XDG_CONFIG_HOME", "")
    return os.path.join(config if config.startswith("/") else os.path.expanduser("~/.config"), "systemd", "user")
