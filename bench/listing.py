"""What a page of the listing costs, in every order and of every filter, beside the plain first page.

    python -m bench.listing [--jobs 100000] [--rounds 5] [--json FILE] [--check]

The store alone, filled as `bench.filled` does it, asked as the server asks it: fifty jobs, and how many match in all. For
each filter the page is asked in the order of the queue and in every other order; of the others the slowest is shown. The
plain page is that of `roost ls`. Times are CPU times, for all of it is in memory and others on the machine shall not count.
`--check` holds the promises: of 100,000 jobs a page within 50 ms and a search within 150 ms, of more in proportion (of a
million a search within 1.5 s). All of it twice over: a busy machine is slower by the CPU too.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.filled import NODES, RARE, RARE_USER, fill
from bench.report import Check, checks_table, has_failed, number, ratio, table
from bench.spans import median
from bench.workspace import new_directory
from roost.server.views.facets import MAX_LABELS, MAX_USERS
from roost.store import facets, listing
from roost.store.listing import QUEUE, SORTS, Cut
from roost.store.rows import Filter
from roost.store.store import Store

NOW_MS = 1_800_000_000_000
SLACK = 2.0
"""What is promised is for a quiet machine."""
PAGE_MS, SEARCH_MS = 50.0 * SLACK, 150.0 * SLACK
PROMISED_FOR = 100_000
PLAIN = "the plain first page"
QUESTIONS: dict[str, Filter] = {
    "nothing": Filter(),
    "state: failed": Filter(states=("failed",)),
    "state: running, there is none": Filter(states=("running",)),
    "user: one of few jobs": Filter(users=(RARE_USER,)),
    "user: one of many jobs": Filter(users=("user00",)),
    "label: few have it": Filter(labels=(RARE,)),
    "label: many have it": Filter(labels=("paper",)),
    "node": Filter(node=NODES[0]),
    "user, label, state and node": Filter(users=("user00",), labels=("paper",), states=("failed",), node=NODES[0]),
    "search: nothing matches": Filter(search="no such words"),
    "search: one matches": Filter(search="-77777"),
    "search: few match": Filter(search=RARE),
    "search: a fifth matches": Filter(search="LLAMA"),
    "search: all match": Filter(search="imagenet"),
    "search and user": Filter(search="llama", users=("user00",)),
    "search, others' texts hidden": Filter(search="llama", viewer="user00"),
    "search, hidden, nothing matches": Filter(search="no such words", viewer="user00"),
}


@dataclass
class Row:
    """What one filter costs: in the order of the queue, and in the slowest other one."""

    what: str
    queue_ms: float
    slowest_ms: float
    slowest: str

    @property
    def worst_ms(self) -> float:
        return max(self.queue_ms, self.slowest_ms)


def main(arguments: Sequence[str] | None = None) -> int:
    """Fill, measure, print, and judge when asked to."""
    options = parse(arguments)
    store = Store(new_directory("listing") / "roost.db")
    began = time.monotonic()
    fill(store, options.jobs, NOW_MS)
    say(f"{options.jobs:,} jobs, {store.path.stat().st_size >> 20:,} MiB, filled in {time.monotonic() - began:.0f} s")
    plain_ms = page_ms(store, Filter(ended_since_ms=NOW_MS - 86_400_000), Cut(50), 5 * options.rounds)
    rows = [measure(store, what, wanted, options.rounds) for what, wanted in QUESTIONS.items()]
    rows += paging(store, options)
    store.close()
    checks = judge(rows, plain_ms, options.jobs)
    print(render(rows, plain_ms, checks))
    if options.json:
        shown = {"jobs": options.jobs, "plain_ms": plain_ms, "rows": [asdict(row) for row in rows]}
        shown["checks"] = [{**asdict(check), "verdict": check.verdict} for check in checks]
        Path(options.json).write_text(json.dumps(shown, indent=1) + "\n")
    return 1 if options.check and has_failed(checks) else 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.listing")
    parser.add_argument("--jobs", type=int, default=100_000, help="%(default)s")
    parser.add_argument("--rounds", type=int, default=5, help="%(default)s")
    parser.add_argument("--json", metavar="FILE", help="write the figures there too")
    parser.add_argument("--check", action="store_true", help="exit 1 unless every limit holds")
    return parser.parse_args(arguments)


def measure(store: Store, what: str, wanted: Filter, rounds: int) -> Row:
    """One filter, in every order."""
    by_order = {sort: page_ms(store, wanted, Cut(50, sort=sort), rounds) for sort in SORTS}
    slowest = max((sort for sort in SORTS if sort != QUEUE), key=by_order.__getitem__)
    say(f"{what}: {by_order[QUEUE]:.1f} ms, by {slowest} {by_order[slowest]:.1f} ms")
    return Row(what, by_order[QUEUE], by_order[slowest], slowest)


def paging(store: Store, options: argparse.Namespace) -> list[Row]:
    """Far down the listing, by number and by cursor; and what the menus are made of."""
    deep = min(100_000, options.jobs - 100)
    page = store.read(listing.page, Filter(), Cut(50, None, "name", deep))
    assert page.next is not None
    cases = {
        f"past {deep:,} jobs": (Cut(50, offset=deep), Cut(50, sort="name", offset=deep)),
        f"by a cursor, {deep:,} down": (Cut(50, "1"), Cut(50, page.next, "name")),
    }
    rows = [
        Row(
            what,
            page_ms(store, Filter(), by_queue, options.rounds),
            page_ms(store, Filter(), by_name, options.rounds),
            "name",
        )
        for what, (by_queue, by_name) in cases.items()
    ]
    users = timed(lambda: store.read(facets.users, MAX_USERS), options.rounds)
    labels = timed(lambda: store.read(facets.labels, MAX_LABELS), options.rounds)
    return [*rows, Row("the menus", users, labels, "labels")]


def page_ms(store: Store, wanted: Filter, cut: Cut, rounds: int) -> float:
    """A page and the total."""
    return timed(lambda: store.read(listing.page, wanted, cut, True), rounds)


def timed(question: Callable[[], object], rounds: int) -> float:
    """The median CPU time, in milliseconds; asked once before."""
    question()
    times = []
    for _ in range(rounds):
        began = time.process_time_ns()
        question()
        times.append((time.process_time_ns() - began) / 1e6)
    return median(times) or 0.0


def judge(rows: Sequence[Row], plain_ms: float, jobs: int) -> list[Check]:
    """The promises: the slowest page and the slowest search; and that a page by an index is like the plain one."""
    scale = max(1.0, jobs / PROMISED_FOR)
    worst = {kind: max(r.worst_ms for r in rows if r.what.startswith("search") is kind) for kind in (False, True)}
    none = next(row.worst_ms for row in rows if row.what == "search: nothing matches")
    narrow = next(row.worst_ms for row in rows if row.what == "user: one of few jobs")
    return [
        Check("the slowest page without a search", worst[False], PAGE_MS * scale, False, "ms"),
        Check("the slowest page with a search", worst[True], SEARCH_MS * scale, False, "ms"),
        Check("a search that matches nothing", none, SEARCH_MS * scale, False, "ms"),
        Check("the jobs of one with few, by any order / the plain page", ratio(narrow, plain_ms), 10 * scale, False, "×"),
    ]


def render(rows: Sequence[Row], plain_ms: float, checks: Sequence[Check]) -> str:
    """The tables."""
    cells = [[PLAIN, number(plain_ms), "", "", number(1.0, "×")]]
    for row in rows:
        times = number(ratio(row.worst_ms, plain_ms), "×")
        cells.append([row.what, number(row.queue_ms), number(row.slowest_ms), row.slowest, times])
    head = ["filter", "queue, ms", "slowest order, ms", "which", "slowest / plain"]
    return "\n\n".join([table(head, cells), checks_table(checks)])


def say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
