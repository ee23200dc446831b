"""roost up: start the server, in the foreground or background."""

import os
import time

from roost.cli.parse.options import Args, Json, Option, Verb
from roost.cli.text.output import announce, note
from roost.cli.verbs.server.server_options import LISTENING, SIM, server_arguments
from roost.client import paths
from roost.client.client import Roost
from roost.client.errors import EXIT_TRY_LATER, RoostError
from roost.messages.terminal import say

READ_S = 3.0
"""How long a new server may take to read its GPUs for the first time."""
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
    return [] if link is None else [f"roost: {say('cli.first_link', link=link)}"]


def where(roost: "Roost") -> list[str]:
    """The server's address, home and GPUs."""
    status = _settled(roost)
    about = status.get("server") or {}
    counts = status.get("gpus") or {}
    gpus, faulty = counts.get("total", 0), counts.get("fault", 0)
    lines = [
        say("cli.up", pid=status.get("server_pid"), gpus=_gpus_text(gpus, faulty), url=about.get("url")),
        say("cli.up_home", home=about.get("home")),
    ]
    if faulty == gpus:
        lines.append(say("cli.no_gpu_works" if gpus else "cli.up_no_gpu"))
    return [f"roost: {line}" for line in lines]


def _gpus_text(gpus: int, faulty: int) -> str:
    return say("cli.gpus_at_fault", gpus=gpus, faulty=faulty) if faulty else say("shown.gpus", n=gpus)


def _settled(roost: "Roost") -> Json:
    """The status once every GPU has been read, or after a moment."""
    until = time.monotonic() + READ_S
    while (status := roost.status()).get("gpus", {}).get("unknown") and time.monotonic() < until:
        time.sleep(0.05)
    return status
