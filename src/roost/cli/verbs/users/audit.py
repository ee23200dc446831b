"""roost audit: who did what, when, and from where."""

from roost.cli.parse import values
from roost.cli.parse.options import JSON, ONE, Args, Json, Option, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.job_text import moment
from roost.cli.text.output import Column, announce, print_answer, print_list
from roost.client.errors import EXIT_FAILED
from roost.messages.terminal import say

_MOST = 50
VERB = Verb(
    "audit",
    "show who did what, when, and from where",
    options=(
        Option("-u --user", "actions of this user", ONE, "USER"),
        Option("--action", "only this action, like kill, set or 'user add'", ONE, "ACTION"),
        Option("--since", "since this time: 2h, 7d or 2026-11-20", ONE, "TIME", values.since),
        Option("-n --limit", f"number of entries (default {_MOST})", ONE, "N", values.count),
        Option("--verify", "check that no entry was changed, removed or added afterwards"),
        Option("-w --wide", "do not cut lines to the width of the terminal"),
        JSON,
    ),
    examples=(
        ("roost audit", "newest first"),
        ("roost audit --user ana --since 2h", ""),
        ("roost audit --verify", "then compare the last hash with: journalctl -t roost-audit"),
        ("roost audit --action 'login refused' -n 1000 --json", "for programs"),
    ),
    about="For administrators. Contains every change that a person made, and every login.",
)
COLUMNS = (
    Column("WHEN", lambda entry: _when(entry["at"])),
    Column("USER", lambda entry: entry["user"], most=16, least=6),
    Column("FROM", lambda entry: " ".join(filter(None, (entry["via"], entry["address"]))), most=32, least=8),
    Column("ACTION", lambda entry: entry["action"], most=16),
    Column("WHAT", lambda entry: " ".join(filter(None, (entry["target"], entry["detail"])))),
)


def run(args: Args) -> int:
    """Print the lines."""
    most = _MOST if args.limit is None else args.limit
    people = server().people
    if args.verify:
        return _verify(args, people.verify_audit())
    found = list(people.audit(user=args.user or "", action=args.action or "", since=args.since or "", most=most))
    return print_list(args, "audit", found, COLUMNS, "cli.no_entries")


def _verify(args: Args, found: Json) -> int:
    """Say whether the chain holds; exit code 1 if it does not."""
    code = "cli.audit_holds" if found["ok"] else f"cli.audit_{found['how']}"
    print_answer(args, found, say(code, **found))
    if found["unhashed"]:
        announce("cli.audit_unhashed", count=found["unhashed"])
    return 0 if found["ok"] else EXIT_FAILED


def _when(text: str | None) -> str:
    at = moment(text)
    return f"{at.astimezone():%Y-%m-%d %H:%M:%S}" if at is not None else "-"
