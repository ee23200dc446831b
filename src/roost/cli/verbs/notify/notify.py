"""roost notify: where you are told what becomes of your jobs."""

from roost.cli.parse.options import Args, Verb
from roost.cli.runtime.selection import JSON

VERB = Verb(
    "notify",
    "where you are told what becomes of your jobs",
    options=(JSON,),
    examples=(
        ("roost notify", "your targets"),
        ("roost notify add mailtos://you:password@smtp.lab.org", "mail for whatever ends, and for idle GPUs"),
        ("roost notify test 1", "does it arrive?"),
        ("roost submit --notify start,fail python train.py", "of this job, only these"),
    ),
    about="Further: roost notify add, ls, test, rm, failures. Ready URLs: docs/notify.md",
)


def run(args: Args) -> int:
    """The same as `notify ls`."""
    from roost.cli.verbs.notify.notify_ls import run as listed

    return listed(args)
