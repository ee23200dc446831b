"""The notice that an administrator has set, as a line."""

import sys

from roost.cli.text.output import clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def line(notice: "dict[str, Any]") -> str:
    """The notice in one line, with whose it is."""
    return f"{clean(notice['text'])} ({clean(notice['by'])})"


def tell(notice: "dict[str, Any] | None") -> None:
    """Say it, where there is one, to a person who looks at something else."""
    if notice is not None:
        sys.stdout.flush()
        print(f"notice: {line(notice)}", file=sys.stderr)
