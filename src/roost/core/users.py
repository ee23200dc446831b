"""Which names, weights and quotas a user may have.

Pure. Whether there is a UNIX account of that name is checked elsewhere.
"""

import re
from math import isfinite
from typing import Any

import msgspec

from roost.core.errors import BadRequest
from roost.core.model import UserRules

MAX_NAME = 64
NAME_PATTERN = "^[A-Za-z0-9_][A-Za-z0-9_.+@-]*[$]?$"
"""What `check_user` accepts, for schemas."""
MAX_WEIGHT = 1_000_000
MAX_QUOTA = 1_000_000_000


def check_user(name: str) -> None:
    """Raise `BadRequest` when no account could have that name."""
    if len(name) > MAX_NAME:
        raise BadRequest("user.name_too_long", most=MAX_NAME, count=len(name))
    if not re.fullmatch(NAME_PATTERN, name):
        raise BadRequest("user.bad_name", name=repr(name))


def changed_rules(rules: UserRules, changes: dict[str, Any]) -> UserRules:
    """The rules with some replaced; raises `BadRequest` with one clear line when a value makes no sense."""
    try:
        made = msgspec.convert({**msgspec.structs.asdict(rules), **changes}, UserRules)
    except msgspec.ValidationError as error:
        raise BadRequest(str(error)) from None
    if not isfinite(made.weight) or abs(made.weight) > MAX_WEIGHT:
        raise BadRequest("user.weight_out_of_range", low=-MAX_WEIGHT, high=MAX_WEIGHT, value=f"{made.weight:g}")
    for name in ("max_gpus", "max_jobs", "max_queued"):
        quota = getattr(made, name)
        if quota is not None and not 0 <= quota <= MAX_QUOTA:
            raise BadRequest("user.quota_out_of_range", name=name, most=MAX_QUOTA, value=quota)
    return msgspec.structs.replace(made, weight=made.weight + 0.0)  # -0.0 becomes 0.0
