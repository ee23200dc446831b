"""roost login: get a token for a remote server and store it for later commands."""

import contextlib
import os

from roost.cli.parse.options import ONE, Args, Json, Operand, Option, UsageError, Verb
from roost.cli.runtime import prompt
from roost.cli.text.output import announce
from roost.client import logins, paths
from roost.client.client import Roost
from roost.client.errors import RoostError
from roost.client.server_api import server_address
from roost.messages.terminal import say

VERB = Verb(
    "login",
    "log in to a remote server; later commands use it",
    operands=(Operand("url", "1", "URL", "the server, like https://lab.example.org"),),
    options=(
        Option("-u --user", "your user name there (default: your name here)", ONE, "NAME"),
        Option("--token", "use a token instead of a password"),
    ),
    examples=(
        ("roost login https://lab.example.org", "asks for user name and password"),
        ("roost login http://127.0.0.1:7171 --user ana < password.txt", "password from a file"),
        ("roost login https://lab.example.org --token < token.txt", "token from `roost token new`"),
    ),
    about="The password is not stored. A token is stored for you alone, in the file\n"
    "$XDG_CONFIG_HOME/roost/tokens.json; ROOST_TOKEN=roost_… takes precedence.\n"
    "On the server's own machine you need no login.",
)


def run(args: Args) -> int:
    """Get a token and store it."""
    try:
        url = logins.address_of(args.url)
    except ValueError as error:
        raise UsageError("cli.login_url", url=args.url, error=error) from None
    if url.startswith("http://") and not _is_here(url):
        announce("cli.plain_http")
    before = logins.kept()["servers"].get(url)
    login = _by_token(url, args.user) if args.token else _by_password(url, args.user)
    logins.keep(url, login)
    if before is not None:
        _revoke(url, before, login)
    announce("cli.logged_in", url=url, user=login["user"], what=paths.logins_file())
    if server_address() == url:
        announce("cli.login_used")
    else:
        announce("cli.own_server_here", url=url)
    return 0


def _by_password(url: str, user: str | None) -> Json:
    from getpass import getuser

    name = user or prompt.answer(say("cli.ask_user", url=url), getuser())
    found = Roost(url, token="").people.login(name, prompt.secret("cli.ask_password"), os.uname().nodename or "?")
    return {"user": found["user"], "token": found["token"], "id": found["id"]}


def _by_token(url: str, user: str | None) -> Json:
    token = prompt.secret("cli.ask_token").strip()
    me = Roost(url, token=token).people.me()
    if user not in (None, me["user"]):
        raise UsageError("cli.token_of_another", user=me["user"], user2=user)
    return {"user": me["user"], "token": token, "id": me["token"]}


def _revoke(url: str, before: Json, now: Json) -> None:
    """Revoke the token of the previous login."""
    if before["token"] == now["token"]:
        return
    with contextlib.suppress(RoostError):  # it may already be revoked
        Roost(url, token=before["token"]).people.revoke(before["id"])


def _is_here(url: str) -> bool:
    host = url.partition("://")[2].rpartition(":")[0] or url.partition("://")[2]
    return host in ("localhost", "[::1]") or host.startswith("127.")
