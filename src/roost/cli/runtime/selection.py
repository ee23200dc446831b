"""Which jobs are meant: ids, labels, states, users; shared by every verb that takes jobs."""

from roost.cli.parse import values
from roost.cli.parse.options import MANY, ONE, Args, Json, Operand, Option, UsageError
from roost.client.client import Roost

IDS = Operand("ids", "*", "ID", "12, 10-20, 12,15, @ (your last), @~2 (the one two before it), all")
LABEL = Option("-l --label", "those with this label; may be repeated", MANY, "LABEL", values.items)
STATE = Option("-s --state", "those in this state or with this outcome", MANY, "STATE", values.items)
USER = Option("-u --user", "those of this user", ONE, "USER")
SWEEP = Option("--sweep", "those of this sweep", ONE, "ID", values.count)
NODE = Option("--node", "those whose last attempt was on this node", ONE, "NAME")
ALL = Option("-a --all", "all that you may act on")
SELECTION = (LABEL, STATE, USER, SWEEP, NODE, ALL)
ACTIVE = ("starting", "running", "paused", "stopping", "unknown")
UNENDED = ("held", "queued", *ACTIVE)
"""States as they are shown: of jobs that have processes, and of all that have not ended."""


def selection(args: Args, verb: str, *, by_label: bool = True) -> Json:
    """The Select object of the API. A UsageError when nothing is named: nobody means everything by saying nothing.

    `by_label` is false for the verbs whose `--label` is something else.
    """
    asked: Json = {"ids": joined_ids(args.ids) or None, "states": args.state, "user": args.user or None}
    asked["sweep"] = args.__dict__.get("sweep")
    if by_label:
        asked |= {"labels": args.label, "node": args.node or None, "all": args.all or None}
    select = {key: value for key, value in asked.items() if value is not None}
    if not select:
        raise UsageError("which job?", f"roost {verb} 12 (or 10-20, @, all, --label x); roost ls shows them")
    return select


def narrowed(args: Args, outcomes: "list[str] | None", ids: str = "") -> Json:
    """The Select object for ended jobs: with these outcomes, of this user, with these labels, of these ids; or all."""
    select = {"states": outcomes or ["ended"], "ids": ids, "labels": args.label, "user": args.user}
    return {key: value for key, value in select.items() if value}


def joined_ids(words: "list[str] | None") -> str:
    """Ids as one text, each checked."""
    found: list[str] = []
    for word in words or []:
        try:
            found.extend(values.ids(word))
        except ValueError as error:
            raise UsageError(f"{word}: {error}", "roost ls shows them; --label chooses by label") from None
    return ",".join(found)


def names_ids(args: Args) -> bool:
    """True when particular jobs were named, so that missing one of them is a failure."""
    return any(word != "all" for word in args.__dict__.get("ids") or [])


def one_job(roost: "Roost", word: str) -> int:
    """The id that a word names: a number, or `@`, which the server knows."""
    if word.isdecimal():
        return int(word)
    jobs = roost.jobs(joined_ids([word]), limit=2)["jobs"]
    if len(jobs) != 1:
        raise UsageError(f"{word}: one job is meant" if jobs else f"{word}: no such job")
    number: int = jobs[0]["id"]
    return number
