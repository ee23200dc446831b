"""Group names as verbs, like `roost node`: they list or show, and their help names the verbs of the group."""

from roost.cli.parse.options import JSON, Args, Option, TableVerb, Verb
from roost.cli.parse.verb_table import load


def _first(
    name: str, shows: str, summary: str, about: str, *examples: tuple[str, str], options: tuple[Option, ...] = ()
) -> TableVerb:
    """A verb that does the same as `shows` without operands."""

    def run(args: Args) -> int:
        shown = load(shows)
        args.__dict__.update((operand.dest, []) for operand in shown.VERB.operands)
        return shown.run(args)

    return TableVerb(Verb(name, summary, options=(*options, JSON), examples=examples, about=about), run)


_ROWS = (
    _first("node", "nodes", "list the nodes, as `roost nodes`",
           "See also: roost node add, show, check, rm, lost, trust, login; drain, undrain.",
           ("roost node", "the same as `roost nodes`"),
           ("roost node add lab3 ssh://root@10.0.0.3:2222", "add a node (administrators)"),
           ("roost node check lab3", "check what is missing on it")),
    _first("notify", "notify ls", "list your notification targets",
           "See also: roost notify add, ls, test, rm, failures. URLs: docs/how-to/notify.md",
           ("roost notify", "your targets"),
           ("roost notify add mailtos://you:password@smtp.lab.org", "mail when a job ends or leaves its GPU idle"),
           ("roost notify test 1", "send a test message"),
           ("roost submit --notify start,fail python train.py", "other events for one job")),
    _first("token", "token ls", "list your tokens, for programs and other machines",
           "See also: roost token new, ls, revoke.",
           ("roost token", "your tokens"),
           ("roost token new laptop --for 90d", "create a token, printed once"),
           ("roost token revoke 3", "it stops working immediately"),
           options=(Option("-a --all", "tokens of all users (administrators)"),)),
    _first("user", "user show", "show your limits and current usage",
           "See also: roost user add, del, lock, unlock, admin, set, show, ls, link.",
           ("roost user", "yourself"),
           ("roost user add ana bob", "add two users (administrators)"),
           ("roost user set ana --weight 2 --max-gpus 4", "twice the default share, at most four GPUs")),
)  # fmt: skip
TABLE = {row.VERB.name: row for row in _ROWS}
