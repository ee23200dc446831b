"""Every live setting in one table: its key, default, range and meaning. `roost set` lists exactly this."""

from collections.abc import Callable

import msgspec

from roost.core.networks import networks

Value = str | int | float | bool | None


class Setting(msgspec.Struct, frozen=True):
    """One row of the table."""

    key: str
    default: Value
    meaning: str
    range: tuple[float, float] | tuple[None, None] = (None, None)
    choices: tuple[str, ...] = ()
    fits: Callable[[str], object] | None = None
    """Raises ValueError with the reason when a text is none that it takes."""

    @property
    def kind(self) -> type:
        """What its values are: the same as its default."""
        return type(self.default)


TABLE: tuple[Setting, ...] = (
    Setting("policy", "swift", "in which order waiting jobs are looked at"),
    Setting(
        "policy.alpha",
        8.0,
        "swift: a job's target start is its submit plus so many times its probable run time; 0: first come first served",
        (0, 10_000),
    ),
    Setting(
        "policy.fairness_s",
        20_000,
        "swift: how far the jobs of a user go back who holds twice his part of the GPUs",
        (0, 10_000_000),
    ),
    Setting(
        "policy.evenness_s",
        40_000,
        "swift: how far the jobs of a user who fared worse than others lately go ahead, and of one who fared better, back",
        (0, 10_000_000),
    ),
    Setting(
        "policy.patience_s",
        3600,
        "a job that needs several GPUs at once waits so long before any are kept free for it",
        (0, 10_000_000),
    ),
    Setting("policy.purse", 0.02, "part of all GPU time that may be kept idle for such jobs; 0: never", (0, 0.5)),
    Setting("mem.margin", 0.15, "what `--mem auto` adds to the most that earlier runs used", (0, 10)),
    Setting("queue.max", 0, "jobs that may wait at once, held ones too; 0: any number", (0, 1 << 40)),
    Setting("cpu.slots", 0, "jobs without a GPU that may run at once on a node; 0: one a core", (0, 100_000)),
    Setting("safety.host_mem", 0.02, "part of a node's memory that must be available for anything to start", (0, 0.95)),
    Setting("safety.gpu_mem", 0.0, "part of a GPU's memory that sharing jobs may not take", (0, 0.95)),
    Setting("job.grace_s", 30, "seconds between TERM and KILL, unless the job says otherwise", (0, 86_400)),
    Setting(
        "job.evict_s",
        60,
        "seconds after the grace at which a root server ends a run itself that its account's program does not end",
        (1, 86_400),
    ),
    Setting("job.warn_s", 90, "seconds before a time limit at which the warning signal comes; 0: none", (0, 86_400)),
    Setting(
        "preempt.min_run_s", 600, "seconds that a preemptible job may run before it can be asked to make room", (0, 10**9)
    ),
    Setting("log.max_mib", 1024, "size past which the middle of a job's own log is dropped; 0: never", (0, 1 << 30)),
    Setting(
        "log.keep_mib",
        16,
        "how much of each log of an ended run on another node is copied to the server, its first and its last; 0: nothing",
        (0, 1 << 20),
    ),
    Setting(
        "log.keep_total_mib",
        20_480,
        "how much all these copies may take on the server's disk; the oldest go first",
        (0, 1 << 30),
    ),
    Setting("ls.recent_h", 24, "hours for which `roost ls` shows an ended job", (0, 100_000)),
    Setting(
        "archive.keep", 0, "ended jobs to keep; older ones move to the archive file by themselves; 0: all", (0, 1 << 40)
    ),
    Setting("node.sample_ms", 500, "how often a node with running jobs reads its GPUs", (50, 600_000)),
    Setting("node.retry_s", 30.0, "longest pause between two attempts to reach a node; they grow up to it", (0.1, 86_400)),
    Setting(
        "node.lost_s",
        3600,
        "seconds after which the jobs of a node that cannot be reached are lost; 0: never by themselves",
        (0, 10**9),
    ),
    Setting("notify.enabled", True, "whether people are told what they asked to be told, see `roost notify`"),
    Setting("notify.idle_min", 30.0, "minutes of no use of a GPU after which its holder is told", (0.001, 100_000)),
    Setting("notify.free_s", 30.0, "seconds that nobody uses or waits for a GPU before it is told as free", (0, 86_400)),
    Setting("notify.log_lines", 20, "last lines of a job's log in a message; 0: none", (0, 200)),
    Setting(
        "notify.retry_s",
        10.0,
        "pause after a message could not be sent; the next ones are 3, 12, 60 and 360 times as long",
        (0.001, 86_400),
    ),
    Setting(
        "http.proxies",
        "",
        "addresses or networks, with commas between, of reverse proxies whose X-Forwarded headers are believed",
        fits=networks,
    ),
    Setting(
        "job.max_priority",
        1_000_000,
        "the highest priority that somebody who is no administrator may give a job",
        (-1_000_000, 1_000_000),
    ),
    Setting("users.private", False, "whether commands, names and labels of others' jobs are hidden"),
    Setting(
        "users.admit",
        "everybody",
        "who of this machine a root server serves: everybody, or only those added with `roost user add`",
        choices=("everybody", "known"),
    ),
    Setting("login.session_h", 168, "hours after which a browser must log in again", (1, 100_000)),
    Setting(
        "login.pam",
        "",
        "PAM service that checks the passwords of UNIX accounts at a login from elsewhere, like `login`; empty: none",
    ),
    Setting("http.rate", 100, "requests a second that one user may make, after a burst", (1, 1_000_000)),
    Setting("http.burst", 2000, "requests that one user may make at once", (1, 1_000_000)),
    Setting("audit.keep_days", 730, "days for which the audit is kept; 0: for ever", (0, 100_000)),
    Setting("disk.min_mib", 64, "free disk space under which nothing new is accepted", (0, 1 << 30)),
)

BY_KEY = {row.key: row for row in TABLE}
_UNITS = {"ms": "ms", "s": "s", "min": "min", "h": "h", "days": "d", "mib": "MiB"}
DEFAULTS: dict[str, Value] = {row.key: row.default for row in TABLE}


def unit_of(key: str) -> str | None:
    """What a setting is counted in, which is the end of its name; None: a bare number, or none at all."""
    return _UNITS.get(key.rpartition("_")[2]) if "_" in key else None


class BadSetting(ValueError):
    """The key is unknown or the value does not fit; the message says what does."""


def check(key: str, value: object) -> Value:
    """The value as that setting holds it, or `BadSetting`."""
    row = BY_KEY.get(key)
    if row is None:
        raise BadSetting(f"no setting named {key!r}; `roost set` lists them")
    converted = _convert(row, value)
    low, high = row.range
    if low is not None and high is not None and isinstance(converted, (int, float)) and not low <= converted <= high:
        raise BadSetting(f"{key} must lie between {low:g} and {high:g}, not {converted}")
    if row.choices and converted not in row.choices:
        raise BadSetting(f"{key} is one of {', '.join(row.choices)}, not {converted!r}")
    if row.fits is not None:
        try:
            row.fits(str(converted))
        except ValueError as error:
            raise BadSetting(f"{key}: {error}") from None
    return converted


def check_type(key: str, value: object) -> None:
    """Raise `BadSetting` when a program sends a number, or yes and no, as a text: only people's words are read so kindly."""
    row = BY_KEY.get(key)
    if row is not None and (isinstance(value, str) != (row.kind is str) or isinstance(value, bool) != (row.kind is bool)):
        raise BadSetting(f"{key} takes {_KINDS[row.kind]}, not {value!r}")


_KINDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
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
        raise BadSetting(f"{row.key} takes {_KINDS[row.kind]}, not {value!r}") from None
