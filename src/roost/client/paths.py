"""Where a server keeps its state and where it listens.

`ROOST_HOME` puts everything in one place. Otherwise root uses /var/lib/roost and /run/roost, other users the XDG
directories. `ROOST_SERVER` (a URL or the path of a socket) selects a server that is never started from here; `ROOST_CA_FILE`
has the certificates to trust for it. Without `ROOST_SERVER` and a local server, the server of `roost login` is used.
"""

import os

from roost.client.jsontext import Mapping

SOCKET_NAME = "roost.sock"
TOKEN_VARIABLE = "ROOST_TOKEN"


def home(environ: "Mapping[str, str]" = os.environ, uid: int | None = None) -> str:
    """The state directory. It need not exist."""
    own = environ.get("ROOST_HOME")
    if own:
        return os.path.abspath(own)
    if (os.getuid() if uid is None else uid) == 0:
        return "/var/lib/roost"
    state = environ.get("XDG_STATE_HOME", "")
    if not state.startswith("/"):
        state = _user_home(environ) + "/.local/state"
    return state + "/roost"


SYSTEM_SOCKET = "/run/roost/" + SOCKET_NAME
"""Where a root server serves everybody on the machine."""


def socket_path(environ: "Mapping[str, str]" = os.environ, uid: int | None = None) -> str:
    """The socket to speak to: of one's own server where there is one, else of the machine's, else of one's own to be."""
    own = own_socket_path(environ, uid)
    if environ.get("ROOST_HOME") or os.path.exists(own) or not os.path.isdir(os.path.dirname(SYSTEM_SOCKET)):
        return own
    return SYSTEM_SOCKET


def own_socket_path(environ: "Mapping[str, str]" = os.environ, uid: int | None = None) -> str:
    """The socket of the server of this home."""
    if environ.get("ROOST_HOME"):
        return home(environ, uid) + "/" + SOCKET_NAME
    if (os.getuid() if uid is None else uid) == 0:
        return SYSTEM_SOCKET
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    if runtime.startswith("/") and os.path.isdir(runtime):
        return runtime + "/roost/" + SOCKET_NAME
    return home(environ, uid) + "/" + SOCKET_NAME


def logins_file(environ: "Mapping[str, str]" = os.environ) -> str:
    """Where `roost login` keeps tokens."""
    config = environ.get("XDG_CONFIG_HOME", "")
    return (config if config.startswith("/") else _user_home(environ) + "/.config") + "/roost/tokens.json"


def start_log(home_dir: str) -> str:
    """Where a server started in the background writes until it has a log of its own."""
    return home_dir + "/start.log"


def _user_home(environ: "Mapping[str, str]") -> str:
    own = environ.get("HOME", "")
    return own if own.startswith("/") else os.path.expanduser("~")
