"""The one shape of every error."""

from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from roost.core.errors import HostKeyUnknown, RoostError
from roost.messages import Message
from roost.messages.message import PLAIN


class ErrorBody(msgspec.Struct, kw_only=True):
    """What failed, why, and what to do. `index`: the position of the bad job, where several were sent. `host_key`, with
    `host_key_unknown`: the fingerprint of the node's key. `reason`: the code of the message, where it has one."""

    code: Annotated[str, msgspec.Meta(extra_json_schema={"enum": sorted(kind.code for kind in RoostError.__subclasses__())})]
    message: Message
    hint: Message | None
    index: int | UnsetType = UNSET
    host_key: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET


class Error(msgspec.Struct):
    """A refusal."""

    error: ErrorBody


def error_answer(error: RoostError) -> Error:
    """The answer that an error is."""
    index = UNSET if error.index is None else error.index
    host_key = error.host_key if isinstance(error, HostKeyUnknown) else UNSET
    reason = UNSET if error.said.code == PLAIN else error.said.code
    return Error(
        ErrorBody(code=error.code, message=error.said, hint=error.advice, index=index, host_key=host_key, reason=reason)
    )
