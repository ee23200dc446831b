"""The command line: finds the verb that the words name, runs it, and reports what went wrong.

Data goes to stdout, words to stderr. Nothing is imported before it is known to be needed: `roost submit` is to cost
little more than an empty Python. The packages: `verbs` (one verb, one file, or a row of a table), `runtime` and `text` for
what they share, `parse` for the words of a command line.
"""

import sys

from roost.cli.parse.options import HelpAsked, Sequence, UsageError, parse
from roost.cli.parse.verb_table import ALIASES, VERBS, load, verb_of
from roost.client.errors import RoostError


def main(argv: "Sequence[str] | None" = None) -> int:
    """Run a command line and give its exit code. Never a traceback, unless ROOST_DEBUG=1."""
    words = sys.argv[1:] if argv is None else list(argv)
    try:
        code = dispatch(words)
        sys.stdout.flush()
        return code
    except Exception as error:
        from roost.cli.runtime.failures import report

        return report(error)
    except KeyboardInterrupt:
        return 130


def dispatch(words: list[str]) -> int:
    """Run the verb that the words name."""
    if not words or words[0] in ("-h", "--help"):
        from roost.cli.parse.help_text import overview

        print(overview())
        return 0
    name, argv = verb_of(words)
    if name not in VERBS or _is_former(words):
        raise _unknown(name, words)
    module = load(name)
    if argv and not (module.VERB.operands or argv[0].startswith("-")) and _parts(name):
        raise _unknown_part(name, argv[0])
    try:
        args = parse(module.VERB, argv)
    except HelpAsked:
        from roost.cli.parse.help_text import help_text

        print(help_text(module.VERB), end="")
        return 0
    except UsageError as error:
        error.hint = error.hint or f"roost {name} --help"
        raise
    try:
        code: int = module.run(args)
    except RoostError as error:
        from roost.cli.runtime.failures import report

        return report(error, as_json=args.json)
    return code


def _is_former(words: list[str]) -> bool:
    """`remove device` and the like: not a job named device."""
    return words[:1] in (["remove"], ["add"]) and words[1:2] in (["device"], ["node"], ["server"])


def _parts(name: str) -> list[str]:
    """The second words that may follow: `add`, `show`, …"""
    return [verb.partition(" ")[2] for verb in (*VERBS, *ALIASES) if verb.startswith(name + " ")]


def _unknown_part(name: str, word: str) -> UsageError:
    from difflib import get_close_matches

    close = get_close_matches(word, _parts(name), 1)
    hint = _meant(f"{name} {close[0]}") if close else f"roost {name} --help"
    return UsageError("cli.unknown_verb", hint, name=f"{name} {word}")


def _meant(verb: str) -> str:
    from roost.messages.terminal import say

    return say("cli.did_you_mean", verb=verb)


def _unknown(name: str, words: list[str]) -> UsageError:
    from difflib import get_close_matches

    from roost.cli.parse.other_tools import FORMER, TWO_WORDS

    two = " ".join(words[:2])
    if two in TWO_WORDS:
        return UsageError("cli.former_two", two=two, two_words=TWO_WORDS[two])
    if name in FORMER:
        return UsageError("cli.former_verb", name=name, former=FORMER[name])
    close = get_close_matches(name, [*VERBS, *ALIASES], 1)
    hint = _meant(close[0]) if close else "roost help"
    return UsageError("cli.unknown_verb", hint, name=name)
