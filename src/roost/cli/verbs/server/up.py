"""roost up: the server of this home, in the foreground or behind."""

import os

from roost.cli.parse import values
from roost.cli.parse.options import Args, Option, Verb
from roost.cli.text.output import note
from roost.cli.verbs.server.server_options import LISTENING, SIM, server_arguments
from roost.client import paths
from roost.client.client import Roost
from roost.client.errors import EXIT_TRY_LATER, RoostError

VERB = Verb(
    "up",
    "start the server: real GPUs where there are, or simulated ones",
    options=(
        SIM,
        Option("-d --detach", "in the background"),
        *LISTENING,
    ),
    examples=(
        ("roost up --detach", "in the background; stop it with `roost down`"),
        ("roost up --host 0.0.0.0 --host :: --tls-cert chain.pem --tls-key key.pem", "HTTPS for others"),
        ("roost up --sim 4x24G", "four simulated GPUs with 24 GiB each, to try it"),
        ("roost up --sim lab:4x24G", "the same, shared by all servers of this machine that name them so"),
    ),
    about="State lives in $ROOST_HOME, or in the XDG directories; one server for each home.",
)


def run(args: Args) -> int:
    """Become the server, or start one."""
    arguments = server_arguments(args)
    if os.environ.get("ROOST_SERVER"):
        note(f"roost: ROOST_SERVER names another server; this starts one here, in {paths.home()}")
    if os.getuid() == 0 and not os.environ.get("ROOST_HOME"):  # everybody's on this machine
        from roost.cli.verbs.server import install

        for warning in install.warnings(is_system=True):
            note(f"roost: warning: {warning}")
    if args.detach:
        return _detached(arguments)
    from roost.server.main import main as serve

    return int(serve(["--home", paths.home(), *arguments]) or 0)


def _detached(arguments: tuple[str, ...]) -> int:
    from roost.client.server_process import start_server

    address = paths.own_socket_path()
    if not start_server(paths.home(), address, arguments):
        pid = Roost(address).status()["server_pid"]  # worded as the server itself does in the foreground
        said = f"a server is already running in {paths.home()} (pid {pid})"
        raise RoostError(said, "`roost status` shows it, `roost down` stops it", exit_code=EXIT_TRY_LATER)
    roost = Roost(address)
    for line in [*warnings(paths.home()), *where(roost), *first_administrator(roost)]:
        note(line)
    return 0


def warnings(home: str) -> list[str]:
    """What the server that was just started in the background had to say."""
    try:
        with open(paths.start_log(home), encoding="utf-8", errors="replace") as log:
            return [line.rstrip("\n") for line in log if line.startswith("roost: warning: ")]
    except OSError:
        return []


def first_administrator(roost: "Roost") -> list[str]:
    """How the first administrator comes in from elsewhere, where nobody can yet."""
    link = roost.people.first_link()
    return [] if link is None else [f"roost: the first administrator, once, from a browser: {link}"]


def where(roost: "Roost") -> list[str]:
    """Where the server is, and what it has."""
    status = roost.status()
    about = status.get("server") or {}
    gpus = (status.get("gpus") or {}).get("total", 0)
    lines = [
        f"roost: server up, pid {status.get('server_pid')}, {values.plural(gpus, 'GPU')}, {about.get('url')}",
        f"roost: home {about.get('home')}; stop it with: roost down",
    ]
    if not gpus:
        lines.append("roost: no GPU here; to try simulated ones: roost down; roost up --sim 4x24G --detach")
    return lines
