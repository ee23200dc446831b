"""roost set: the settings, listed, shown, changed."""

from roost.cli.parse.options import Args, Json, Operand, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.cli.runtime.selection import JSON
from roost.cli.text.output import Screen, clean, print_json, screen, write
from roost.client import jsontext

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
        if args.json:
            print_json({"version": 1, **answer})
        else:
            print(f"{clean(args.key)} = {clean(args.value)}")
        return 0
    answer = roost.settings()
    found = entries(answer)
    if args.key is not None:
        found = [entry for entry in found if entry["key"] == args.key]
        if not found:
            raise UsageError(f"no such setting: {args.key}", "roost set lists them")
    if args.json:
        print_json({"version": 1, **found[0]} if args.key is not None else {"version": 1, **answer})
    elif args.key is not None:
        print(plain(found[0].get("value")))
    else:
        write(lines(found, screen()))
    return 0


def entries(answer: Json) -> list[Json]:
    """The settings, each with its key."""
    settings = answer.get("settings", answer)
    if isinstance(settings, list):
        return settings
    return [{"key": key, **value} for key, value in settings.items() if isinstance(value, dict)]


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
