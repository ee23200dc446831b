"""The notice that an administrator has set, as a line."""

from roost.cli.parse.options import Json
from roost.cli.text.output import clean, note


def line(notice: Json) -> str:
    """The notice in one line, with whose it is."""
    return f"{clean(notice['text'])} ({clean(notice['by'])})"


def tell(notice: Json | None) -> None:
    """Say it, where there is one, to a person who looks at something else."""
    if notice is not None:
        note(f"notice: {line(notice)}")
