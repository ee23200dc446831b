"""roost up: start the server, in the foreground or background."""

import os

from roost.cli.parse import values
from roost.cli.parse.options import Args, Option, Verb
from roost.cli.text.output import announce, note
from roost.cli.verbs.server.server_options import LISTENING, SIM, server_arguments
from roost.client import paths
from roost.client.client import Roost
from roost.client.errors import EXIT_TRY_LATER, RoostError

VERB = Verb(
    "up",
    "start the server, with this machine's GPUs or simulated ones",
    options=(
        SIM,
        Option("-d --detach", "in the background"),
        *LISTENING,
    ),
    examples=(
        ("roost up --detach", "in the background; stop it with `roost down`"),
        ("roost up --host 0.0.0.0 --host :: --tls-cert chain.pem --tls-key key.pem", "HTTPS for other machines"),
        ("roost up --sim 4x24G", "four simulated GPUs with 24 GiB each"),
        ("roost up --sim lab:4x24G", "shared by all servers of this machine that use the name lab"),
    ),
    about="State is in $ROOST_HOME or the XDG directories; one server for each home.",
)


def run(args: Args) -> int:
    """Run the server here, or start it in the background."""
    arguments = server_arguments(args)
    if os.environ.get("ROOST_SERVER"):
        announce("cli.other_server", what=paths.home())
    if os.getuid() == 0 and not os.environ.get("ROOST_HOME"):  # the machine's server
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
        pid = Roost(address).status()["server_pid"]  # same words as the server in the foreground
        raise RoostError("cli.already_running", home=paths.home(), pid=pid, exit_code=EXIT_TRY_LATER)
    roost = Roost(address)
    for line in [*warnings(paths.home()), *where(roost), *first_administrator(roost)]:
        note(line)
    return 0


def warnings(home: str) -> list[str]:
    """Warnings of the server that was just started in the background."""
    try:
        with open(paths.start_log(home), encoding="utf-8", errors="replace") as log:
            return [line.rstrip("\n") for line in log if line.startswith("roost: warning: ")]
    except OSError:
        return []


def first_administrator(roost: "Roost") -> list[str]:
    """The login link for the first administrator, if there is none yet."""
    link = roost.people.first_link()
    return [] if link is None else [f"roost: one-time login link for the first administrator: {link}"]


def where(roost: "Roost") -> list[str]:
    """The server's address, home and GPUs."""
    status = roost.status()
    about = status.get("server") or {}
    gpus = (status.get("gpus") or {}).get("total", 0)
    lines = [
        f"roost: server running, pid {status.get('server_pid')}, {values.plural(gpus, 'GPU')}, {about.get('url')}",
        f"roost: home {about.get('home')}; stop it with: roost down",
    ]
    if not gpus:
        lines.append("roost: no GPU found; to simulate some: roost down; roost up --sim 4x24G --detach")
    return lines
