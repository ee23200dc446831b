"""Do something to jobs and say what was done: what kill, hold, rm and their like have in common."""

import sys

from roost.cli.parse.options import Any, Args, Json
from roost.cli.parse.values import compress
from roost.cli.runtime.connect import server
from roost.cli.runtime.selection import names_ids, selection
from roost.cli.text.output import clean, print_json
from roost.client.errors import EXIT_FAILED, EXIT_NOT_PERMITTED, EXIT_TRY_LATER, EXIT_USAGE

_EXIT = {"not_found": EXIT_USAGE, "not_permitted": EXIT_NOT_PERMITTED, "try_later": EXIT_TRY_LATER}
_FEW = 10


def act(args: Args, action: str, done_word: str, select: Json | None = None, **parameters: "Any") -> int:
    """Act on those jobs, or on those that the command line selects, print what was done, and give the exit code."""
    answer = server().act(action, selection(args, action) if select is None else select, **parameters)
    return tell(answer, [(done_word, answer.get("done") or [])], named=names_ids(args), as_json=args.json)


def tell(answer: Json, said: "list[tuple[str, list[int]]]", *, named: bool, as_json: bool) -> int:
    """Print the outcome of an action, what was done to whom, and give the exit code.

    Skipping a job that was named is a failure, and so is doing nothing at all.
    """
    done, skipped = answer.get("done") or [], answer.get("skipped") or []
    failed = bool(skipped) and (named or not done)
    if as_json:
        print_json({"version": 1, **answer})
    else:
        tell_later(answer)
        for word, ids in said:
            if ids:
                print(f"{word} {counted(ids)}")
        for line in skipped_lines(skipped) if failed else ():
            print(f"roost: {line}", file=sys.stderr)
    if not failed:
        return 0
    return max(_EXIT.get(entry.get("code", ""), EXIT_FAILED) for entry in skipped)


def tell_later(answer: Json) -> None:
    """Say for which jobs it is only noted down, as nobody can tell them now: a line for each node."""
    by_node: dict[str, list[int]] = {}
    for entry in answer.get("later") or ():
        by_node.setdefault(clean(entry["node"]), []).append(entry["id"])
    for node, ids in by_node.items():
        print(f"roost: {counted(ids)}: {node} cannot be reached; done when it is back", file=sys.stderr)


def counted(ids: list[int]) -> str:
    """`12, 13`, or `120 jobs: 1-100, 105-124`."""
    return ", ".join(map(str, ids)) if len(ids) <= _FEW else f"{len(ids):,} jobs: {compress(ids)}"


def skipped_lines(skipped: list[Json]) -> list[str]:
    """One line per reason."""
    by_reason: dict[str, list[int]] = {}
    for entry in skipped:
        by_reason.setdefault(clean(entry.get("reason", "skipped")), []).append(entry["id"])
    return [f"{counted(ids)}: {reason if len(ids) == 1 else _of_many(reason)}" for reason, ids in by_reason.items()]


def _of_many(reason: str) -> str:
    """`it has already ended`, said of several."""
    for one, many in (("it has ", "they have "), ("it is ", "they are ")):
        if reason.startswith(one):
            return many + reason.removeprefix(one)
    return reason
