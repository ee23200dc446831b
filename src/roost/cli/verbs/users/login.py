"""roost login: a token for a server elsewhere, kept for the commands that follow."""

import contextlib
import os

from roost.cli.parse.options import ONE, Args, Json, Operand, Option, UsageError, Verb
from roost.cli.runtime import prompt
from roost.cli.text.output import note
from roost.client import logins, paths
from roost.client.client import Roost
from roost.client.errors import RoostError
from roost.client.server_api import server_address

VERB = Verb(
    "login",
    "log in to a server elsewhere; later commands use it",
    operands=(Operand("url", "1", "URL", "the server, like https://lab.example.org"),),
    options=(
        Option("-u --user", "your name there (default: the one you have here)", ONE, "NAME"),
        Option("--token", "give a token instead of a password"),
    ),
    examples=(
        ("roost login https://lab.example.org", "asks for name and password"),
        ("roost login http://127.0.0.1:7171 --user ana < password.txt", "the password from a file"),
        ("roost login https://lab.example.org --token < token.txt", "a token from `roost token new`"),
    ),
    about="The password is forgotten; a token is kept for you alone, in the file\n"
    "$XDG_CONFIG_HOME/roost/tokens.json. ROOST_TOKEN=roost_… goes before it.\n"
    "On the server's own machine none is needed: the kernel says who you are.",
)


def run(args: Args) -> int:
    """Get a token, keep it, say what it is good for."""
    try:
        url = logins.address_of(args.url)
    except ValueError as error:
        raise UsageError(f"{args.url}: {error}", "on the server's own machine no login is needed") from None
    if url.startswith("http://") and not _is_here(url):
        note("roost: http:// hides nothing from others on the network; https:// would")
    before = logins.kept()["servers"].get(url)
    login = _by_token(url, args.user) if args.token else _by_password(url, args.user)
    logins.keep(url, login)
    if before is not None:
        _revoke(url, before, login)
    note(f"roost: logged in to {url} as {login['user']}; the token is in {paths.logins_file()}")
    if server_address() == url:
        note("roost: commands use that server now, where none runs here; `roost logout` ends it")
    else:
        note(f"roost: there is another server here; to use that one: export ROOST_SERVER={url}")
    return 0


def _by_password(url: str, user: str | None) -> Json:
    from getpass import getuser

    name = user or prompt.answer(f"User at {url}", getuser())
    found = Roost(url, token="").people.login(name, prompt.secret("Password"), os.uname().nodename or "a computer")
    return {"user": found["user"], "token": found["token"], "id": found["id"]}


def _by_token(url: str, user: str | None) -> Json:
    token = prompt.secret("Token").strip()
    me = Roost(url, token=token).people.me()
    if user not in (None, me["user"]):
        raise UsageError(f"that token is {me['user']}'s, not {user}'s")
    return {"user": me["user"], "token": token, "id": me["token"]}


def _revoke(url: str, before: Json, now: Json) -> None:
    """The token of an earlier login has nobody any more who would use it."""
    if before["token"] == now["token"]:
        return
    with contextlib.suppress(RoostError):  # it may be void already
        Roost(url, token=before["token"]).people.revoke(before["id"])


def _is_here(url: str) -> bool:
    host = url.partition("://")[2].rpartition(":")[0] or url.partition("://")[2]
    return host in ("localhost", "[::1]") or host.startswith("127.")
