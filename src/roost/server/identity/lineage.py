"""What a token may do, and what ends with it: all that was made with it, and with that. Pure."""

from collections.abc import Iterable

from roost.core.errors import NotPermitted
from roost.store.rows import TokenRow

READ, SUBMIT, OPERATE = "read", "submit", "operate"
SCOPES = (READ, SUBMIT, OPERATE)
"""Looking; also jobs of one's own; everything that the user may. Each may what those before it may."""


def check_scope(scope: str, needed: str) -> None:
    """Raise unless a secret of that scope may do what needs the other."""
    if SCOPES.index(scope) < SCOPES.index(needed):
        raise NotPermitted("token.scope", scope=scope, needed=needed)


def with_descendants(tokens: Iterable[TokenRow], digests: Iterable[str]) -> set[str]:
    """These tokens and all that depend on them."""
    children: dict[str, list[str]] = {}
    for row in tokens:
        if row.parent is not None:
            children.setdefault(row.parent, []).append(row.digest)
    found, left = set[str](), list(digests)
    while left:
        digest = left.pop()
        if digest not in found:
            found.add(digest)
            left += children.get(digest, ())
    return found


def soonest(*ends_ms: int | None) -> int | None:
    """The first of these ends; None is none."""
    return min((end for end in ends_ms if end is not None), default=None)
