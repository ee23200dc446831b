"""roost set: the settings, listed, shown, changed."""

from roost.cli.parse.options import JSON, Args, Json, Operand, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import Screen, clean, print_answer, screen
from roost.client import jsontext
from roost.messages.terminal import say

VERB = Verb(
    "set",
    "list the settings, show one, or change it",
    operands=(
        Operand("key", "?", "KEY", "a setting; nothing: all of them"),
        Operand("value", "?", "VALUE", "its new value; nothing: show"),
    ),
    options=(JSON,),
    examples=(
        ("roost set", "all, with what they mean"),
        ("roost set safety.host_mem 0.2", "start nothing when less than a fifth of the host's memory is free"),
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
            raise UsageError(f"no such setting: {args.key}", "roost set lists them")
        return print_answer(args, found[0], plain(found[0].get("value")))
    return print_answer(args, answer, "\n".join(lines(found, screen())))


def lines(found: list[Json], shown: Screen) -> list[str]:
    """The settings as text: key and value, the meaning below."""
    from textwrap import wrap

    text = []
    for entry in found:
        value, default = plain(entry.get("value")), plain(entry.get("default"))
        text.append(f"{clean(entry['key'])} = {value}" + ("" if value == default else f"  (default {default})"))
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
