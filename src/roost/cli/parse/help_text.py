"""Help: the overview, and argparse parsers built from the verbs' tables, also for the docs and for completion.

Imported only for help: importing argparse takes as long as a whole submit.
"""

import argparse
import os
import re
import unicodedata

from roost.cli.parse.options import COMMAND, FLAG, MANY, TAIL, Any, Json, Mapping, Operand, Option, Verb
from roost.cli.parse.verb_table import GROUPS, VERBS, load
from roost.messages.terminal import terminal_language

_NARGS = {"*": "*", "+": "+", "?": "?", COMMAND: argparse.REMAINDER, TAIL: "*"}

_HEAD = """\
roost: a queue for GPUs. It runs your command as soon as the GPUs are free.

  roost run python train.py           run it here: output, exit code, Ctrl-C
  roost submit -g 2 python train.py   queue it and print its id
  roost ls                            running, queued and recently ended jobs
"""
_FOOT = "Help for a verb: roost help VERB. Jobs: 12, 10-20, @ (your last), all, -l LABEL."


def overview() -> str:
    """Every verb with its summary, in groups."""
    texts = _texts()
    lines = [texts.get("help.head", _HEAD)]
    for title, verbs in GROUPS:
        lines.append(f"{texts.get(f'group {title}', title)}:")
        lines.extend(f"  {name:<14} {texts.get(name) or load(name).VERB.summary}" for name in verbs)
        lines.append("")
    lines.append(texts.get("help.foot", _FOOT))
    return "\n".join(lines)


def help_text(verb: Verb, width: int | None = None) -> str:
    """What `roost VERB --help` prints."""
    return parser_of(localized(verb), width).format_help()


def localized(verb: Verb) -> Verb:
    """The verb with its texts in the terminal's language. The verbs' tables are English; examples keep their commands."""
    texts = _texts()
    if not texts:
        return verb

    def of(key: str, otherwise: str) -> str:
        return texts.get(f"{verb.name} {key}") or texts.get(key, otherwise)

    def group(title: str) -> str:
        return texts.get(f"group {title}", title)

    return Verb(
        verb.name,
        texts.get(verb.name, verb.summary),
        operands=tuple(Operand(o.dest, o.count, o.metavar, of(o.metavar, o.help), o.choices) for o in verb.operands),
        options=tuple(
            Option(
                " ".join(o.names), of(o.names[-1], o.help), o.kind, o.metavar, o.convert, dest=o.dest, group=group(o.group)
            )
            for o in verb.options
        ),
        examples=tuple((command, "") for command, _ in verb.examples),
        about=texts.get(f"{verb.name}.about", verb.about),
    )


def _texts() -> "Mapping[str, str]":
    """The texts of `help_zh.txt` by verb, `VERB OPTION` or option; none on a terminal that is not Chinese."""
    if terminal_language() != "zh":
        return {}
    with open(__file__.rpartition("/")[0] + "/help_zh.txt", encoding="utf-8") as file:
        pairs = [line.rstrip("\n").partition(" = ") for line in file if line[0] != "#"]
    return {key: text.replace("\\n", "\n") for key, _, text in pairs}


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Help in the terminal's language: Chinese has no spaces to break lines at, and its characters are two columns wide."""

    def add_usage(self, usage: "Any", actions: "Any", groups: "Any", prefix: str | None = None) -> None:
        super().add_usage(usage, actions, groups, prefix or _texts().get("help.usage"))

    def _split_lines(self, text: str, width: int) -> list[str]:
        if not _texts():
            return super()._split_lines(text, width)
        lines = [""]
        for piece in re.findall(r"[!-~]+|.", text):  # a word, or one character of Chinese
            if _columns(lines[-1] + piece) > width:
                lines.append("")
            lines[-1] = (lines[-1] + piece).lstrip()
        return lines


def _columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def parser_of(verb: Verb, width: int | None = None) -> argparse.ArgumentParser:
    """An argparse parser for the same options."""
    columns = width or min(int(os.environ.get("COLUMNS", "") or _terminal_width()), 100)
    parser = argparse.ArgumentParser(
        prog=f"roost {verb.name}",
        usage=usage(verb),
        description=_described(verb),
        epilog=examples(verb),
        formatter_class=lambda prog: _Formatter(prog, max_help_position=28, width=columns - 2),
        allow_abbrev=False,
    )
    if texts := _texts():
        parser._positionals.title, parser._optionals.title = texts["help.arguments"], texts["help.options"]
        parser._actions[0].help = texts["help.help"]
    fill(parser, verb)
    return parser


def all_parsers() -> argparse.ArgumentParser:
    """One parser with every verb as a subparser, for completion."""
    root = argparse.ArgumentParser(prog="roost", description="a queue for GPUs", allow_abbrev=False)
    root.add_argument("--version", action="store_true", help="print the version")
    below = root.add_subparsers(dest="verb")
    for name in (name for name in VERBS if " " not in name):
        verb = load(name).VERB
        fill(below.add_parser(name, help=_escaped(verb.summary), allow_abbrev=False), verb)
    return root


def fill(parser: argparse.ArgumentParser, verb: Verb) -> None:
    """Put a verb's operands and options into a parser."""
    groups: Json = {}
    for operand in verb.operands:
        _add_operand(parser, operand)
    for option in verb.options:
        if option.group and option.group not in groups:
            groups[option.group] = parser.add_argument_group(option.group)
        _add_option(groups.get(option.group, parser), option)


def usage(verb: Verb) -> str:
    """One line: `roost submit [OPTION…] COMMAND…`."""
    words = ["roost", verb.name]
    if verb.options:
        words.append("[OPTION…]")
    for operand in verb.operands:
        name = "|".join(operand.choices) if operand.choices else operand.metavar
        words.append(
            {"1": name, "?": f"[{name}]", "*": f"[{name}…]", "+": f"{name}…", COMMAND: f"{name}…"}.get(
                operand.count, f"[-- {name}…]"
            )
        )
    return " ".join(words)


def examples(verb: Verb) -> str:
    """The examples with their explanations."""
    if not verb.examples:
        return ""
    lines = [_texts().get("help.examples", "examples:")]
    for command, meaning in verb.examples:
        lines.append(f"  {command}")
        if meaning:
            lines.append(f"      {meaning}")
    return "\n".join(lines)


def _described(verb: Verb) -> str:
    stop = "" if _texts() else "."
    return verb.summary[0].upper() + verb.summary[1:] + stop + (f"\n{verb.about}" if verb.about else "")


def _add_operand(parser: argparse.ArgumentParser, operand: Operand) -> None:
    more: Json = {} if operand.count == "1" else {"nargs": _NARGS[operand.count]}
    if operand.choices:
        more["choices"] = operand.choices
    parser.add_argument(operand.dest, metavar=operand.metavar, help=_escaped(operand.help), **more)


def _add_option(group: "Any", option: Option) -> None:
    if option.kind is FLAG:
        group.add_argument(*option.names, dest=option.dest, action="store_true", help=_escaped(option.help))
        return
    group.add_argument(
        *option.names,
        dest=option.dest,
        metavar=option.metavar,
        type=option.convert or str,
        action="extend" if option.kind is MANY else "store",
        help=_escaped(option.help),
    )


def _escaped(text: str) -> str:
    return text.replace("%", "%%")


def _terminal_width() -> int:
    try:
        return os.get_terminal_size(1).columns or 80
    except OSError:
        return 80
