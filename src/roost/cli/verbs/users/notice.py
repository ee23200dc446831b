"""roost notice: show, set or remove the notice for all users."""

from roost.cli.parse.options import JSON, Args, Operand, Option, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import announce, notice_line, print_json

VERB = Verb(
    "notice",
    "show or set a notice for all users",
    operands=(Operand("text", "*", "TEXT", "the new notice (default: show it)"),),
    options=(Option("--clear", "remove the notice"), JSON),
    examples=(
        ("roost notice", "show the notice"),
        ("roost notice 'Friday 18:00: new driver, save your work'", "set it (administrators)"),
        ("roost notice --clear", ""),
    ),
    about="`roost ls`, `status`, `gpus` and `submit` print it to stderr.",
)


def run(args: Args) -> int:
    """Show, set or clear."""
    if args.clear and args.text:
        raise UsageError("cli.text_or_clear")
    people = server().people
    if args.clear or args.text:
        found = people.set_notice(" ".join(args.text) or None)
    else:
        found = people.notice()
    if args.json:
        print_json({"version": 1, "notice": found})
    elif found is None:
        announce("cli.notice_removed" if args.clear else "cli.no_notice")
    else:
        print(notice_line(found))
    return 0
