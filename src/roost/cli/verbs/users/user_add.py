"""roost user add: add users, and print a link for each to choose a password."""

from roost.cli.parse.options import JSON, ONE, Args, Json, Operand, Option, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import announce, clean, print_json, width_of, write
from roost.cli.verbs.users.user_names import check_names, names_in

VERB = Verb(
    "user add",
    "add users; each gets a link to choose a password",
    operands=(Operand("names", "*", "NAME", "users, like ana bob"),),
    options=(
        Option("--from", "file with a name on each line, optionally with a UNIX account; - is stdin", ONE, "FILE",
               dest="from_file"),
        Option("--unix", "UNIX account to run jobs as (default: the account of the same name)", ONE, "ACCOUNT|none"),
        Option("--admin", "make them administrators"),
        JSON,
    ),
    examples=(
        ("roost user add ana bob", "add two users"),
        ("roost user add --from names.txt", "a name on each line: `ana` or `ana labuser`; # begins a comment"),
        ("roost user add guest --unix none", "can look, but not run jobs"),
    ),
    about="For administrators. If one name is invalid, none is added. People with an\n"
    "account on the server's machine need not be added.",
)  # fmt: skip


def run(args: Args) -> int:
    """Add the users and print their links."""
    wanted: dict[str, str | None] = dict.fromkeys(check_names(args.names))
    if args.from_file is not None:
        from roost.cli.verbs.jobs.submit import read_text

        wanted |= names_in(*read_text(args.from_file))
    if not wanted:
        raise UsageError("cli.which_user")
    ties = {name: account for name, account in wanted.items() if account is not None}
    made = server().people.add(list(wanted), unix=args.unix, admin=bool(args.admin), ties=ties)
    if args.json:
        print_json({"version": 1, "users": made})
        return 0
    write(lines(made))
    announce("cli.links_once")
    for user in made:
        if user["unix"] is None:
            name = clean(user["user"])
            announce("cli.no_account_yet", name=name)
    return 0


def lines(made: list[Json]) -> list[str]:
    """A line for each user: name and link. Links are never cut."""
    widest = max(width_of(clean(user["user"])) for user in made)
    return [f"{clean(user['user']):<{widest}}  {user['link']}" for user in made]
