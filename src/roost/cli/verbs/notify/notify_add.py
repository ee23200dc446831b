"""roost notify add: one more place to be told at."""

import os
import sys

from roost.cli.parse import values
from roost.cli.parse.options import JSON, MANY, ONE, Args, Operand, Option, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import note, print_answer

VERB = Verb(
    "notify add",
    "be told by mail, chat or webhook",
    operands=(Operand("url", "1", "URL", "a URL of a service; - reads it from standard input, off the command line"),),
    options=(
        Option("--on", "of what: start, end (any), fail, kill, timeout, lost, oom, idle, gpu_free (default end,idle)", MANY,
               "EVENT,…", values.items),
        Option("--lang", "the messages' language: en or zh (default: yours)", ONE, "LANG"),
        Option("--label", "a name to know it by", ONE, "TEXT"),
        JSON,
    ),
    examples=(
        ("roost notify add 'mailtos://you:password@smtp.lab.org'", "mail to yourself"),
        ("roost notify add --on fail,idle 'feishu://TOKEN'", "a group in Feishu, when something goes wrong"),
        ("roost notify add --on gpu_free 'ntfy://my-topic'", "when a GPU is free and nobody waits for it"),
        ("roost notify add - < url.txt", "the secret stays out of the list of processes"),
    ),
    about="The URL is shown to nobody afterwards, not even to you.",
)  # fmt: skip


def run(args: Args) -> int:
    """Add it, and say how to try it."""
    lang = args.lang or _language()
    added = server().notify_add(_url(args.url), args.on, lang=lang, label=args.label)
    print_answer(args, added, f"target {added['id']}: {added['target']}, on {','.join(added['events'])}")
    if not args.json:
        note(f"try it: roost notify test {added['id']}")
    return 0


def _url(word: str) -> str:
    if word != "-":
        return word
    if sys.stdin.isatty():
        from getpass import getpass

        text = getpass("URL (not shown): ")
    else:
        text = sys.stdin.readline()
    if not text.strip():
        raise UsageError("there is no URL on standard input")
    return text.strip()


def _language() -> str:
    """That of this shell."""
    said = next((os.environ[key] for key in ("LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(key)), "")
    return "zh" if said.startswith("zh") else "en"
