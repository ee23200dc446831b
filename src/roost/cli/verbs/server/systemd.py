"""systemd as `install` and `uninstall` need it: whose units, where they lie, and its commands.

Runs what it is told and shows what went wrong; decides nothing about what is in a unit.
"""

import os
import shutil
import subprocess
import sys

from roost.cli.verbs.server.unit_text import MARK
from roost.client.errors import EXIT_NOT_PERMITTED, EXIT_UNREACHABLE, RoostError

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
        """Raise when this account, or this machine, cannot do it."""
        if self.is_system and os.geteuid() != 0:
            hint = f"sudo roost {verb}, or for you alone: roost {verb} --user"
            raise RoostError(f"{self.path} is root's to change", hint, exit_code=EXIT_NOT_PERMITTED)
        if not os.path.isdir(BOOTED) or shutil.which("systemctl") is None:
            boot = f"@reboot {os.path.abspath(sys.argv[0])} up --detach"
            hint = f"roost up --detach does without it; for every boot, `crontab -e` and the line: {boot}"
            raise RoostError("this machine was not started by systemd", hint, exit_code=EXIT_UNREACHABLE)

    def command(self, *words: str) -> list[str]:
        """systemctl with these words."""
        return [*self.prefix, *words]

    def do(self, *words: str) -> None:
        """Run it; RoostError with its last line when it fails."""
        run(self.command(*words), hint=f"{' '.join(self.prefix)} status roost; {self.journal}")

    def says(self, *words: str) -> str:
        """What it prints, be it an error."""
        ran = subprocess.run(self.command(*words), stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return ran.stdout.strip()

    @property
    def journal(self) -> str:
        """How to read what the server said."""
        return f"journalctl {'' if self.is_system else '--user '}-u roost -n 20"

    def unit(self) -> str | None:
        """The text of the unit that is there. One that somebody else wrote is not ours to touch."""
        try:
            with open(self.path, encoding="utf-8", errors="replace") as file:
                text = file.read()
        except FileNotFoundError:
            return None
        if not text.startswith(MARK):
            raise RoostError(f"{self.path} was not written by roost install", f"move it away, if it may go: {self.path}")
        return text


def run(command: list[str], *, hint: str) -> None:
    """Run a command of the system; RoostError with its last line when it fails."""
    try:
        ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    except OSError as error:
        raise RoostError(f"{' '.join(command)}: {error.strerror}", hint) from None
    if ran.returncode != 0:
        lines = (ran.stderr + ran.stdout).strip().splitlines()
        raise RoostError(f"{' '.join(command)}: {lines[-1] if lines else f'exit code {ran.returncode}'}", hint)


def _user_units() -> str:
    config = os.environ.get("XDG_CONFIG_HOME", "")
    return os.path.join(config if config.startswith("/") else os.path.expanduser("~/.config"), "systemd", "user")
