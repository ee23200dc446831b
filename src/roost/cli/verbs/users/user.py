"""roost user: yourself."""

from roost.cli.parse.options import Args, Verb
from roost.cli.runtime.selection import JSON

VERB = Verb(
    "user",
    "show what you may have, and what you have now",
    options=(JSON,),
    examples=(
        ("roost user", "yourself"),
        ("roost user add ana bob", "an administrator: two users more"),
        ("roost user set ana --weight 2 --max-gpus 4", "twice the share of others, four GPUs at most"),
    ),
    about="Further: roost user add, del, lock, unlock, admin, set, show, ls, link.",
)


def run(args: Args) -> int:
    """The same as `user show` of oneself."""
    from roost.cli.verbs.users.user_show import run as shown

    args.__dict__["names"] = []
    return shown(args)
