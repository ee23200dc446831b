"""roost top: GPUs and jobs, refreshed until Ctrl-C."""

import sys
import time

from roost.cli.parse import values
from roost.cli.parse.options import ONE, Args, Json, Option, Verb
from roost.cli.runtime.connect import server
from roost.cli.text.job_text import utc_now
from roost.cli.text.node_gpus_text import node_lines
from roost.cli.text.output import Screen, screen, write
from roost.cli.verbs.gpus import gpus
from roost.cli.verbs.jobs import ls
from roost.client.client import Roost
from roost.client.errors import ServerUnreachable
from roost.messages.terminal import say

VERB = Verb(
    "top",
    "watch GPUs and jobs until Ctrl-C",
    options=(Option("-d --delay", "time between refreshes (default 2s)", ONE, "TIME", values.seconds),),
    examples=(("roost top", ""), ("roost top -d 10s", "less often")),
)
_HOME_AND_CLEAR = "\033[H\033[J"
_OTHER_SCREEN, _OWN_SCREEN = "\033[?1049h\033[?25l", "\033[?25h\033[?1049l"


def run(args: Args) -> int:
    """Draw repeatedly on a terminal, once elsewhere."""
    roost = server()
    if not sys.stdout.isatty():
        write(frame(roost, screen(), 20))
        return 0
    roost.status()
    sys.stdout.write(_OTHER_SCREEN)
    try:
        while True:
            _draw(roost)
            time.sleep(max(args.delay or 2, 1))
    except KeyboardInterrupt:
        return 0
    finally:
        sys.stdout.write(_OWN_SCREEN)
        sys.stdout.flush()


def frame(roost: Roost, shown: Screen, rows: int) -> list[str]:
    """One screen."""
    answer = roost.gpus()
    found = gpus.lines(answer, shown)
    if len(found) > rows // 2:
        found = _in_brief(answer["gpus"], found, shown, max(rows // 2, 5))
    page = roost.jobs(limit=max(rows - len(found) - 3, 5))
    return [*found, "", *ls.lines(page["jobs"], utc_now(), shown, ls.has_many_nodes(page))]


def _in_brief(all_gpus: list[Json], found: list[str], shown: Screen, most: int) -> list[str]:
    """A line for each node, so that many GPUs leave room for jobs."""
    return node_lines(all_gpus, shown, most) if len({gpu["node"] for gpu in all_gpus}) > 1 else found


def _draw(roost: Roost) -> None:
    import os

    height = os.get_terminal_size(1).lines
    try:
        found = frame(roost, screen(), height)[: height - 1]
    except ServerUnreachable:
        found = [say("cli.reconnecting")]
    sys.stdout.write(_HOME_AND_CLEAR)
    write(found)
    sys.stdout.flush()
