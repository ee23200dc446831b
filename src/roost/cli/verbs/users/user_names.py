"""User names from the command line or a file. All are checked before any user is changed."""

from roost.cli.parse.options import Json, Operand, Sequence, UsageError
from roost.client.client import Roost
from roost.messages.terminal import say

NAMES = Operand("names", "+", "NAME", "users, like ana bob")
_FIRST = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
_FURTHER = _FIRST | frozenset(".-+@")
_MAX_SAID = 5


def is_name(word: str) -> bool:
    """Whether the name has the form of an account name; the server decides."""
    bare = word.removesuffix("$")
    return 0 < len(word) <= 64 and bool(bare) and bare[0] in _FIRST and _FURTHER.issuperset(bare)


def check_names(names: "Sequence[str]") -> list[str]:
    """The names without duplicates; a UsageError if one is invalid."""
    for name in names:
        if not is_name(name):
            raise UsageError("cli.user_name", name=repr(name))
    return list(dict.fromkeys(names))


def names_in(text: str, source: str) -> dict[str, str | None]:
    """The users of a file, each with its UNIX account if the line has one. The error lists all invalid lines."""
    found: dict[str, str | None] = {}
    wrong: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        bad = next((word for word in words if not is_name(word)), None)
        if bad is not None or len(words) > 2:
            why = say("cli.name_invalid", name=repr(bad)) if bad is not None else say("cli.name_form")
            wrong.append(say("cli.name_line", line=number, why=why))
        elif words[0] in found:
            wrong.append(say("cli.name_line", line=number, why=say("cli.name_twice", name=words[0])))
        else:
            found[words[0]] = words[1] if len(words) == 2 else None
    if wrong:
        more = [say("shown.and_more", n=len(wrong) - _MAX_SAID)] if len(wrong) > _MAX_SAID else []
        raise UsageError("cli.bad_names", source=source, wrong=[*wrong[:_MAX_SAID], *more])
    if not found:
        raise UsageError("cli.file_without_names", source=source)
    return found


def known(roost: "Roost", names: "Sequence[str]") -> list[Json]:
    """The users from the server; a UsageError if one does not exist."""
    users = [roost.user(name) for name in check_names(names)]
    missing = [user["user"] for user in users if not (user["added"] or user["account"])]
    if missing:
        raise UsageError("cli.no_such_user", missing=", ".join(missing))
    return users
