"""What answers share: the version that most of them carry, moments, states, and plain values."""

from typing import Annotated

import msgspec

from roost.core.states import UNKNOWN, Outcome, State

Time = Annotated[str, msgspec.Meta(extra_json_schema={"format": "date-time"})]
Value = str | int | float | bool | None
StateName = Annotated[str, msgspec.Meta(extra_json_schema={"enum": [*(state.value for state in State), UNKNOWN]})]
"""Where a job is: one of its states, or `unknown` while the node that it is on cannot be reached."""
OutcomeName = Annotated[str, msgspec.Meta(extra_json_schema={"enum": [outcome.value for outcome in Outcome]})]


class Versioned(msgspec.Struct, kw_only=True, tag_field="version", tag=1):
    """What every answer but a few early ones has: the version of the API, `1`."""


class Nothing(Versioned):
    """It is done."""
