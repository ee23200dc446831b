"""The first word of a group alone, like `roost node`: it lists or shows, and its help names the verbs of the group."""

from roost.cli.parse.options import JSON, Args, Option, TableVerb, Verb
from roost.cli.parse.verb_table import load


def _first(
    name: str, shows: str, summary: str, about: str, *examples: tuple[str, str], options: tuple[Option, ...] = ()
) -> TableVerb:
    """A row: the same as the verb `shows` without operands."""

    def run(args: Args) -> int:
        shown = load(shows)
        args.__dict__.update((operand.dest, []) for operand in shown.VERB.operands)
        return shown.run(args)

    return TableVerb(Verb(name, summary, options=(*options, JSON), examples=examples, about=about), run)


_ROWS = (
    _first("node", "nodes", "list the nodes, as `roost nodes`",
           "Further: roost node add, show, check, rm, lost, trust, login; drain, undrain.",
           ("roost node", "the same as `roost nodes`"),
           ("roost node add lab3 ssh://root@10.0.0.3:2222", "an administrator: one more"),
           ("roost node check lab3", "what is missing there")),
    _first("notify", "notify ls", "where you are told what becomes of your jobs",
           "Further: roost notify add|ls|test|rm|failures. URLs: docs/how-to/notify.md",
           ("roost notify", "your targets"),
           ("roost notify add mailtos://you:password@smtp.lab.org", "mail for whatever ends, and for idle GPUs"),
           ("roost notify test 1", "does it arrive?"),
           ("roost submit --notify start,fail python train.py", "of this job, only these")),
    _first("token", "token ls", "tokens for programs and computers elsewhere",
           "Further: roost token new, ls, revoke.",
           ("roost token", "yours"),
           ("roost token new laptop --expires 90d", "a new one, printed once"),
           ("roost token revoke 3", "it ends at once"),
           options=(Option("-a --all", "everybody's, for administrators"),)),
    _first("user", "user show", "show what you may have, and what you have now",
           "Further: roost user add, del, lock, unlock, admin, set, show, ls, link.",
           ("roost user", "yourself"),
           ("roost user add ana bob", "an administrator: two users more"),
           ("roost user set ana --weight 2 --max-gpus 4", "twice the share of others, four GPUs at most")),
)  # fmt: skip
TABLE = {row.VERB.name: row for row in _ROWS}
