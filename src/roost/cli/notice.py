"""roost notice: what everybody is to see, shown, set and taken away."""

import sys

from roost.cli.connect import server
from roost.cli.options import Args, Operand, Option, UsageError, Verb
from roost.cli.output import clean, print_json
from roost.cli.selecting import JSON

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VERB = Verb(
    "notice",
    "show or set a line that everybody sees",
    operands=(Operand("text", "*", "TEXT", "what to say; nothing: show it"),),
    options=(Option("--clear", "take it away"), JSON),
    examples=(
        ("roost notice", "what it says"),
        ("roost notice 'Friday 18:00: new driver, save your work'", "for administrators"),
        ("roost notice --clear", ""),
    ),
    about="It stands on stderr of `roost ls`, `status`, `gpus` and `submit`.",
)


def run(args: Args) -> int:
    """Show, set or clear."""
    if args.clear and args.text:
        raise UsageError("a text, or --clear")
    people = server().people
    if args.clear or args.text:
        found = people.set_notice(" ".join(args.text) or None)
    else:
        found = people.notice()
    if args.json:
        print_json({"version": 1, "notice": found})
    elif found is None:
        print("roost: there is no notice" + (" any more" if args.clear else ""), file=sys.stderr)
    else:
        print(line(found))
    return 0


def line(notice: "dict[str, Any]") -> str:
    """The notice in one line, with whose it is."""
    return f"{clean(notice['text'])} ({clean(notice['by'])})"


def tell(notice: "dict[str, Any] | None") -> None:
    """Say it, where there is one, to a person who looks at something else."""
    if notice is not None:
        sys.stdout.flush()
        print(f"notice: {line(notice)}", file=sys.stderr)
