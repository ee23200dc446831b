"""roost logout: revoke and remove the token of `roost login`."""

from roost.cli.parse.options import Args, Json, Operand, Option, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import announce, note
from roost.client import logins
from roost.client.client import Roost
from roost.client.errors import EXIT_NOT_PERMITTED, RoostError
from roost.client.server_api import server_address
from roost.messages.terminal import say

VERB = Verb(
    "logout",
    "log out of a remote server and revoke its token",
    operands=(Operand("url", "?", "URL", "the server (default: the current one)"),),
    options=(Option("--all", "end all your tokens, sessions and login links there, wherever they are used"),),
    examples=(
        ("roost logout", ""),
        ("roost logout https://lab.example.org", ""),
        ("roost logout --all", "a token was lost, or somebody knows your password"),
    ),
)


def run(args: Args) -> int:
    """Revoke the token and remove it."""
    kept = logins.kept()
    if args.all:
        return _everywhere(args.url, kept)
    url = _chosen(args.url, kept["default"])
    login = kept["servers"].get(url)
    if login is None:
        known = ", ".join(sorted(kept["servers"])) or "none"
        raise UsageError("cli.not_logged_in", url=url, known=known)
    ended = _revoked(url, login["token"], login["id"])
    logins.forget(url)
    announce("cli.logged_out" if ended else "cli.token_forgotten", url=url)
    return 0


def _everywhere(url: str | None, kept: "Json") -> int:
    """End all that the user has on the server, including what this command uses."""
    address = server_address() if url is None else _chosen(url, None)
    known = logins.address_of(address) if address.startswith(("http://", "https://")) else ""
    login = kept["servers"].get(known) if url is not None else None
    roost = Roost(address, token=login["token"]) if login is not None else server()
    ended = roost.people.end_everything()
    if known in kept["servers"]:
        logins.forget(known)
    announce("cli.logged_out_everywhere", tokens=ended["tokens"], sessions=ended["sessions"])
    return 0


def _chosen(url: str | None, default: str | None) -> str:
    if url is not None:
        try:
            return logins.address_of(url)
        except ValueError as error:
            raise UsageError(f"{url}: {error}") from None
    address = server_address()
    found = logins.address_of(address) if address.startswith(("http://", "https://")) else default
    if found is None:
        raise UsageError("cli.no_login")
    return found


def _revoked(url: str, token: str, number: int) -> bool:
    try:
        Roost(url, token=token).people.revoke(number)
    except RoostError as error:
        if error.exit_code != EXIT_NOT_PERMITTED:  # else it is already revoked
            announce("cli.revoke_failed", message=error.message)
            note(f"hint: {say('cli.revoke_failed.hint', number=number)}")
            return False
    return True
