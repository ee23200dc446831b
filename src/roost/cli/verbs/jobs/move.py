"""roost move: change a waiting job's position in the queue."""

from roost.cli.parse.options import JSON, Args, Operand, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.cli.runtime.job_actions import tell
from roost.cli.runtime.selection import joined_ids

VERB = Verb(
    "move",
    "move a waiting job to a position in the queue; 0 is the first",
    operands=(
        Operand("ids", "1", "ID", "12, 10-20, @"),
        Operand("position", "1", "PLACE", "0 is the first, -1 the last"),
    ),
    options=(JSON,),
    examples=(("roost move 12 0", "12 starts next"), ("roost move @ 3", "your last job after the first three")),
)


def run(args: Args) -> int:
    """Move the job."""
    try:
        position = int(args.position)
    except ValueError:
        raise UsageError("cli.position", position=args.position) from None
    answer = server().act("move", {"ids": joined_ids([args.ids])}, position=position)
    return tell(answer, [("shown.moved", answer.get("done") or [])], named=True, as_json=args.json)
