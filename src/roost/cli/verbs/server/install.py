"""roost install: a systemd unit that has the server run from boot on, written, enabled and started."""

import os
import shlex
import stat
import subprocess
import sys

import roost
from roost.cli.parse.options import Args, Option, UsageError, Verb
from roost.cli.text.output import note
from roost.cli.verbs.server.server_options import LISTENING, SIM, server_arguments
from roost.cli.verbs.server.systemd import UNIT, Manager
from roost.cli.verbs.server.systemd import run as run_command
from roost.cli.verbs.server.unit_text import unit_text
from roost.client import paths
from roost.client.client import Roost
from roost.client.errors import EXIT_TRY_LATER, RoostError, ServerUnreachable
from roost.client.server_process import server_command

LINGERING = "/var/lib/systemd/linger"
VERB = Verb(
    "install",
    "have systemd run the server, from boot on",
    options=(
        Option("--user", "for you alone, as a unit of your own; needs no root"),
        Option("--linger", "with --user: from boot on, and past your logout"),
        Option("--dry-run", "print the unit and the commands, do nothing"),
        SIM,
        *LISTENING,
    ),
    examples=(
        ("sudo roost install", "one server for everybody on this machine"),
        ("roost install --user --linger", "one for you, that outlives your login"),
        ("roost install --dry-run", "what it would do"),
    ),
    about="Jobs outlive a restart of the unit.\nGiven again, it restarts the server only if something changed.",
)


def run(args: Args) -> int:
    """Look first, then write, then tell systemd."""
    if args.linger and not args.user:
        raise UsageError("--linger goes with --user: the system's units need no login")
    if args.user and os.environ.get("SUDO_USER"):
        raise UsageError("with sudo, a unit of your own would be root's", "roost install --user")
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
        run_command(linger, hint="an administrator can: sudo loginctl enable-linger USER")
    _warn(manager, linger)
    _tell(manager, home, is_new)
    return 0


def _warn(manager: Manager, linger: list[str]) -> None:
    for warning in [] if linger else warnings(manager.is_system):
        note(f"roost: warning: {warning}")


def _environment(command: list[str]) -> dict[str, str]:
    """What the server needs in its environment. Asks a Python as bare as systemd's whether it is a server of ours."""
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
        return RoostError(f"cannot run {command[0]}: {error.strerror}", "install Roost with a Python that stays where it is")
    if ran.returncode == 0 and ran.stdout.strip() == os.path.dirname(roost.__file__):
        return None
    if ran.returncode == 2 and ran.stderr.startswith("roost: "):
        words, _, hint = ran.stderr.removeprefix("roost: ").partition("\nhint: ")
        return UsageError(words.strip(), hint.strip() or None)
    return RoostError(f"{command[0]} does not find this Roost by itself", "install it: `make`, then .venv/bin/roost install")


def _check_nobody_else(manager: Manager, home: str) -> None:
    """A server of that home which systemd did not start would be in the way."""
    try:
        pid = Roost(paths.own_socket_path(uid=0 if manager.is_system else None), timeout_s=5).status().get("server_pid")
    except ServerUnreachable:
        return
    if str(pid) != manager.says("show", "--property=MainPID", "--value", UNIT):
        said = f"a server runs in {home} that systemd did not start (pid {pid})"
        raise RoostError(said, "`roost down`, then again; jobs run on", exit_code=EXIT_TRY_LATER)


def warnings(is_system: bool) -> list[str]:
    """What is unwise about the place that Roost is installed in, or about this account."""
    if not is_system:
        ends = "server and jobs end with your last login, unless you linger: loginctl enable-linger, or --linger"
        return [] if os.path.exists(f"{LINGERING}/{_account()}") else [ends]
    found = []
    places = (sys.executable, os.path.realpath(sys.executable), os.path.dirname(roost.__file__))
    closed = next(filter(None, map(_closed, places)), None)
    if closed:
        found.append(
            f"other accounts cannot enter {closed}: they cannot run this `roost`; "
            "/opt/roost would do (docs/how-to/install.md)"
        )
    loose = next(filter(None, map(_loose, places)), None)
    if loose:
        found.append(f"{loose} can be changed by others than root: whoever does becomes root; /opt/roost would do")
    return found


def _account() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


def _closed(path: str) -> str | None:
    """The directory on the way there that others cannot enter."""
    return next((at for at in _way(path) if os.path.isdir(at) and not os.stat(at).st_mode & stat.S_IXOTH), None)


def _loose(path: str) -> str | None:
    """What on the way there is not root's alone to change. A sticky directory keeps what is in it."""
    for at in _way(path):
        held = os.stat(at)
        writable = held.st_mode & (stat.S_IWOTH | stat.S_IWGRP) and not held.st_mode & stat.S_ISVTX
        if held.st_uid != 0 or (writable and (held.st_mode & stat.S_IWOTH or held.st_gid != 0)):
            return at
    return None


def _way(path: str) -> list[str]:
    """The path and all above it, from the top."""
    steps = [path]
    while steps[0] != "/":
        steps.insert(0, os.path.dirname(steps[0]))
    return steps


def _put(manager: Manager, text: str) -> bool:
    """Write the unit; False when it stood there already."""
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
        note(f"roost: {UNIT} is installed and runs; state in {home}, unit in {manager.path}")
        note(f"roost: {systemctl} status roost shows it; {manager.journal} what it says")
    else:
        note(f"roost: {UNIT} runs, and nothing changed; to start it anew: {systemctl} restart roost")


def steps(is_new: bool, is_active: bool) -> list[tuple[str, ...]]:
    """What systemd is to be told. A server that runs by the same unit is left alone."""
    enable = ("enable", UNIT)
    return [("daemon-reload",), enable, ("restart", UNIT)] if is_new or not is_active else [enable]


def _show(manager: Manager, text: str, linger: list[str]) -> None:
    print(f"# {manager.path}\n{text}")
    for command in [*([linger] if linger else []), *(manager.command(*words) for words in steps(True, False))]:
        print(f"# then: {shlex.join(command)}")
