"""roost set: list, show and change settings."""

from roost.cli.parse.options import JSON, Args, Json, Operand, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import Screen, clean, print_answer, screen
from roost.client import jsontext
from roost.messages.terminal import say

VERB = Verb(
    "set",
    "list settings, show one, or change one",
    operands=(
        Operand("key", "?", "KEY", "a setting (default: list all)"),
        Operand("value", "?", "VALUE", "its new value (default: show it)"),
    ),
    options=(JSON,),
    examples=(
        ("roost set", "all settings with descriptions"),
        ("roost set safety.host_mem 0.2", "start no job while less than a fifth of the host's memory is free"),
    ),
)


def run(args: Args) -> int:
    """List, show or change."""
    roost = server()
    if args.value is not None:
        answer = roost.set(args.key, typed(args.value))
        return print_answer(args, answer, f"{clean(args.key)} = {clean(args.value)}")
    answer = roost.settings()
    found = answer["settings"]
    if args.key is not None:
        renamed = [entry["key"] for entry in found if entry.get("was") == args.key]
        found = [entry for entry in found if entry["key"] == args.key]
        if renamed:
            raise UsageError(say("setting.renamed", key=args.key, new=renamed[0]), f"roost set {renamed[0]}")
        if not found:
            raise UsageError("cli.no_such_setting", key=args.key)
        return print_answer(args, found[0], plain(found[0].get("value")))
    return print_answer(args, answer, "\n".join(lines(found, screen())))


def lines(found: list[Json], shown: Screen) -> list[str]:
    """The settings as text: key, value and description."""
    from textwrap import wrap

    text = []
    for entry in found:
        value, default = plain(entry.get("value")), plain(entry.get("default"))
        text.append(
            f"{clean(entry['key'])} = {value}" + ("" if value == default else "  " + say("shown.default", value=default))
        )
        text += [f"    {shown.paint(line, 'dim')}" for line in wrap(clean(entry.get("meaning") or ""), shown.width - 4)]
    return text


def plain(value: object) -> str:
    """A value as it would be typed."""
    return clean(value) if isinstance(value, str) else jsontext.dumps(value)


def typed(text: str) -> object:
    """A typed value: a number, true, false, null, or else a text."""
    words = {"on": True, "off": False, "yes": True, "no": False}
    if text in words:
        return words[text]
    try:
        return jsontext.loads(text)
    except ValueError:
        return text
