"""roost simulate: what a workload would have been under a policy, beside first-fit."""

import sys

from roost.cli.parse import values
from roost.cli.parse.options import JSON, MANY, ONE, Any, Args, Callable, Operand, Option, UsageError, Verb
from roost.cli.text.output import Column, Screen, clean, note, print_shown, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from roost.sim.traces import Workload

    Found = dict[str, dict[str, float]]

_MAX_GPUS = 1_000_000
_OF_A_TRACE = ("user_column", "only", "from", "to")
VERB = Verb(
    "simulate",
    "what a workload would have been under a policy",
    operands=(Operand("trace", "?", "TRACE", "a CSV file, gzipped or not: a row for each job"),),
    options=(
        Option("--history", "replay what this server ran, instead of a file"),
        Option("--since", "history: what ended in the last so long (default 30d)", ONE, "TIME", values.seconds),
        Option("--nodes", "how many nodes the cluster has (history: those it has)", ONE, "N", values.count),
        Option("--gpus", "how many GPUs each of them has (default 8)", ONE, "N", values.count),
        Option("--policy", "those to compare with first-fit (default swift)", MANY, "POLICY", values.items),
        Option("--user-column", "the column that names users (default user, else vc)", ONE, "COLUMN"),
        Option("--only", "rows with this value there; may be repeated", MANY, "COLUMN=VALUE", values.assignment),
        Option("--from", "leave out what was submitted before this second", ONE, "S"),
        Option("--to", "leave out what was submitted at this second or later", ONE, "S"),
        Option("--squeeze", "arrivals so many times denser (default 1.0)", ONE, "X"),
        Option("--jitter", "shake each submit by up to so many seconds (default 0)", ONE, "S"),
        Option("--seeds", "so many times shaken: print the means (default 1)", ONE, "N", values.count),
        Option("--jobs", "so many replays side by side (default 1)", ONE, "N", values.count),
        Option("--eta", "foretell starts as `roost why` does: how many came before p50 and p90"),
        Option("--eta-every", "foretell every so many-th job that waits (default 20)", ONE, "N", values.count),
        JSON,
    ),
    examples=(
        ("roost simulate trace.csv.gz --nodes 20 --gpus 8", "under the default policy"),
        ("roost simulate trace.csv --nodes 2 --jitter 300 --seeds 5", "five times, shaken"),
        ("roost simulate --history --since 30d --policy balance", "the last month of this server"),
    ),
    about="Replays the jobs through the scheduler that the server runs, over a virtual\n"
    "clock, and beside it under first-fit. Needs no server but for --history.",
)
_LABELS = {
    "wait_mean": "wait, mean",
    "wait_p95": "wait, p95",
    "wait_p99": "wait, p99",
    "wait_max": "wait, longest",
    "completion_mean": "completion, mean",
    "slowdown_mean": "slowdown, mean",
    "user_slowdown_max": "slowest user",
    "jain": "Jain index",
    "wide_wait_mean": "wide wait, mean",
    "wide_wait_max": "wide wait, longest",
    "utilization": "utilization",
    "seconds": "seconds taken",
}
_POLICIES_A_TABLE = 3
_ETA, _ETA_EVERY = "eta", 20


def run(args: Args) -> int:
    """Read, replay, print."""
    if bool(args.trace) == bool(args.history):
        raise UsageError("a trace or --history is meant", "roost simulate trace.csv.gz --nodes 20 --gpus 8")
    from roost.messages import hint_of, render
    from roost.messages.terminal import terminal_language
    from roost.sim import comparison as sim
    from roost.sim import traces

    try:
        names = sim.policies(args.policy or ())
        squeeze, jitter = _number(args, "squeeze", 0.001, 1000), _number(args, "jitter", 0, 1e9)
        seeds, processes = _whole(args, "seeds", 1000), _whole(args, "jobs", 256)
        workload, nodes = _of_server(args) if args.history else _of_trace(args)
        asked = sim.Asked(nodes, names, squeeze or 1.0, jitter or 0.0, seeds or 1, processes or 1, _eta_every(args))
        workload, too_wide = sim.split(workload, nodes)
        _say_left_out(workload.without_gpus, too_wide)
        found = sim.simulate(workload, asked, _progress())
    except traces.Unusable as error:
        language, hint = terminal_language(), hint_of(error.said)
        raise UsageError(render(error.said, language), render(hint, language) if hint else None) from None
    finally:
        _progress()("")
    return print_shown(args, found, lambda shown: lines(found, shown))


def _of_trace(args: Args) -> "tuple[Workload, tuple[int, ...]]":
    from roost.sim import traces

    if args.since is not None:
        raise UsageError("--since goes with --history; --from and --to cut a trace")
    if args.nodes is None:
        raise UsageError("on how many nodes?", "--nodes 20 --gpus 8")
    begin, end = _number(args, "from", 0, 1e11), _number(args, "to", 0, 1e11)
    if begin is not None and end is not None and end <= begin:
        raise UsageError(f"nothing lies between --from {begin:g} and --to {end:g}")
    nodes = _nodes(args)
    wanted = traces.TraceWindow(args.user_column, begin, end, _columns(args))
    return traces.read_trace(args.trace, wanted), nodes


def _of_server(args: Args) -> "tuple[Workload, tuple[int, ...]]":
    import time

    from roost.cli.runtime.connect import server
    from roost.sim import traces

    for name in _OF_A_TRACE:
        if args.given(name):
            raise UsageError(f"--{name.replace('_', '-')} is about a trace; --since cuts the history")
    since_s = 30 * 86_400 if args.since is None else args.since
    roost = server()
    workload = traces.from_history(roost.all_history(values.rfc3339(max(0, time.time() - since_s))))
    if args.nodes is not None or args.gpus is not None:
        return workload, _nodes(args)
    nodes = tuple(node["gpus"] for node in roost.status()["nodes"] if node["gpus"])
    if not nodes:
        raise UsageError("this server has no GPU to replay on", "--nodes 1 --gpus 8")
    return workload, nodes


def _nodes(args: Args) -> tuple[int, ...]:
    count, gpus = _whole(args, "nodes", 100_000) or 1, _whole(args, "gpus", 1024) or 8
    if count * gpus > _MAX_GPUS:
        raise UsageError(f"{count:,} nodes with {gpus:,} GPUs are too many: {_MAX_GPUS:,} GPUs at most")
    return (gpus,) * count


def _eta_every(args: Args) -> int | None:
    every = _whole(args, "eta_every", 1_000_000)
    return (every or _ETA_EVERY) if args.eta or every else None


def _columns(args: Args) -> "tuple[tuple[str, str], ...]":
    found = []
    for text in args.only or ():
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--only {text}: COLUMN=VALUE is meant, like vc=lab")
        found.append((name, value))
    return tuple(found)


def _whole(args: Args, name: str, most: int) -> int | None:
    value: int | None = args.__dict__[name]
    if value is not None and not 1 <= value <= most:
        raise UsageError(f"--{name.replace('_', '-')} {value}: it lies between 1 and {most:,}")
    return value


def _number(args: Args, name: str, low: float, high: float) -> float | None:
    text = args.__dict__[name]
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        raise UsageError(f"--{name} {text}: a number is meant") from None
    if not low <= value <= high:
        raise UsageError(f"--{name} {text}: it lies between {low:g} and {high:g}")
    return value


def _say_left_out(without_gpus: int, too_wide: int) -> None:
    if without_gpus:
        note(f"roost: left out: {values.plural(without_gpus, 'job')} without a GPU")
    if too_wide:
        note(f"roost: left out: {values.plural(too_wide, 'job')} wider than the whole cluster")


def _progress() -> "Callable[[str], None]":
    """Tells how far it is, over and over in one line, where somebody looks."""
    if not sys.stderr.isatty():
        return lambda text: None

    def tell(text: str) -> None:
        sys.stderr.write(f"\r\033[K{clean(text)}")
        sys.stderr.flush()

    return tell


def lines(found: "Found", shown: Screen) -> list[str]:
    """A column for each policy, and behind it its ratio to first-fit, which comes last."""
    *policies, base = (name for name in found if name != _ETA)
    parts = [policies[at : at + _POLICIES_A_TABLE] for at in range(0, len(policies), _POLICIES_A_TABLE)] or [[]]
    text: list[str] = []
    for part in parts:
        columns = [Column("MEASURE")]
        for name in part:
            columns += [Column(name.upper(), right=True, most=12), Column("RATIO", right=True)]
        rows = [_row(measure, [found[name] for name in part], found[base]) for measure in _LABELS]
        text += [*([""] if text else []), *table([*columns, Column(base.upper(), right=True)], rows, shown)]
    return [*text, *_eta_lines(found[_ETA])] if _ETA in found else text


def _eta_lines(eta: "dict[str, float]") -> list[str]:
    """What the forecasts were worth, in two lines."""
    before = f"{100 * eta['before_p50']:.1f}% started before p50, {100 * eta['before_p90']:.1f}% before p90"
    return ["", f"forecasts: {values.plural(int(eta['forecasts']), 'job')} that waited", f"  {before}"]


def _row(measure: str, policies: "list[dict[str, float]]", base: "dict[str, float]") -> "tuple[Any, ...]":
    cells = [_LABELS[measure]]
    for each in policies:
        ratio = f"{each[measure] / base[measure]:.2f}" if base[measure] else "-"
        cells += [_amount(measure, each[measure]), ratio]
    return (*cells, _amount(measure, base[measure]))


def _amount(measure: str, value: float) -> str:
    if "wait" in measure or "completion" in measure:
        return values.brief(value)
    if measure == "utilization":
        return f"{100 * value:.1f}%"
    return f"{value:,.0f}" if 1000 <= value < 1e6 else f"{value:.2e}" if value >= 1e6 else f"{value:.2f}"
