"""Why a job waits, as it is shown: the reasons of `core.reasons` with their words."""

import msgspec
from msgspec import UNSET, UnsetType

from roost.core import reasons
from roost.core.model import Claimant, Process
from roost.core.reasons import Holder
from roost.messages import Message


class Reason(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Why a job waits: a code, the words, and the numbers behind them, which depend on the code."""

    code: str
    text: Message
    node: str | UnsetType = UNSET
    gpu: str | UnsetType = UNSET
    job: int | UnsetType = UNSET
    jobs: int | UnsetType | None = UNSET
    user: str | UnsetType = UNSET
    account: str | UnsetType = UNSET
    sweep: int | UnsetType = UNSET
    state: str | UnsetType = UNSET
    wants: str | UnsetType = UNSET
    why: str | UnsetType = UNSET
    what: str | UnsetType = UNSET
    how: str | UnsetType = UNSET
    fault: str | UnsetType = UNSET
    begin_ms: int | UnsetType = UNSET
    until_ms: int | UnsetType = UNSET
    left_s: int | UnsetType = UNSET
    attempts: int | UnsetType = UNSET
    asked: int | tuple[str, ...] | UnsetType = UNSET
    has: int | UnsetType = UNSET
    most: int | UnsetType = UNSET
    running: int | UnsetType = UNSET
    free: int | UnsetType = UNSET
    total: int | UnsetType = UNSET
    slots: int | UnsetType = UNSET
    asked_mib: int | UnsetType = UNSET
    free_mib: int | UnsetType = UNSET
    total_mib: int | UnsetType = UNSET
    available_mib: int | UnsetType = UNSET
    floor_mib: int | UnsetType = UNSET
    util: int | UnsetType | None = UNSET
    max_util: int | UnsetType = UNSET
    runs: tuple[str, ...] | UnsetType = UNSET
    holders: tuple[Holder, ...] | UnsetType = UNSET
    procs: tuple[Process, ...] | UnsetType = UNSET
    by: Claimant | UnsetType = UNSET


def shown(reason: reasons.Reason) -> Reason:
    """A reason with its code and its words."""
    code = str(reason.__struct_config__.tag)
    return Reason(code=code, text=reason.message(), **msgspec.structs.asdict(reason))


def text_of(shown: list[Reason]) -> Message:
    """All of them in one line."""
    return Message("reason.all", reasons=[reason.text for reason in shown])
