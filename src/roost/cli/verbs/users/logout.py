"""roost logout: end the token that `roost login` got, and forget it."""

from roost.cli.parse.options import Args, Operand, UsageError, Verb
from roost.cli.text.output import note
from roost.client import logins
from roost.client.client import Roost
from roost.client.errors import EXIT_NOT_PERMITTED, RoostError
from roost.client.server_api import server_address

VERB = Verb(
    "logout",
    "log out of a server elsewhere: its token ends",
    operands=(Operand("url", "?", "URL", "the server (default: the one that commands use)"),),
    examples=(("roost logout", ""), ("roost logout https://lab.example.org", "")),
)


def run(args: Args) -> int:
    """Revoke and forget."""
    kept = logins.kept()
    url = _meant(args.url, kept["default"])
    login = kept["servers"].get(url)
    if login is None:
        known = ", ".join(sorted(kept["servers"])) or "none"
        raise UsageError(f"you are not logged in to {url}", f"logins that are kept: {known}")
    ended = _revoked(url, login["token"], login["id"])
    logins.forget(url)
    note(f"roost: logged out of {url}" + ("" if ended else "; the token is forgotten here"))
    return 0


def _meant(url: str | None, default: str | None) -> str:
    if url is not None:
        try:
            return logins.address_of(url)
        except ValueError as error:
            raise UsageError(f"{url}: {error}") from None
    address = server_address()
    found = logins.address_of(address) if address.startswith(("http://", "https://")) else default
    if found is None:
        raise UsageError("you are not logged in anywhere", "roost login URL")
    return found


def _revoked(url: str, token: str, number: int) -> bool:
    try:
        Roost(url, token=token).people.revoke(number)
    except RoostError as error:
        if error.exit_code != EXIT_NOT_PERMITTED:  # else it is void already
            note(f"roost: it could not be ended there: {error.message}")
            note(f"hint: later, from elsewhere: roost token revoke {number}")
            return False
    return True
