"""roost notice: what everybody is to see, shown, set and taken away."""

from roost.cli.parse.options import JSON, Args, Operand, Option, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import note, notice_line, print_json

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
        note("roost: there is no notice" + (" any more" if args.clear else ""))
    else:
        print(notice_line(found))
    return 0
