"""roost defaults: what your jobs are like unless a submit says otherwise."""

import sys

from roost.cli.parse.options import Args, Verb
from roost.cli.runtime.connect import server
from roost.cli.runtime.selection import JSON
from roost.cli.text.output import clean, print_json, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

VERB = Verb(
    "defaults",
    "show what your jobs are like unless told otherwise",
    options=(JSON,),
    examples=(
        ("roost defaults", "as they would be typed"),
        ("roost defaults set mem=8G time=2h label=ana", "for every job that does not say it"),
        ("roost defaults unset time", "no time limit by itself"),
        ("roost submit --without mem python train.py", "this one without it"),
    ),
    about="They are kept by the server: for this program, for the API and for the web page.\n"
    "Further: roost defaults set, unset, clear.",
)


def run(args: Args) -> int:
    """Print them."""
    return shown(args, server().people.defaults())


def shown(args: Args, defaults: "dict[str, Any]") -> int:
    """Print these."""
    from roost.cli.verbs.defaults.default_options import typed

    if args.json:
        print_json({"version": 1, "defaults": defaults})
    elif defaults:
        write([clean(pair) for pair in typed(defaults)])
    else:
        print("roost: no defaults of yours; some: roost defaults set mem=8G time=2h", file=sys.stderr)
    return 0
