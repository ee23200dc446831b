"""roost install: write, enable and start a systemd unit that runs the server from boot."""

import os
import shlex
import stat
import subprocess
import sys

import roost
from roost.cli.parse.options import Args, Option, UsageError, Verb
from roost.cli.text.output import announce, note
from roost.cli.verbs.server.server_options import LISTENING, SIM, server_arguments
from roost.cli.verbs.server.systemd import UNIT, Manager
from roost.cli.verbs.server.systemd import run as run_command
from roost.cli.verbs.server.unit_text import unit_text
from roost.client import paths
from roost.client.client import Roost
from roost.client.errors import EXIT_TRY_LATER, RoostError, ServerUnreachable
from roost.client.server_process import server_command
from roost.messages.terminal import say

LINGERING = "/var/lib/systemd/linger"
VERB = Verb(
    "install",
    "run the server with systemd, starting at boot",
    options=(
        Option("--user", "a user unit only for you; needs no root"),
        Option("--linger", "with --user: start at boot and keep running after you log out"),
        Option("--dry-run", "print the unit and the commands; change nothing"),
        SIM,
        *LISTENING,
    ),
    examples=(
        ("sudo roost install", "one server for all users of this machine"),
        ("roost install --user --linger", "a server only for you, which keeps running after you log out"),
        ("roost install --dry-run", "what would be done"),
    ),
    about="Jobs continue while the unit restarts.\nRun again, it restarts the server only if the unit changed.",
)


def run(args: Args) -> int:
    """Check, write the unit, then enable and start it."""
    if args.linger and not args.user:
        raise UsageError("cli.linger_needs_user")
    if args.user and os.environ.get("SUDO_USER"):
        raise UsageError("cli.user_with_sudo")
    manager = Manager(is_system=not args.user)
    if not args.dry_run:
        manager.check("install")
    home = paths.home(uid=0 if manager.is_system else None)
    command = server_command(home, server_arguments(args))
    text = unit_text(command, _environment(command), is_system=manager.is_system)
    linger = ["loginctl", "enable-linger"] if args.linger else []
    if args.dry_run:
        _show(manager, text, linger)
        _warn(manager, linger)
        return 0
    _check_nobody_else(manager, home)
    is_new = _put(manager, text)
    if linger:
        run_command(linger, hint=say("cli.linger_hint"))
    _warn(manager, linger)
    _tell(manager, home, is_new)
    return 0


def _warn(manager: Manager, linger: list[str]) -> None:
    for warning in [] if linger else warnings(manager.is_system):
        note(f"roost: warning: {warning}")


def _environment(command: list[str]) -> dict[str, str]:
    """The server's environment. Tests with an environment as small as systemd's whether the server starts."""
    found = {"ROOST_HOME": paths.home()} if os.environ.get("ROOST_HOME") else {}
    said = _checked(command, found)
    if said is not None and os.environ.get("PYTHONPATH"):
        found["PYTHONPATH"] = ":".join(map(os.path.abspath, os.environ["PYTHONPATH"].split(":")))
        said = _checked(command, found)
    if said is not None:
        raise said
    return found


def _checked(command: list[str], environment: dict[str, str]) -> RoostError | None:
    bare = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    try:
        ran = subprocess.run([*command, "--check"], env=bare | environment, cwd="/", capture_output=True, text=True)
    except OSError as error:
        return RoostError("cli.cannot_run", command=command[0], strerror=error)
    if ran.returncode == 0 and ran.stdout.strip() == os.path.dirname(roost.__file__):
        return None
    if ran.returncode == 2 and ran.stderr.startswith("roost: "):
        words, _, hint = ran.stderr.removeprefix("roost: ").partition("\nhint: ")
        return UsageError(words.strip(), hint.strip() or None)
    return RoostError("cli.clean_import", command=command[0])


def _check_nobody_else(manager: Manager, home: str) -> None:
    """Raise if a server that systemd did not start is running in that home."""
    try:
        pid = Roost(paths.own_socket_path(uid=0 if manager.is_system else None), timeout_s=5).status().get("server_pid")
    except ServerUnreachable:
        return
    if str(pid) != manager.says("show", "--property=MainPID", "--value", UNIT):
        raise RoostError("cli.foreign_server", home=home, pid=pid, exit_code=EXIT_TRY_LATER)


def warnings(is_system: bool) -> list[str]:
    """Warnings about where Roost is installed, or about this account."""
    if not is_system:
        return [] if os.path.exists(f"{LINGERING}/{_account()}") else [say("cli.ends_with_login")]
    found = []
    places = (sys.executable, os.path.realpath(sys.executable), os.path.dirname(roost.__file__))
    closed = next(filter(None, map(_closed, places)), None)
    if closed:
        found.append(say("cli.closed_path", path=closed))
    loose = next(filter(None, map(_loose, places)), None)
    if loose:
        found.append(say("cli.loose_path", path=loose))
    return found


def _account() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def _closed(path: str) -> str | None:
    """The first directory of a path that other accounts cannot enter."""
    return next((at for at in _way(path) if os.path.isdir(at) and not os.stat(at).st_mode & stat.S_IXOTH), None)


def _loose(path: str) -> str | None:
    """The first part of a path that accounts other than root can change. Sticky directories are safe."""
    for at in _way(path):
        held = os.stat(at)
        writable = held.st_mode & (stat.S_IWOTH | stat.S_IWGRP) and not held.st_mode & stat.S_ISVTX
        if held.st_uid != 0 or (writable and (held.st_mode & stat.S_IWOTH or held.st_gid != 0)):
            return at
    return None


def _way(path: str) -> list[str]:
    """The path and its parents, from the root."""
    steps = [path]
    while steps[0] != "/":
        steps.insert(0, os.path.dirname(steps[0]))
    return steps


def _put(manager: Manager, text: str) -> bool:
    """Write the unit; False if it did not change."""
    if manager.unit() == text:
        return False
    os.makedirs(os.path.dirname(manager.path), exist_ok=True)
    partial = manager.path + ".part"
    with open(partial, "w", encoding="utf-8") as file:
        file.write(text)
        os.fchmod(file.fileno(), 0o644)
    os.replace(partial, manager.path)
    return True


def _tell(manager: Manager, home: str, is_new: bool) -> None:
    before = manager.says("is-active", UNIT)
    for words in steps(is_new, before == "active"):
        manager.do(*words)
    systemctl = " ".join(manager.prefix)
    if is_new or before != "active":
        announce("cli.installed", unit=UNIT, home=home, path=manager.path)
        announce("cli.status_and_log", systemctl=systemctl, journal=manager.journal)
    else:
        announce("cli.not_changed", unit=UNIT, systemctl=systemctl)


def steps(is_new: bool, is_active: bool) -> list[tuple[str, ...]]:
    """The systemctl commands. A server that runs with the same unit is not restarted."""
    enable = ("enable", UNIT)
    return [("daemon-reload",), enable, ("restart", UNIT)] if is_new or not is_active else [enable]


def _show(manager: Manager, text: str, linger: list[str]) -> None:
    print(f"# {manager.path}\n{text}")
    for command in [*([linger] if linger else []), *(manager.command(*words) for words in steps(True, False))]:
        print(say("shown.then", command=shlex.join(command)))
