"""Which users are meant: names on the command line, or a file with one a line. All are looked at before any is changed."""

from roost.cli.parse.options import Json, Operand, Sequence, UsageError
from roost.client.client import Roost

NAMES = Operand("names", "+", "NAME", "users, like ana bob")
_FIRST = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_FURTHER = _FIRST | frozenset(".-+@")
_MAX_SAID = 5


def is_name(word: str) -> bool:
    """Whether an account could have that name; the server has the last word."""
    bare = word.removesuffix("$")
    return 0 < len(word) <= 64 and bool(bare) and bare[0] in _FIRST and _FURTHER.issuperset(bare)


def check_names(names: "Sequence[str]") -> list[str]:
    """The names, each once; a UsageError when one cannot be a user's."""
    for name in names:
        if not is_name(name):
            raise UsageError(f"not a name of a user: {name!r}", "letters, digits and _ . - + @, like ana")
    return list(dict.fromkeys(names))


def names_in(text: str, source: str) -> dict[str, str | None]:
    """The users of a file, each with the UNIX account behind his name, if one stands there. Bad lines are all named."""
    found: dict[str, str | None] = {}
    wrong: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        bad = next((word for word in words if not is_name(word)), None)
        if bad is not None or len(words) > 2:
            said = f"not a name: {bad!r}" if bad is not None else "a name and perhaps a UNIX account are meant"
            wrong.append(f"line {number}: {said}")
        elif words[0] in found:
            wrong.append(f"line {number}: {words[0]} is there twice")
        else:
            found[words[0]] = words[1] if len(words) == 2 else None
    if wrong:
        more = f"; and {len(wrong) - _MAX_SAID} more" if len(wrong) > _MAX_SAID else ""
        raise UsageError(f"{source}: " + "; ".join(wrong[:_MAX_SAID]) + more, "a name a line; nobody was added")
    if not found:
        raise UsageError(f"{source}: no name in it", "a name a line")
    return found


def known(roost: "Roost", names: "Sequence[str]") -> list[Json]:
    """Those users as the server shows them; a UsageError before anything is done when one of them is not there."""
    users = [roost.user(name) for name in check_names(names)]
    missing = [user["user"] for user in users if not (user["added"] or user["account"])]
    if missing:
        raise UsageError(f"there is no user {', '.join(missing)}; nothing was done", "roost user ls")
    return users
