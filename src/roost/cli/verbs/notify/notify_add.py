"""roost notify add: add a notification target."""

import os
import sys

from roost.cli.parse import values
from roost.cli.parse.options import JSON, MANY, ONE, Args, Operand, Option, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import note_of, print_answer
from roost.messages.terminal import say

VERB = Verb(
    "notify add",
    "add a notification target: mail, chat or webhook",
    operands=(Operand("url", "1", "URL", "the URL of a service; - reads it from standard input"),),
    options=(
        Option("--on", "events: start, end (any), fail, kill, timeout, lost, oom, idle, gpu_free (default end,idle)", MANY,
               "EVENT,…", values.items),
        Option("--lang", "language of the messages: en or zh (default: that of your terminal)", ONE, "LANG"),
        Option("--label", "a name for the target", ONE, "TEXT"),
        JSON,
    ),
    examples=(
        ("roost notify add 'mailtos://you:password@smtp.lab.org'", "mail to your own address"),
        ("roost notify add --on fail,idle 'feishu://TOKEN'", "a Feishu group, for failures and idle GPUs"),
        ("roost notify add --on gpu_free 'ntfy://my-topic'", "when a GPU is free and no job waits for it"),
        ("roost notify add - < url.txt", "keeps the secret out of the process list"),
    ),
    about="The URL is never shown again, not even to you.",
)  # fmt: skip


def run(args: Args) -> int:
    """Add it, and print how to test it."""
    lang = args.lang or _language()
    added = server().notify_add(_url(args.url), args.on, lang=lang, label=args.label)
    about = {"id": added["id"], "target": added["target"], "events": ",".join(added["events"])}
    print_answer(args, added, say("shown.target", **about))
    if not args.json:
        note_of("cli.notify_test", id=added["id"])
    return 0


def _url(word: str) -> str:
    if word != "-":
        return word
    if sys.stdin.isatty():
        from getpass import getpass

        text = getpass(f"{say('cli.ask_url')}: ")
    else:
        text = sys.stdin.readline()
    if not text.strip():
        raise UsageError("cli.no_url")
    return text.strip()


def _language() -> str:
    """The language of the terminal."""
    said = next((os.environ[key] for key in ("LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(key)), "")
    return "zh" if said.startswith("zh") else "en"
