"""roost simulate: replay a workload under a policy, compared with first-fit."""

import sys

from roost.cli.parse import values
from roost.cli.parse.options import JSON, MANY, ONE, Any, Args, Callable, Operand, Option, UsageError, Verb
from roost.cli.text.output import Column, Screen, announce, clean, print_shown, table
from roost.messages.terminal import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from roost.sim.traces import Workload

    Found = dict[str, dict[str, float]]

_MAX_GPUS = 1_000_000
_OF_A_TRACE = ("user_column", "only", "from", "to")
VERB = Verb(
    "simulate",
    "replay a workload under another scheduling policy",
    operands=(Operand("trace", "?", "TRACE", "a CSV file with a row for each job; may be gzipped"),),
    options=(
        Option("--history", "replay this server's history instead of a file"),
        Option("--since", "with --history: jobs that ended in this time (default 30d)", ONE, "TIME", values.seconds),
        Option("--nodes", "number of nodes (default with --history: this cluster's)", ONE, "N", values.count),
        Option("--gpus", "GPUs on each node (default 8)", ONE, "N", values.count),
        Option("--policy", "policies to compare with first-fit (default swift)", MANY, "POLICY", values.items),
        Option("--user-column", "the column with user names (default: user, or vc)", ONE, "COLUMN"),
        Option("--only", "only rows with this value; may be repeated", MANY, "COLUMN=VALUE", values.assignment),
        Option("--from", "only jobs submitted at this second or later", ONE, "S"),
        Option("--to", "only jobs submitted before this second", ONE, "S"),
        Option("--squeeze", "compress arrival times by this factor (default 1.0)", ONE, "X"),
        Option("--jitter", "random shift of each submit time, in seconds (default 0)", ONE, "S"),
        Option("--seeds", "number of random runs to average (default 1)", ONE, "N", values.count),
        Option("--jobs", "number of replays in parallel (default 1)", ONE, "N", values.count),
        Option("--eta", "estimate starts as `roost why` does, and count how many were before p50 and p90"),
        Option("--eta-every", "estimate every Nth waiting job (default 20)", ONE, "N", values.count),
        JSON,
    ),
    examples=(
        ("roost simulate trace.csv.gz --nodes 20 --gpus 8", "under the default policy"),
        ("roost simulate trace.csv --nodes 2 --jitter 300 --seeds 5", "average of five random runs"),
        ("roost simulate --history --since 30d --policy balance", "this server's last month"),
    ),
    about="Replays the jobs with the server's scheduler and a virtual clock, and compares\n"
    "the result with first-fit. Only --history needs a running server.",
)
_MEASURES = ("wait_mean", "wait_p95", "wait_p99", "wait_max", "completion_mean", "slowdown_mean", "user_slowdown_max",
             "jain", "wide_wait_mean", "wide_wait_max", "utilization", "seconds")  # fmt: skip
_POLICIES_A_TABLE = 3
_ETA, _ETA_EVERY = "eta", 20


def run(args: Args) -> int:
    """Read, replay, print."""
    if bool(args.trace) == bool(args.history):
        raise UsageError("cli.trace_or_history")
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
        raise UsageError("cli.since_needs_history")
    if args.nodes is None:
        raise UsageError("cli.how_many_nodes")
    begin, end = _number(args, "from", 0, 1e11), _number(args, "to", 0, 1e11)
    if begin is not None and end is not None and end <= begin:
        raise UsageError("cli.from_to", begin=format(begin, "g"), end=format(end, "g"))
    nodes = _nodes(args)
    wanted = traces.TraceWindow(args.user_column, begin, end, _columns(args))
    return traces.read_trace(args.trace, wanted), nodes


def _of_server(args: Args) -> "tuple[Workload, tuple[int, ...]]":
    import time

    from roost.cli.runtime.connect import server
    from roost.sim import traces

    for name in _OF_A_TRACE:
        if args.given(name):
            raise UsageError("cli.needs_trace", what=name.replace("_", "-"))
    since_s = 30 * 86_400 if args.since is None else args.since
    roost = server()
    workload = traces.from_history(roost.all_history(values.rfc3339(max(0, time.time() - since_s))))
    if args.nodes is not None or args.gpus is not None:
        return workload, _nodes(args)
    nodes = tuple(node["gpus"] for node in roost.status()["nodes"] if node["gpus"])
    if not nodes:
        raise UsageError("cli.no_gpus_to_replay")
    return workload, nodes


def _nodes(args: Args) -> tuple[int, ...]:
    count, gpus = _whole(args, "nodes", 100_000) or 1, _whole(args, "gpus", 1024) or 8
    if count * gpus > _MAX_GPUS:
        raise UsageError("cli.too_many_gpus", count=count, gpus=gpus, max_gpus=_MAX_GPUS)
    return (gpus,) * count


def _eta_every(args: Args) -> int | None:
    every = _whole(args, "eta_every", 1_000_000)
    return (every or _ETA_EVERY) if args.eta or every else None


def _columns(args: Args) -> "tuple[tuple[str, str], ...]":
    found = []
    for text in args.only or ():
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError("cli.column_value", text=text)
        found.append((name, value))
    return tuple(found)


def _whole(args: Args, name: str, most: int) -> int | None:
    value: int | None = args.__dict__[name]
    if value is not None and not 1 <= value <= most:
        raise UsageError("cli.between", what=name.replace("_", "-"), value=value, most=most)
    return value


def _number(args: Args, name: str, low: float, high: float) -> float | None:
    text = args.__dict__[name]
    if text is None:
        return None
    try:
        value = float(text)
    except ValueError:
        raise UsageError("cli.option_number", name=name, text=text) from None
    if not low <= value <= high:
        raise UsageError("cli.between_numbers", name=name, text=text, low=format(low, "g"), high=format(high, "g"))
    return value


def _say_left_out(without_gpus: int, too_wide: int) -> None:
    if without_gpus:
        announce("cli.skipped_without_gpus", jobs=without_gpus)
    if too_wide:
        announce("cli.skipped_too_wide", jobs=too_wide)


def _progress() -> "Callable[[str], None]":
    """A function that shows progress in one line, if stderr is a terminal."""
    if not sys.stderr.isatty():
        return lambda text: None

    def tell(text: str) -> None:
        sys.stderr.write(f"\r\033[K{clean(text)}")
        sys.stderr.flush()

    return tell


def lines(found: "Found", shown: Screen) -> list[str]:
    """A column for each policy with its ratio to first-fit, and first-fit in the last column."""
    *policies, base = (name for name in found if name != _ETA)
    parts = [policies[at : at + _POLICIES_A_TABLE] for at in range(0, len(policies), _POLICIES_A_TABLE)] or [[]]
    text: list[str] = []
    for part in parts:
        columns = [Column("MEASURE")]
        for name in part:
            columns += [Column(name.upper(), right=True, most=12), Column("RATIO", right=True)]
        rows = [_row(measure, [found[name] for name in part], found[base]) for measure in _MEASURES]
        text += [*([""] if text else []), *table([*columns, Column(base.upper(), right=True)], rows, shown)]
    return [*text, *_eta_lines(found[_ETA])] if _ETA in found else text


def _eta_lines(eta: "dict[str, float]") -> list[str]:
    """The quality of the estimates, in two lines."""
    p50, p90 = (f"{100 * eta[name]:.1f}" for name in ("before_p50", "before_p90"))
    before = say("shown.estimates_before", p50=p50, p90=p90)
    return ["", say("shown.estimates", n=int(eta["forecasts"])), f"  {before}"]


def _row(measure: str, policies: "list[dict[str, float]]", base: "dict[str, float]") -> "tuple[Any, ...]":
    cells = [say(f"shown.measure_{measure}")]
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
