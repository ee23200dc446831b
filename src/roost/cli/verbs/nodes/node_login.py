"""roost node login: run a user's jobs on a node through their own login."""

from roost.cli.parse.options import JSON, ONE, Args, Json, Operand, Option, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import Column, clean, print_answer, print_list
from roost.cli.verbs.nodes.node_names import on_server
from roost.client.client import Roost
from roost.messages.terminal import say

VERB = Verb(
    "node login",
    "run your jobs on a node through a login of your own",
    operands=(
        Operand("name", "?", "NAME", "the node (default: list the logins)"),
        Operand("target", "?", "TARGET", "ssh://USER@HOST[:PORT], or a host in the server's ssh config "
                "(default: the node's address, with your name)"),
    ),
    options=(
        Option("--key", "your private key: a file on the server's machine, never copied", ONE, "FILE"),
        Option("-u --user", "login of this user (administrators)", ONE, "USER"),
        Option("--rm", "remove the login"),
        JSON,
    ),
    examples=(
        ("roost node login lab3", "with your name, at the node's address"),
        ("roost node login lab3 ssh://ana2@10.0.0.3 --key ~/.ssh/lab", "with another name and your key"),
        ("roost node login lab3 --rm", "remove the login"),
        ("roost node login", "list the logins"),
    ),
    about="For nodes where the server's login is not root. Roost never copies a private\n"
    "key: it stays where it is.",
)  # fmt: skip
_COLUMNS = (
    Column("USER", lambda login: login["user"], most=16, least=6),
    Column("NODE", lambda login: login["node"], most=16, least=6),
    Column("TARGET", lambda login: login["target"], least=20),
    Column("KEY", lambda login: login["key"] or "-"),
)


def run(args: Args) -> int:
    """List, set or remove logins."""
    roost = server()
    if args.name is None:
        return _list(roost, args)
    if args.rm:
        if args.target or args.key:
            raise UsageError("cli.rm_alone")
        made = roost.fleet.logout(args.name, user=args.user)
    else:
        target = args.target or _own_target(roost, args.name, args.user)
        made = roost.fleet.login(args.name, target, key=on_server(roost, args.key, "--key"), user=args.user)
    return print_answer(args, {"login": made}, say("shown.login_removed", login=told(made)) if args.rm else told(made))


def told(login: Json) -> str:
    """`jobs of ana run on lab3 through ssh://ana@10.0.0.3`."""
    about = {name: clean(login[name] or "") for name in ("user", "node", "target", "key")}
    return say("shown.login_key" if about["key"] else "shown.login", **about)


def _own_target(roost: Roost, name: str, user: str | None) -> str:
    """The node's own address, with the user's name in it."""
    target = roost.fleet.node(name).get("target")
    if not target:
        raise UsageError("cli.no_login_needed", name=name)
    host = str(target).removeprefix("ssh://").rstrip("/").rpartition("@")[2]
    return f"ssh://{user or roost.people.me()['user']}@{host}"


def _list(roost: Roost, args: Args) -> int:
    if args.rm or args.key:
        raise UsageError("cli.which_node")
    found = [login for login in roost.fleet.logins() if args.user in (None, login["user"])]
    return print_list(args, "logins", found, _COLUMNS, "cli.no_logins")
