"""Select jobs by id, label, state, user, sweep or node; shared by every verb that takes jobs."""

from roost.cli.parse import values
from roost.cli.parse.options import MANY, ONE, Args, Json, Operand, Option, UsageError
from roost.client.client import Roost

IDS = Operand("ids", "*", "ID", "12, 10-20, 12,15, @ (your last job), @~2 (two before it), all")
LABEL = Option("-l --label", "jobs with this label; may be repeated", MANY, "LABEL", values.items)
STATE = Option("-s --state", "jobs in this state or with this outcome", MANY, "STATE", values.items)
USER = Option("-u --user", "jobs of this user", ONE, "USER")
SWEEP = Option("--sweep", "jobs of this sweep", ONE, "ID", values.count)
NODE = Option("--node", "jobs whose last attempt ran on this node", ONE, "NAME")
ALL = Option("-a --all", "all jobs that you may act on")
SELECTION = (LABEL, STATE, USER, SWEEP, NODE, ALL)
ACTIVE = ("starting", "running", "paused", "stopping", "unknown")
UNENDED = ("held", "queued", *ACTIVE)
"""Displayed states: of jobs that have processes, and of all jobs that have not ended."""


def selection(args: Args, verb: str, *, by_label: bool = True) -> Json:
    """The Select object of the API. No selection is a UsageError, never "everything".

    `by_label` is false for verbs whose `--label` has another meaning.
    """
    asked: Json = {"ids": joined_ids(args.ids) or None, "states": args.state, "user": args.user or None}
    asked["sweep"] = args.__dict__.get("sweep")
    if by_label:
        asked |= {"labels": args.label, "node": args.node or None, "all": args.all or None}
    select = {key: value for key, value in asked.items() if value is not None}
    if not select:
        raise UsageError("cli.which_job", verb=verb)
    return select


def narrowed(args: Args, outcomes: "list[str] | None", ids: str = "") -> Json:
    """The Select object for ended jobs, limited by outcome, id, label and user."""
    select = {"states": outcomes or ["ended"], "ids": ids, "labels": args.label, "user": args.user}
    return {key: value for key, value in select.items() if value}


def joined_ids(words: "list[str] | None") -> str:
    """Ids joined by commas, each checked."""
    found: list[str] = []
    for word in words or []:
        try:
            found.extend(values.ids(word))
        except ValueError as error:
            raise UsageError("cli.bad_ids", word=word, why=str(error)) from None
    return ",".join(found)


def names_ids(args: Args) -> bool:
    """Whether single jobs were named, so that missing one of them is a failure."""
    return any(word != "all" for word in args.__dict__.get("ids") or [])


def one_job(roost: "Roost", word: str) -> int:
    """The id for a word: a number, or `@`, which the server resolves."""
    if word.isdecimal():
        return int(word)
    jobs = roost.jobs(joined_ids([word]), limit=2)["jobs"]
    if len(jobs) != 1:
        raise UsageError("cli.one_job" if jobs else "cli.no_job", word=word)
    number: int = jobs[0]["id"]
    return number
