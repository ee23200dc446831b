"""The verbs that change one thing of each user named: lock, unlock, admin; and the link to a new password."""

from roost.cli.parse.options import Args, Callable, Json, Option, TableVerb, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import clean, note, write
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
    """A row: what changes of each, and the sentence about each, behind `is`."""

    def run(args: Args) -> int:
        roost = server()
        for user in known(roost, args.names):
            now = roost.people.change(user["user"], **changes(args))
            note(f"roost: {clean(user['user'])} is {said(args, now)}")
        return 0

    return TableVerb(Verb(name, summary, operands=(NAMES,), options=options, examples=examples, about=about), run)


def _role(args: Args, user: Json) -> str:
    if user["admin"]:
        return "an administrator still: the server is his, or he is root" if args.off else "an administrator"
    return "no administrator any more"


def _link(args: Args) -> int:
    """Print a link for each."""
    roost = server()
    users = known(roost, args.names)
    write(lines([{**user, "link": roost.people.link(user["user"])} for user in users]))
    note("roost: each is for one use within seven days; earlier ones are void")
    return 0


_ROWS = (
    _change("user lock", "lock users out: tokens and logins end at once",
            "For administrators. Jobs that run go on: `roost kill --user ana` ends them.",
            lambda args: {"locked": True}, lambda args, user: "locked out; jobs that run, run on",
            ("roost user lock ana bob", "both, at once"), ("roost user unlock ana", "back again")),
    _change("user unlock", "let locked users in again",
            "For administrators. Tokens that the lock ended stay ended.",
            lambda args: {"locked": False}, lambda args, user: "let in again",
            ("roost user unlock ana bob", "")),
    _change("user admin", "make users administrators, or users like all others",
            "For administrators. The server's own account and root always are.",
            lambda args: {"admin": not args.off}, _role,
            ("roost user admin ana", "she may act on everybody's jobs"), ("roost user admin ana --off", ""),
            options=(Option("--off", "they are administrators no longer"),)),
    TableVerb(Verb("user link", "print a link to choose a new password with, once", operands=(NAMES,),
                   examples=(("roost user link ana", "for somebody who forgot his password"),),
                   about="For administrators. The password that there is holds until the link is used."), _link),
)  # fmt: skip
TABLE = {row.VERB.name: row for row in _ROWS}
