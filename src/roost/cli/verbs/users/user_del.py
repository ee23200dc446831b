"""roost user del: delete users and end their jobs; the history stays."""

from roost.cli.parse.options import JSON, Args, Json, Option, Verb
from roost.cli.runtime.connect import server
from roost.cli.runtime.prompt import confirmed
from roost.cli.text.output import announce, clean, note, print_json
from roost.cli.verbs.users.user_names import NAMES, known
from roost.client.errors import EXIT_FAILED
from roost.messages.terminal import say

VERB = Verb(
    "user del",
    "delete users and end their jobs, tokens and logins",
    operands=(NAMES,),
    options=(Option("-y --yes", "do not ask"), JSON),
    examples=(("roost user del ana", "asks first"), ("roost user del -y ana bob", "two users, without asking")),
    about="For administrators. Their history and audit entries stay; weight and quotas are\n"
    "deleted. To keep a user out for a while, use `roost user lock`.",
)


def run(args: Args) -> int:
    """Ask, then delete each user."""
    roost = server()
    users = known(roost, args.names)
    jobs = sum(user["running"] + user["queued"] for user in users)
    names = ", ".join(clean(user["user"]) for user in users)
    if not args.yes and not confirmed(say("cli.ask_delete_jobs" if jobs else "cli.ask_delete", names=names, jobs=jobs)):
        announce("cli.nothing_done")
        return EXIT_FAILED
    gone = [roost.people.delete(user["user"]) for user in users]
    if args.json:
        print_json({"version": 1, "users": gone})
        return 0
    for each in gone:
        tell(each)
    return 0


def tell(gone: Json) -> None:
    """Print what was done for one user."""
    name, ended = clean(gone["user"]), len(gone["ended"])
    announce("cli.user_deleted", name=name, jobs=ended)
    if gone["admitted"]:
        announce("cli.still_admitted", name=name)
        note(f"hint: {say('cli.still_admitted.hint', name=name)}")
