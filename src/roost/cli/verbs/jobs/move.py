"""roost move: put a waiting job elsewhere in the queue."""

from roost.cli.parse.options import JSON, Args, Operand, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.cli.runtime.job_actions import tell
from roost.cli.runtime.selection import joined_ids

VERB = Verb(
    "move",
    "put a waiting job at a place of the queue; 0 is the head",
    operands=(
        Operand("ids", "1", "ID", "12, 10-20, @"),
        Operand("position", "1", "PLACE", "0 is the head; -1 the end"),
    ),
    options=(JSON,),
    examples=(("roost move 12 0", "12 goes next"), ("roost move @ 3", "your last job behind the first three")),
)


def run(args: Args) -> int:
    """Move the job."""
    try:
        position = int(args.position)
    except ValueError:
        raise UsageError(f"{args.position}: a place is a number, 0 the head") from None
    answer = server().act("move", {"ids": joined_ids([args.ids])}, position=position)
    return tell(answer, [("moved", answer.get("done") or [])], named=True, as_json=args.json)
