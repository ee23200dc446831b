"""Every live setting in one table: its key, default and range. `roost set` lists exactly this.

What a setting is for is said by the catalogues: `setting.about.KEY`.
"""

import json
from collections.abc import Callable

import msgspec

from roost.core.networks import networks
from roost.messages import Message, MessageError

Value = str | int | float | bool | None


class Setting(msgspec.Struct, frozen=True):
    """One row of the table."""

    key: str
    default: Value
    range: tuple[float, float] | tuple[None, None] = (None, None)
    choices: tuple[str, ...] = ()
    fits: Callable[[str], object] | None = None
    """Raises `MessageError` if it does not accept a text."""
    was: str | None = None
    """Its name in earlier releases."""
    is_local: bool = False
    """Whether only the server's own account can change it, on its machine: it decides who people are or what is recorded."""

    @property
    def kind(self) -> type:
        """The type of its values: that of its default."""
        return type(self.default)

    @property
    def meaning(self) -> Message:
        """What it is for, in one line."""
        return Message(f"setting.about.{self.key}")


def _keeps_audit(days: str) -> None:
    """Forever, or so long that what was done can still be read when somebody asks."""
    if 0 < int(days) < MIN_AUDIT_DAYS:
        raise MessageError("setting.audit_days", least=MIN_AUDIT_DAYS)


MIN_AUDIT_DAYS = 30
TABLE: tuple[Setting, ...] = (
    Setting("policy", "swift"),
    Setting("policy.wait_factor", 8.0, (0, 10_000), was="policy.alpha"),
    Setting("policy.fair_share_penalty_s", 20_000, (0, 10_000_000), was="policy.fairness_s"),
    Setting("policy.wait_compensation_s", 40_000, (0, 10_000_000), was="policy.evenness_s"),
    Setting("policy.hold_after_s", 3600, (0, 10_000_000), was="policy.patience_s"),
    Setting("policy.idle_allowance", 0.02, (0, 0.5), was="policy.purse"),
    Setting("mem.margin", 0.15, (0, 10)),
    Setting("queue.max", 0, (0, 1 << 40)),
    Setting("cpu.slots", 0, (0, 100_000)),
    Setting("safety.host_mem", 0.02, (0, 0.95)),
    Setting("safety.gpu_mem", 0.0, (0, 0.95)),
    Setting("job.grace_s", 30, (0, 86_400)),
    Setting("job.evict_s", 60, (1, 86_400)),
    Setting("job.warn_s", 90, (0, 86_400)),
    Setting("job.enforce_devices", True),
    Setting("job.max_processes", 32_768, (0, 1 << 22)),
    Setting("job.no_new_privs", False),
    Setting("preempt.min_run_s", 600, (0, 10**9)),
    Setting("log.max_mib", 1024, (0, 1 << 30)),
    Setting("log.keep_mib", 16, (0, 1 << 20)),
    Setting("log.keep_total_mib", 20_480, (0, 1 << 30)),
    Setting("ls.recent_h", 24, (0, 100_000)),
    Setting("archive.keep", 0, (0, 1 << 40)),
    Setting("node.sample_ms", 500, (50, 600_000)),
    Setting("node.retry_s", 30.0, (0.1, 86_400)),
    Setting("node.lost_s", 3600, (0, 10**9)),
    Setting("notify.enabled", True),
    Setting("notify.idle_min", 30.0, (0.001, 100_000)),
    Setting("notify.free_s", 30.0, (0, 86_400)),
    Setting("notify.log_lines", 20, (0, 200)),
    Setting("notify.retry_s", 10.0, (0.001, 86_400)),
    Setting("http.proxies", "", fits=networks, is_local=True),
    Setting("job.max_priority", 1_000_000, (-1_000_000, 1_000_000)),
    Setting("users.private", False),
    Setting("users.admit", "everybody", choices=("everybody", "known")),
    Setting("login.session_h", 168, (1, 100_000)),
    Setting("login.pam", "", is_local=True),
    Setting("http.rate", 100, (1, 1_000_000)),
    Setting("http.burst", 2000, (1, 1_000_000)),
    Setting("audit.keep_days", 730, (0, 100_000), fits=_keeps_audit, is_local=True),
    Setting("disk.min_mib", 64, (0, 1 << 30)),
)

BY_KEY = {row.key: row for row in TABLE}
RENAMED = {row.was: row.key for row in TABLE if row.was is not None}
"""The names of settings by those that they had in earlier releases."""
DEFAULTS: dict[str, Value] = {row.key: row.default for row in TABLE}
_UNITS = {"ms": "ms", "s": "s", "min": "min", "h": "h", "days": "d", "mib": "MiB"}


def unit_of(key: str) -> str | None:
    """The unit of a setting, by the end of its name; None: a bare number or no number."""
    return _UNITS.get(key.rpartition("_")[2]) if "_" in key else None


class BadSetting(MessageError, ValueError):
    """The key is unknown or the value does not fit; the message says what does."""


def check(key: str, value: object) -> Value:
    """The value as that setting holds it, or `BadSetting`."""
    row = BY_KEY.get(key)
    if row is None:
        if (new := RENAMED.get(key)) is not None:
            raise BadSetting("setting.renamed", key=key, new=new)
        raise BadSetting("setting.unknown", key=key)
    converted = _convert(row, value)
    low, high = row.range
    if low is not None and high is not None and isinstance(converted, (int, float)) and not low <= converted <= high:
        raise BadSetting("setting.out_of_range", key=key, low=low, high=high, value=converted)
    if row.choices and converted not in row.choices:
        raise BadSetting("setting.not_a_choice", key=key, choices=row.choices, value=_shown(converted))
    if row.fits is not None:
        try:
            row.fits(str(converted))
        except MessageError as error:
            raise BadSetting("setting.does_not_fit", key=key, why=error.said) from None
    return converted


def check_type(key: str, value: object) -> None:
    """Raise `BadSetting` if a program sends a number or a truth value as a text; that is accepted from people only."""
    row = BY_KEY.get(key)
    if row is not None and (isinstance(value, str) != (row.kind is str) or isinstance(value, bool) != (row.kind is bool)):
        raise _wrong_type(row, value)


_BOOLEANS: dict[str | bool, bool] = {
    True: True,
    False: False,
    **dict.fromkeys(("true", "on", "yes", "1"), True),
    **dict.fromkeys(("false", "off", "no", "0"), False),
}


def _convert(row: Setting, value: object) -> Value:
    try:
        if row.kind is bool:
            return _BOOLEANS[value if isinstance(value, bool) else str(value).lower()]
        if isinstance(value, bool) or value is None:
            raise ValueError
        if row.kind is int:
            if isinstance(value, float) and not value.is_integer():
                raise ValueError
            return int(value)  # type: ignore[call-overload, no-any-return]
        if row.kind is float:
            return float(value)  # type: ignore[arg-type]
        if not isinstance(value, str):
            raise ValueError
        return value
    except (ValueError, TypeError, OverflowError, KeyError):
        raise _wrong_type(row, value) from None


_WRONG_TYPE = {
    str: "setting.not_a_text",
    int: "setting.not_a_whole_number",
    float: "setting.not_a_number",
    bool: "setting.not_true_or_false",
}


def _wrong_type(row: Setting, value: object) -> BadSetting:
    return BadSetting(_WRONG_TYPE[row.kind], key=row.key, value=_shown(value))


def _shown(value: object) -> str:
    """The value as JSON has it."""
    return json.dumps(value, ensure_ascii=False, default=str)
