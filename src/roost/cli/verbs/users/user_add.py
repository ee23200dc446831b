"""roost user add: users who may log in from elsewhere, each with a link to choose a password."""

from roost.cli.parse.options import JSON, ONE, Args, Json, Operand, Option, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import clean, note, print_json, width_of, write
from roost.cli.verbs.users.user_names import check_names, names_in

VERB = Verb(
    "user add",
    "add users; each gets a link to choose a password",
    operands=(Operand("names", "*", "NAME", "users, like ana bob"),),
    options=(
        Option("--from", "names from a file, one a line, each perhaps with a UNIX account; - is stdin", ONE, "FILE",
               dest="from_file"),
        Option("--unix", "the UNIX account that the jobs run as (default: the one of the same name)", ONE, "ACCOUNT|none"),
        Option("--admin", "they are administrators"),
        JSON,
    ),
    examples=(
        ("roost user add ana bob", "two at once"),
        ("roost user add --from names.txt", "a name a line: `ana` or `ana labuser`; # begins a comment"),
        ("roost user add guest --unix none", "may look, but has no account to run jobs as"),
    ),
    about="For administrators. All are checked before any is added. On the server's own\n"
    "machine nobody needs to be added: the kernel says who it is.",
)  # fmt: skip


def run(args: Args) -> int:
    """Add them, print the links."""
    wanted: dict[str, str | None] = dict.fromkeys(check_names(args.names))
    if args.from_file is not None:
        from roost.cli.verbs.jobs.submit import read_text

        wanted |= names_in(*read_text(args.from_file))
    if not wanted:
        raise UsageError("whom?", "roost user add ana bob, or --from FILE")
    ties = {name: account for name, account in wanted.items() if account is not None}
    made = server().people.add(list(wanted), unix=args.unix, admin=bool(args.admin), ties=ties)
    if args.json:
        print_json({"version": 1, "users": made})
        return 0
    write(lines(made))
    note("roost: each link is for one use within seven days: a password is chosen there")
    for user in made:
        if user["unix"] is None:
            name = clean(user["user"])
            note(f"roost: {name} can run no job yet: roost user set {name} --unix ACCOUNT")
    return 0


def lines(made: list[Json]) -> list[str]:
    """Names and links, below one another. A link is never cut: somebody will copy it."""
    widest = max(width_of(clean(user["user"])) for user in made)
    return [f"{clean(user['user']):<{widest}}  {user['link']}" for user in made]
