"""roost defaults, and set, unset, clear: what your jobs are like unless a submit says otherwise."""

from roost.cli.parse.job_options import api_keys
from roost.cli.parse.options import JSON, Args, Callable, Json, Operand, TableVerb, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.output import clean, note, print_json, write
from roost.cli.verbs.defaults.default_options import assigned, merged, typed


def _verb(
    name: str,
    summary: str,
    change: "Callable[[Args], Callable[[Json], Json]] | None",
    *examples: tuple[str, str],
    operands: tuple[Operand, ...] = (),
    about: str = "",
) -> TableVerb:
    """A row: `change` gives what makes new defaults of those there are; None changes nothing. All show them."""

    def run(args: Args) -> int:
        new = change(args) if change is not None else None  # what makes no sense is refused before the server is asked
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
        note("roost: no defaults of yours; some: roost defaults set mem=8G time=2h")
    return 0


def _set(args: Args) -> "Callable[[Json], Json]":
    new = assigned(args.pairs)
    return lambda current: merged(current, new)


def _unset(args: Args) -> "Callable[[Json], Json]":
    gone = {key for word in args.keys for key in api_keys(word)}
    return lambda current: {key: value for key, value in current.items() if key not in gone}


_ROWS = (
    _verb("defaults", "show what your jobs are like unless told otherwise", None,
          ("roost defaults", "as they would be typed"),
          ("roost defaults set mem=8G time=2h label=ana", "for every job that does not say it"),
          ("roost defaults unset time", "no time limit by itself"),
          ("roost submit --without mem python train.py", "this one without it"),
          about="They are kept by the server: for this program, for the API and for the web page.\n"
          "Further: roost defaults set, unset, clear."),
    _verb("defaults set", "change some of your defaults; the others stay", _set,
          ("roost defaults set gpus=1 mem=8G time=2h", ""),
          ("roost defaults set label=ana,paper preemptible=on", "flags are on or off"),
          operands=(Operand("pairs", "+", "KEY=VALUE",
                            "a long option of `roost submit` and its value; on and off for flags"),)),
    _verb("defaults unset", "take some of your defaults back", _unset, ("roost defaults unset mem time", ""),
          operands=(Operand("keys", "+", "KEY", "as `roost defaults` shows them"),)),
    _verb("defaults clear", "take all of your defaults back", lambda args: lambda current: {}, ("roost defaults clear", "")),
)  # fmt: skip
TABLE = {row.VERB.name: row for row in _ROWS}
