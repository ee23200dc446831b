"""Where a server keeps its state and where it listens.

`ROOST_HOME` puts all of it in one place. Otherwise root has /var/lib/roost and /run/roost; everybody else the XDG
directories. `ROOST_SERVER` (a URL or the path of a socket) names a server that is not ours to start; `ROOST_CA_FILE` whose
certificates such a server may show. Without it and without a server here, the one that `roost login` remembered is meant.
"""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SOCKET_NAME = "roost.sock"
TOKEN_VARIABLE = "ROOST_TOKEN"


def home(environ: "Mapping[str, str] | None" = None, uid: int | None = None) -> str:
    """The state directory. It need not exist."""
    env = os.environ if environ is None else environ
    own = env.get("ROOST_HOME")
    if own:
        return os.path.abspath(own)
    if (os.getuid() if uid is None else uid) == 0:
        return "/var/lib/roost"
    state = env.get("XDG_STATE_HOME", "")
    if not state.startswith("/"):
        state = _user_home(env) + "/.local/state"
    return state + "/roost"


SYSTEM_SOCKET = "/run/roost/" + SOCKET_NAME
"""Where a root server serves everybody on the machine."""


def socket_path(environ: "Mapping[str, str] | None" = None, uid: int | None = None) -> str:
    """The socket to speak to: of one's own server where there is one, else of the machine's, else of one's own to be."""
    own = own_socket_path(environ, uid)
    env = os.environ if environ is None else environ
    if env.get("ROOST_HOME") or os.path.exists(own) or not os.path.isdir(os.path.dirname(SYSTEM_SOCKET)):
        return own
    return SYSTEM_SOCKET


def own_socket_path(environ: "Mapping[str, str] | None" = None, uid: int | None = None) -> str:
    """The socket of the server of this home."""
    env = os.environ if environ is None else environ
    if env.get("ROOST_HOME"):
        return home(env, uid) + "/" + SOCKET_NAME
    if (os.getuid() if uid is None else uid) == 0:
        return SYSTEM_SOCKET
    runtime = env.get("XDG_RUNTIME_DIR", "")
    if runtime.startswith("/") and os.path.isdir(runtime):
        return runtime + "/roost/" + SOCKET_NAME
    return home(env, uid) + "/" + SOCKET_NAME


def address(environ: "Mapping[str, str] | None" = None) -> str:
    """Where to connect: `ROOST_SERVER` when set, else the socket of this home or machine, else where one has logged in."""
    env = os.environ if environ is None else environ
    if named := env.get("ROOST_SERVER"):
        return named
    socket = socket_path(env)
    if env.get("ROOST_HOME") or os.path.exists(socket) or not os.path.exists(logins_file(env)):
        return socket
    from roost.client import logins

    return logins.default(env) or socket


def logins_file(environ: "Mapping[str, str] | None" = None) -> str:
    """Where `roost login` keeps tokens."""
    env = os.environ if environ is None else environ
    config = env.get("XDG_CONFIG_HOME", "")
    return (config if config.startswith("/") else _user_home(env) + "/.config") + "/roost/tokens.json"


def is_foreign(environ: "Mapping[str, str] | None" = None) -> bool:
    """True when the address was named by `ROOST_SERVER` or `roost login`, or is the machine's: not ours to start."""
    if (os.environ if environ is None else environ).get("ROOST_SERVER"):
        return True
    found = address(environ)
    return "://" in found or (os.getuid() != 0 and found == SYSTEM_SOCKET)


def ca_file(environ: "Mapping[str, str] | None" = None) -> str | None:
    """The authorities to trust instead of the system's, for a server of `https://`."""
    return (os.environ if environ is None else environ).get("ROOST_CA_FILE") or None


def start_log(home_dir: str) -> str:
    """Where a server started in the background writes until it has a log of its own."""
    return home_dir + "/start.log"


def _user_home(env: "Mapping[str, str]") -> str:
    own = env.get("HOME", "")
    return own if own.startswith("/") else os.path.expanduser("~")
