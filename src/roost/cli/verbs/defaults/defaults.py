"""roost defaults, and set, unset, clear: default options for a user's jobs."""

from roost.cli.parse.job_options import api_keys
from roost.cli.parse.options import JSON, Args, Callable, Json, Operand, TableVerb, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import announce, clean, print_json, write
from roost.cli.verbs.defaults.default_options import assigned, merged, typed


def _verb(
    name: str,
    summary: str,
    change: "Callable[[Args], Callable[[Json], Json]] | None",
    *examples: tuple[str, str],
    operands: tuple[Operand, ...] = (),
    about: str = "",
) -> TableVerb:
    """A verb that applies `change` (None: no change) and then shows the defaults."""

    def run(args: Args) -> int:
        new = change(args) if change is not None else None  # parse the arguments before asking the server
        people = server().people
        defaults = people.defaults()
        return _show(args, defaults if new is None else people.set_defaults(new(defaults)))

    return TableVerb(Verb(name, summary, operands=operands, options=(JSON,), examples=examples, about=about), run)


def _show(args: Args, defaults: Json) -> int:
    if args.json:
        print_json({"version": 1, "defaults": defaults})
    elif defaults:
        write([clean(pair) for pair in typed(defaults)])
    else:
        announce("cli.no_defaults")
    return 0


def _set(args: Args) -> "Callable[[Json], Json]":
    new = assigned(args.pairs)
    return lambda current: merged(current, new)


def _unset(args: Args) -> "Callable[[Json], Json]":
    gone = {key for word in args.keys for key in api_keys(word)}
    return lambda current: {key: value for key, value in current.items() if key not in gone}


_ROWS = (
    _verb("defaults", "show the default options of your jobs", None,
          ("roost defaults", "as you would type them"),
          ("roost defaults set mem=8G time=2h label=ana", "for jobs that do not set these options"),
          ("roost defaults unset time", "remove the default time limit"),
          ("roost submit --without mem python train.py", "without the default for mem"),
          about="The server stores them. They apply to command line, API and dashboard.\n"
          "See also: roost defaults set, unset, clear."),
    _verb("defaults set", "change some of your defaults; the others stay the same", _set,
          ("roost defaults set gpus=1 mem=8G time=2h", ""),
          ("roost defaults set label=ana,paper preemptible=on", "flags take on or off"),
          operands=(Operand("pairs", "+", "KEY=VALUE",
                            "a long option of `roost submit` and its value; on and off for flags"),)),
    _verb("defaults unset", "remove some of your defaults", _unset, ("roost defaults unset mem time", ""),
          operands=(Operand("keys", "+", "KEY", "a key, as `roost defaults` shows it"),)),
    _verb("defaults clear", "remove all of your defaults", lambda args: lambda current: {}, ("roost defaults clear", "")),
)  # fmt: skip
TABLE = {row.VERB.name: row for row in _ROWS}
