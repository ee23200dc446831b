"""roost up: the server of this home, in the foreground or behind."""

import sys

from roost.cli import values
from roost.cli.options import ONE, Args, Option, Verb
from roost.client import paths
from roost.client.errors import EXIT_TRY_LATER, RoostError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from roost.client.client import Roost

VERB = Verb(
    "up",
    "start the server: real GPUs where there are, or simulated ones",
    options=(
        Option("--sim", "simulated GPUs, like 4x24G; off: the real ones again", ONE, "[NAME:]NxSIZE", values.simulated),
        Option("-d --detach", "in the background"),
        Option("--host", "address to listen on (default 127.0.0.1)", ONE, "HOST"),
        Option("--port", "port to listen on (default: a free one)", ONE, "PORT", values.port),
    ),
    examples=(
        ("roost up --detach", "in the background; stop it with `roost down`"),
        ("roost up --sim 4x24G", "four simulated GPUs with 24 GiB each, to try it"),
        ("roost up --sim lab:4x24G", "the same, shared by all servers of this machine that name them so"),
    ),
    about="State lives in $ROOST_HOME, or in the XDG directories; one server for each home.",
)


class AlreadyRunning(RoostError):
    """This home has a server. Worded as the server itself does when it is started in the foreground."""

    exit_code = EXIT_TRY_LATER

    def __init__(self, home: str, pid: object) -> None:
        super().__init__(
            f"a server is already running in {home} (pid {pid})", "`roost status` shows it, `roost down` stops it"
        )


def run(args: Args) -> int:
    """Become the server, or start one."""
    arguments = server_arguments(args)
    if args.detach:
        return _detached(arguments)
    from roost.server.main import main as serve

    return int(serve(["--home", paths.home(), *arguments]) or 0)


def server_arguments(args: Args) -> tuple[str, ...]:
    """What the server is told; what it is not told it takes from the last time."""
    found: list[str] = []
    for name in ("sim", "host", "port"):
        value = getattr(args, name)
        if value is not None:
            found += [f"--{name}", str(value)]
    return tuple(found)


def _detached(arguments: tuple[str, ...]) -> int:
    from roost.client.client import Roost
    from roost.client.start import start_server

    address = paths.own_socket_path()
    if not start_server(paths.home(), address, arguments):
        raise AlreadyRunning(paths.home(), Roost(address).status().get("server_pid"))
    roost = Roost(address)
    for line in [*where(roost), *first_administrator(roost)]:
        print(line, file=sys.stderr)
    return 0


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
