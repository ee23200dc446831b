"""What the verbs about one target share: which one is meant."""

from roost.cli.parse.options import Operand, UsageError

TARGET = Operand("target", "1", "ID", "the target's number, as `roost notify ls` shows it")


def number(word: str) -> int:
    """The number of a target."""
    if not word.isdecimal() or len(word) > 9:
        raise UsageError(f"{word}: not a target's number", "roost notify ls")
    return int(word)
