"""Act on jobs and print the result: shared by kill, hold, rm and similar verbs."""

import sys

from roost.cli.parse.options import Any, Args, Json, Mapping
from roost.cli.parse.values import compress
from roost.cli.runtime.connect import server
from roost.cli.runtime.selection import names_ids, selection
from roost.cli.text.output import announce, clean, print_json
from roost.client.errors import EXIT_FAILED, EXIT_NOT_PERMITTED, EXIT_TRY_LATER, EXIT_USAGE
from roost.messages.terminal import say

_EXIT = {"not_found": EXIT_USAGE, "not_permitted": EXIT_NOT_PERMITTED, "try_later": EXIT_TRY_LATER}
_FEW = 10
NOTHING: "Mapping[str, Any]" = {}


def act(args: Args, action: str, done: str, select: Json | None = None, **parameters: "Any") -> int:
    """Act on `select`, or on the jobs that the command line selects; print the result and return the exit code."""
    answer = server().act(action, selection(args, action) if select is None else select, **parameters)
    return tell(answer, [(done, answer.get("done") or [])], parameters, named=names_ids(args), as_json=args.json)


def tell(
    answer: Json, said: "list[tuple[str, list[int]]]", params: "Mapping[str, Any]" = NOTHING, *, named: bool, as_json: bool
) -> int:
    """Print what was done to which jobs, a code of the catalogue each, and return the exit code.

    It is a failure if a named job was skipped, or if nothing was done.
    """
    done, skipped = answer.get("done") or [], answer.get("skipped") or []
    failed = bool(skipped) and (named or not done)
    if as_json:
        print_json({"version": 1, **answer})
    else:
        tell_later(answer)
        for code, ids in said:
            if ids:
                print(say(code, **params, jobs=counted(ids)))
        for line in skipped_lines(skipped) if failed else ():
            print(f"roost: {line}", file=sys.stderr)
    if not failed:
        return 0
    return max(_EXIT.get(entry.get("code", ""), EXIT_FAILED) for entry in skipped)


def tell_later(answer: Json) -> None:
    """Print, for each unreachable node, the jobs for which the action is postponed."""
    by_node: dict[str, list[int]] = {}
    for entry in answer.get("later") or ():
        by_node.setdefault(clean(entry["node"]), []).append(entry["id"])
    for node, ids in by_node.items():
        announce("cli.later", ids=counted(ids), node=node)


def counted(ids: list[int]) -> str:
    """`12, 13`, or `120 jobs: 1-100, 105-124`."""
    return ", ".join(map(str, ids)) if len(ids) <= _FEW else say("shown.many_jobs", n=len(ids), ids=compress(ids))


def skipped_lines(skipped: list[Json]) -> list[str]:
    """One line per reason."""
    by_reason: dict[str, list[int]] = {}
    for entry in skipped:
        by_reason.setdefault(clean(entry.get("reason", "skipped")), []).append(entry["id"])
    return [
        say("shown.skipped", jobs=counted(ids), reason=reason if len(ids) == 1 else _of_many(reason))
        for reason, ids in by_reason.items()
    ]


def _of_many(reason: str) -> str:
    """`it has already ended` in the plural."""
    for one, many in (("it has ", "they have "), ("it is ", "they are ")):
        if reason.startswith(one):
            return many + reason.removeprefix(one)
    return reason
