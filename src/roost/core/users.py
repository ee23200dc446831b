"""What may be said of a user: a plausible name, a weight that can be reckoned with, quotas.

Pure. Knows nothing of accounts: whether there is one of that name is asked elsewhere.
"""

import re
from math import isfinite
from typing import Any

import msgspec

from roost.core.errors import BadRequest
from roost.core.model import UserRules

MAX_NAME = 64
NAME_PATTERN = "^[A-Za-z0-9_][A-Za-z0-9_.+@-]*[$]?$"
"""What `check_user` takes, for those who read schemas."""
MAX_WEIGHT = 1e6
MAX_QUOTA = 1_000_000_000


def check_user(name: str) -> None:
    """Raise `BadRequest` when no account could have that name."""
    if len(name) > MAX_NAME:
        raise BadRequest(f"a user name has at most {MAX_NAME} characters, not {len(name):,}")
    if not re.fullmatch(NAME_PATTERN, name):
        raise BadRequest(f"not a name of a user: {name!r}", "letters, digits and _ . - + @, like ana")


def changed_rules(rules: UserRules, changes: dict[str, Any]) -> UserRules:
    """The rules with some replaced; raises `BadRequest` with one clear line when a value makes no sense."""
    try:
        made = msgspec.convert({**msgspec.structs.asdict(rules), **changes}, UserRules)
    except msgspec.ValidationError as error:
        raise BadRequest(str(error)) from None
    if not isfinite(made.weight) or abs(made.weight) > MAX_WEIGHT:
        raise BadRequest(f"weight must lie between {-MAX_WEIGHT:,.0f} and {MAX_WEIGHT:,.0f}, not {made.weight:g}")
    for name in ("max_gpus", "max_jobs", "max_queued"):
        quota = getattr(made, name)
        if quota is not None and not 0 <= quota <= MAX_QUOTA:
            raise BadRequest(f"{name} must lie between 0 and {MAX_QUOTA:,}, not {quota:,}")
    return msgspec.structs.replace(made, weight=made.weight + 0.0)  # -0.0 becomes 0.0
