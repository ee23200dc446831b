"""Verbs that change one property of users: lock, unlock, admin; and links for a new password."""

from roost.cli.parse.options import Args, Callable, Json, Option, TableVerb, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import announce, clean, write
from roost.cli.verbs.users.user_add import lines
from roost.cli.verbs.users.user_names import NAMES, known


def _change(
    name: str,
    summary: str,
    about: str,
    changes: "Callable[[Args], Json]",
    said: "Callable[[Args, Json], str]",
    *examples: tuple[str, str],
    options: tuple[Option, ...] = (),
) -> TableVerb:
    """A verb: `changes` is sent for each user; `said` is the code of the message about each."""

    def run(args: Args) -> int:
        roost = server()
        for user in known(roost, args.names):
            now = roost.people.change(user["user"], **changes(args))
            announce(said(args, now), user=clean(user["user"]))
        return 0

    return TableVerb(Verb(name, summary, operands=(NAMES,), options=options, examples=examples, about=about), run)


def _role(args: Args, user: Json) -> str:
    if user["admin"]:
        return "cli.still_admin" if args.off else "cli.made_admin"
    return "cli.not_admin"


def _link(args: Args) -> int:
    """Print a link for each."""
    roost = server()
    users = known(roost, args.names)
    write(lines([{**user, "link": roost.people.link(user["user"])} for user in users]))
    announce("cli.links_replaced")
    return 0


_ROWS = (
    _change("user lock", "lock users out: tokens and logins stop working",
            "For administrators. Running jobs continue: `roost kill --user ana` ends them.",
            lambda args: {"locked": True}, lambda args, user: "cli.locked",
            ("roost user lock ana bob", "two users"), ("roost user unlock ana", "let ana in again")),
    _change("user unlock", "unlock users",
            "For administrators. Tokens revoked by the lock stay revoked.",
            lambda args: {"locked": False}, lambda args, user: "cli.unlocked",
            ("roost user unlock ana bob", "")),
    _change("user admin", "make users administrators, or ordinary users",
            "For administrators. The server's own account and root always are.",
            lambda args: {"admin": not args.off}, _role,
            ("roost user admin ana", "may act on the jobs of all users"), ("roost user admin ana --off", ""),
            options=(Option("--off", "make them ordinary users"),)),
    TableVerb(Verb("user link", "print a one-time link for choosing a new password", operands=(NAMES,),
                   examples=(("roost user link ana", "for a user who forgot their password"),),
                   about="For administrators. The old password works until the link is used."), _link),
)  # fmt: skip
TABLE = {row.VERB.name: row for row in _ROWS}
