"""roost user del: users deleted; their jobs are ended, the history stays."""

from roost.cli.parse.options import JSON, Args, Json, Option, Verb
from roost.cli.parse.values import plural
from roost.cli.runtime.connect import server
from roost.cli.runtime.prompt import is_meant
from roost.cli.text.output import clean, note, print_json
from roost.cli.verbs.users.user_names import NAMES, known
from roost.client.errors import EXIT_FAILED

VERB = Verb(
    "user del",
    "delete users: their jobs, tokens and logins end",
    operands=(NAMES,),
    options=(Option("-y --yes", "do not ask"), JSON),
    examples=(("roost user del ana", "asks first"), ("roost user del -y ana bob", "both, without a question")),
    about="For administrators. What they did stays in history and audit. Weight and quotas\n"
    "are forgotten. To keep somebody out for a while: roost user lock.",
)


def run(args: Args) -> int:
    """Ask, then delete them, each."""
    roost = server()
    users = known(roost, args.names)
    jobs = sum(user["running"] + user["queued"] for user in users)
    names = ", ".join(clean(user["user"]) for user in users)
    ends = f" and end {plural(jobs, 'job')}" if jobs else ""
    if not args.yes and not is_meant(f"delete {names}{ends}?"):
        note("roost: nothing was done")
        return EXIT_FAILED
    gone = [roost.people.delete(user["user"]) for user in users]
    if args.json:
        print_json({"version": 1, "users": gone})
        return 0
    for each in gone:
        tell(each)
    return 0


def tell(gone: Json) -> None:
    """What became of him."""
    name, ended = clean(gone["user"]), len(gone["ended"])
    note(f"roost: {name} is deleted, {plural(ended, 'job')} ended")
    if gone["admitted"]:
        note(f"roost: the UNIX account {name} can still come in on this machine; to keep it out:")
        note(f"hint: roost user lock {name}, or for all who were not added: roost set users.admit known")
