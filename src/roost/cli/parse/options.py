"""Tables of options, and a fast parser for them.

A verb declares its options once, as a table of `Option`. `parse` reads a command line with that table;
`roost.cli.parse.help_text` builds argparse parsers from the same table for help, docs and completion. A test checks that
both parse alike. Every `roost submit` imports this module, so it imports almost nothing.
"""

from roost.client.errors import EXIT_USAGE, RoostError
from roost.client.jsontext import Answer, Any, Callable, Iterable, Iterator, Json, Mapping, Sequence

TYPE_CHECKING = False
__all__ = [
    "Answer",
    "Any",
    "Callable",
    "Iterable",
    "Iterator",
    "Json",
    "Mapping",
    "Sequence",
]  # to annotate with

FLAG = "flag"  # present or not
ONE = "one"  # takes a value; the last one wins
MANY = "many"  # takes a value, may be repeated; the converter gives a list, lists are joined


class UsageError(RoostError):
    """The command line is wrong."""

    exit_code = EXIT_USAGE
    code = "bad_request"


class Option:
    """One option: its names, its value, its help."""

    __slots__ = ("convert", "dest", "group", "help", "kind", "metavar", "names")

    def __init__(
        self,
        names: str,
        help: str,
        kind: str = FLAG,
        metavar: str = "",
        convert: "Callable[[str], Any] | None" = None,
        *,
        dest: str = "",
        group: str = "",
    ) -> None:
        self.names = tuple(names.split())
        self.help = help
        self.kind = kind
        self.metavar = metavar
        self.convert = convert
        self.dest = dest or self.names[-1].lstrip("-").replace("-", "_")
        self.group = group


JSON = Option("--json", "print JSON")


class Operand:
    """A positional argument. `count`: "1", "?" (optional), "*" (any number), "+" (at least one), COMMAND or TAIL."""

    __slots__ = ("choices", "count", "dest", "help", "metavar")

    def __init__(self, dest: str, count: str, metavar: str, help: str, choices: tuple[str, ...] = ()) -> None:
        self.dest = dest
        self.count = count
        self.metavar = metavar
        self.help = help
        self.choices = choices


COMMAND = "command"  # the first operand ends the options; everything after it is the command, unchanged
TAIL = "tail"  # a command after `--`


class Verb:
    """A verb: name, summary, operands, options, examples (command, explanation)."""

    __slots__ = ("about", "examples", "name", "operands", "options", "summary")

    def __init__(
        self,
        name: str,
        summary: str,
        *,
        operands: tuple[Operand, ...] = (),
        options: tuple[Option, ...] = (),
        examples: tuple[tuple[str, str], ...] = (),
        about: str = "",
    ) -> None:
        self.name = name
        self.summary = summary
        self.operands = operands
        self.options = options
        self.examples = examples
        self.about = about


class TableVerb:
    """A verb without a module of its own: it has the same attributes as a verb's module."""

    __slots__ = ("VERB", "run")

    def __init__(self, verb: Verb, run: "Callable[[Args], int]") -> None:
        self.VERB = verb
        self.run = run


class Args:
    """The values of a parsed command line by option name; None for an option that was not given, False for a flag."""

    json: bool
    argv: "Sequence[str]"

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...

    def given(self, name: str) -> bool:
        """Whether that option was given."""
        return self.__dict__.get(name) not in (None, False)

    def said(self, *names: str) -> Json:
        """The given ones of these options, with their values."""
        return {name: self.__dict__[name] for name in names if self.__dict__[name] is not None}


class HelpAsked(Exception):
    """`-h` or `--help` was among the options."""


def parse(verb: Verb, argv: "Sequence[str]", args: Args | None = None) -> Args:
    """The values of a command line, on top of those in `args`."""
    if args is None:
        args = blank(verb)
    args.argv = argv
    words, tail = _parse_options(verb, argv, args)
    _assign(verb, words, tail, args)
    return args


def blank(verb: Verb) -> Args:
    """No option given."""
    args = Args()
    args.json = False
    values = args.__dict__
    for option in verb.options:
        values[option.dest] = False if option.kind is FLAG else None
    return args


def parse_options(table: "dict[str, Option]", argv: "Sequence[str]", args: Args, start: int = 0) -> int:
    """Read options from `start` and return the position of the first word that is not an option.

    A `--` ends the options and is skipped.
    """
    values = args.__dict__
    end = len(argv)
    at = start
    while at < end:
        word = argv[at]
        if len(word) < 2 or word[0] != "-" or _is_negative_number(word):
            return at
        at += 1
        if word == "--":
            return at
        if word in ("-h", "--help"):
            raise HelpAsked
        name, equals, attached = word.partition("=")
        option = table.get(name)
        text: str | None
        if option is None:
            if word[1] == "-":
                raise UsageError("cli.unknown_option", _nearest(name, table), name=name)
            option, text = _short(word, table, values)
        else:
            text = attached if equals else None
        if option.kind is FLAG:
            if text is not None:
                raise UsageError("cli.takes_no_value", name=name)
            values[option.dest] = True
            continue
        if text is None:
            if at == end or _looks_like_option(argv[at]):
                raise UsageError("cli.needs_value", names=option.names[-1], metavar=option.metavar)
            text = argv[at]
            at += 1
        try:
            _store(option, text, values)
        except UsageError as error:
            if word[1] != "-" and len(word) > 2:  # -gpu 2: possibly a long name with one dash
                error.hint = _nearest("-" + name, table)
            raise
    return at


def option_table(verb: Verb) -> dict[str, Option]:
    """The options of a verb by each of their names."""
    return {name: option for option in verb.options for name in option.names}


def _parse_options(verb: Verb, argv: "Sequence[str]", args: Args) -> tuple[list[str], list[str]]:
    table = option_table(verb)
    last = verb.operands[-1].count if verb.operands else ""
    words: list[str] = []
    at = 0
    while True:
        stop = parse_options(table, argv, args, at)
        dashes = stop > at and argv[stop - 1] == "--"  # `--` is never accepted as a value, so here it ends the options
        if last is COMMAND:
            return words, list(argv[stop:])
        if dashes:
            rest = list(argv[stop:])
            return (words, rest) if last is TAIL else (words + rest, [])
        if stop == len(argv):
            return words, []
        words.append(argv[stop])
        at = stop + 1


def _short(word: str, table: "dict[str, Option]", values: "dict[str, Any]") -> tuple[Option, str | None]:
    """`-g2`, `-qf`, `-qg2`: set the flags in front, give the last option and its value."""
    at = 1
    while True:
        option = table.get("-" + word[at])
        if option is None:
            if "-" + word[at] == "-h":
                raise HelpAsked
            raise UsageError("cli.unknown_short", letter=word[at], word=word)
        rest = word[at + 1 :]
        if option.kind is not FLAG:
            return option, (rest.removeprefix("=") if rest else None)
        if not rest:
            return option, None
        values[option.dest] = True
        at += 1


def _store(option: Option, text: str, values: "dict[str, Any]") -> None:
    value: Any = text
    if option.convert is not None:
        try:
            value = option.convert(text)
        except ValueError as error:
            raise UsageError(f"{option.names[-1]} {text}: {error}") from None
    if option.kind is MANY:
        before = values.get(option.dest)
        values[option.dest] = [*before, *value] if before else list(value)
    else:
        values[option.dest] = value


def _assign(verb: Verb, words: list[str], tail: list[str], args: Args) -> None:
    values = args.__dict__
    required = sum(1 for operand in verb.operands if operand.count in ("1", "+"))
    for operand in verb.operands:
        count = operand.count
        if count is COMMAND or count is TAIL:
            values[operand.dest] = tail
            continue
        if count in ("1", "+"):
            required -= 1
            if not words:
                raise UsageError("cli.argument_missing", metavar=operand.metavar, name=verb.name)
        if count in ("*", "+"):
            take = len(words) - required
            value: Any = words[:take]
        else:
            take = 1 if len(words) > required or count == "1" else 0
            value = words[0] if take else None
        if operand.choices and value and not isinstance(value, list) and value not in operand.choices:
            raise UsageError("cli.one_of", value=value, choices=", ".join(operand.choices))
        values[operand.dest] = value
        words = words[take:]
    if words:
        raise UsageError("cli.too_many_arguments", words=" ".join(words), name=verb.name)


def _looks_like_option(word: str) -> bool:
    return len(word) > 1 and word[0] == "-" and not _is_negative_number(word)


def _is_negative_number(word: str) -> bool:
    return word[0] == "-" and word[1:].replace(".", "", 1).isdigit()


def _nearest(name: str, table: "dict[str, Option]") -> str | None:
    from difflib import get_close_matches

    close = get_close_matches(name, [known for known in table if known.startswith("--")], 1)
    if not close:
        return None
    from roost.messages.terminal import say

    return say("cli.did_you_mean_option", name=close[0])
