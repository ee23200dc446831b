"""What a person submits, as a value, and what is wrong with it, in one line.

It comes over the API with its environment, or with the number of one that was sent beside it; the store keeps it without
(environments are kept apart, each once) and with the directory that was left open filled in. A node is told what
follows from it for one attempt (`start_message`), not the value itself. Pure.
"""

from collections.abc import Hashable
from functools import lru_cache
from itertools import dropwhile
from operator import attrgetter
from typing import Any, Literal

import msgspec

from roost.core.errors import BadRequest, RoostError, TooLarge
from roost.core.model import Conditions, Dependency, Request
from roost.core.notify_events import NONE, OF_A_JOB, check_events
from roost.core.users import check_user

MAX_ARGUMENT_BYTES = 131_071
"""The kernel's limit for one argument (MAX_ARG_STRLEN less the final NUL)."""
MAX_COMMAND_BYTES = 1_500_000
MAX_SCRIPT_BYTES = 4 << 20
MAX_GRACE_S = 86_400
MAX_RETRIES = 10_000
MAX_NAMES = 1000
"""Entries of each of `LISTS`."""
LISTS = ("labels", "gpu_ids", "prefer_gpus", "after", "after_any", "after_fail", "nodes", "prefer_nodes", "gpu_models")
NUMBERS = {
    "gpus": (0, 100_000),
    "mem_mib": (1, 1 << 40),
    "max_util": (0, 100),
    "min_gpu_mem_mib": (1, 1 << 40),
    "priority": (-1_000_000, 1_000_000),
    "time_limit_s": (1, 10**9),
    "warn_s": (0, 10**9),
    "grace_s": (0, MAX_GRACE_S),
    "umask": (0, 0o777),
    "retries": (0, MAX_RETRIES),
    "retry_oom": (0, MAX_RETRIES),
}
"""The smallest and the largest value of each number of a job."""
TEXTS = {"name": 200, "desc": 10_000, "cwd": 4096, "stdout": 4096, "stderr": 4096}
"""The longest that each text of a job may be."""
SIGNALS = ("HUP", "INT", "QUIT", "USR1", "USR2", "TERM", "CONT", "ABRT", "ALRM")


class JobSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A job as it was asked for."""

    command: list[str] | str
    script: str | None = None
    cwd: str | None = None
    env: dict[str, str] | int | None = None
    name: str | None = None
    desc: str | None = None
    labels: tuple[str, ...] = ()
    gpus: int = 1
    mem_mib: int | None = None
    max_util: int | None = None
    exclusive: bool = False
    gpu_ids: tuple[str | int, ...] = ()
    prefer_gpus: tuple[str | int, ...] = ()
    priority: int = 0
    hold: bool = False
    after: tuple[int, ...] = ()
    after_any: tuple[int, ...] = ()
    after_fail: tuple[int, ...] = ()
    begin_at: str | None = None
    time_limit_s: int | None = None
    warn_s: int | None = None
    warn_signal: str = "USR2"
    grace_s: int | None = None
    stdout: str | None = None
    stderr: str | None = None
    open: Literal["new", "append", "overwrite"] = "new"
    fill: bool = False
    umask: int | None = None
    nodes: tuple[str, ...] = ()
    prefer_nodes: tuple[str, ...] = ()
    gpu_models: tuple[str, ...] = ()
    min_gpu_mem_mib: int | None = None
    mem_auto: bool = False
    retries: int = 0
    retry_oom: int = 0
    preemptible: bool = False
    notify: tuple[str, ...] = ()
    """Events of this job that its user is notified of; empty: those of each of their targets; `none`: no events."""
    user: str | None = None
    """Whose job it is, for order and quotas, where several people share an account; None: the caller's."""
    sweep: int | None = None
    """The sweep that it is a point of, set by the server."""
    point: dict[str, str | int | float | bool | None] | None = None
    """The values of the sweep's parameters in this job."""

    def request(self) -> Request:
        """The part of it that the scheduler reads."""
        asked = Request(
            self.gpus,
            self.mem_mib,
            self.max_util,
            self.exclusive,
            tuple(map(str, self.gpu_ids)),
            tuple(map(str, self.prefer_gpus)),
            self.nodes,
            self.prefer_nodes,
            self.gpu_models,
            self.min_gpu_mem_mib,
            self.mem_auto,
        )
        return _PLAIN if asked == _PLAIN else asked

    def dependencies(self) -> tuple[Dependency, ...]:
        """The jobs it waits for, each with what it wants of them."""
        if not (self.after or self.after_any or self.after_fail):
            return ()
        wanted = (("success", self.after), ("any", self.after_any), ("failure", self.after_fail))
        return tuple(Dependency(job, wants) for wants, jobs in wanted for job in jobs)

    def conditions(self, begin_ms: int | None) -> Conditions:
        """What it waits for besides resources."""
        return Conditions(self.dependencies(), begin_ms)


_PLAIN = Request()


def display_command(spec: JobSpec) -> str:
    """The command in one line, for people: an argv is quoted as a shell would need it."""
    if isinstance(spec.command, str):
        return spec.command
    is_plain = _SAFE.issuperset("".join(spec.command)) and "" not in spec.command
    return " ".join(spec.command if is_plain else map(_quoted, spec.command))


_OF_A_SHELL = str.maketrans(dict.fromkeys(";&|()<>'\"`", " "))


def default_name(spec: JobSpec) -> str:
    """A name from the command: the script when an interpreter runs one, else the program."""
    words = spec.command
    if isinstance(words, str):
        words = words[:1000].translate(_OF_A_SHELL).split()
        words = list(dropwhile(lambda word: "=" in word, words))  # variables before the program
    base = [word.rpartition("/")[2] for word in words[:8]]
    if not base:
        return "job"
    if base[0].startswith(("python", "bash", "sh", "perl", "Rscript", "julia", "node")):
        script = next((word for word in base[1:] if not word.startswith("-")), "")
        if script and "-c" not in base:
            return script[:60]
    return base[0][:60] or "job"


def work_of(spec: JobSpec) -> str:
    """What it runs, without the values that change from run to run: program, script, names of arguments.

    Points of a sweep share one, and so do two runs that differ in a learning rate; predictions are made for this.
    """
    words = spec.command.replace("=", "= ").split()[:200] if isinstance(spec.command, str) else spec.command[:200]
    kept: list[str] = []
    for word in words:
        if not kept or kept[-1] == "-m" or ((word[:1] == "-" or "." in word) and _is_kept(word)):
            kept.append(_name_in(word))
    return " ".join(kept)[:120]


def _name_in(word: str) -> str:
    return word.partition("=")[0].rpartition("/")[2]


@lru_cache(1000)  # jobs of one file have the same few
def _is_kept(word: str) -> bool:
    """Whether it is a script, or the name of an argument."""
    name = _name_in(word)
    is_option = word.startswith("-") and (name.startswith("--") or not _is_number(name))
    return is_option or name.endswith((".py", ".sh", ".R", ".jl", ".pl", ".js"))


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


_OWN = ("command", "script", "env", "name", "desc", "point")
_rest_of = attrgetter(*(name for name in JobSpec.__struct_fields__ if name not in _OWN))


def check(spec: JobSpec, index: int | None = None, sound: set[Hashable] | None = None) -> None:
    """Raise `BadRequest` or `TooLarge` with one clear line when the values make no sense.

    `sound` remembers what was right besides commands and names: jobs of one file seldom differ in more.
    """
    try:
        _check_command(spec)
        for name in ("name", "desc"):
            if (text := getattr(spec, name)) is not None:
                _check_text(name, text, TEXTS[name])
        if isinstance(spec.env, dict):
            check_env(spec.env)
        rest = _rest_of(spec)
        if sound is not None and rest in sound:
            return
        _check_numbers(spec)
        _check_texts(spec)
        if sound is not None:
            sound.add(rest)
    except RoostError as error:
        error.index = index
        raise


def _check_command(spec: JobSpec) -> None:
    words = [spec.command] if isinstance(spec.command, str) else spec.command
    if not words or not words[0].strip():
        raise BadRequest("spec.no_command")
    if 4 * sum(map(len, words)) > MAX_ARGUMENT_BYTES:
        _check_sizes([len(w.encode("utf-8", "replace")) for w in words])
    if "\0" in "".join(words) or "\0" in (spec.script or ""):
        raise BadRequest("spec.nul_in_command")
    if spec.script is not None and len(spec.script.encode("utf-8", "replace")) > MAX_SCRIPT_BYTES:
        raise TooLarge("spec.script_too_long", most=MAX_SCRIPT_BYTES)
    if spec.script is not None and isinstance(spec.command, str):
        raise BadRequest("spec.script_with_line")


def _check_sizes(sizes: list[int]) -> None:
    if max(sizes) > MAX_ARGUMENT_BYTES:
        raise TooLarge("spec.argument_too_long", size=max(sizes), most=MAX_ARGUMENT_BYTES)
    if sum(sizes) > MAX_COMMAND_BYTES:
        raise TooLarge("spec.command_too_long", size=sum(sizes), most=MAX_COMMAND_BYTES)


_numbers_of = attrgetter(*NUMBERS)


def _check_numbers(spec: JobSpec) -> None:
    for value, (name, (low, high)) in zip(_numbers_of(spec), NUMBERS.items(), strict=True):
        if value is not None and not low <= value <= high:
            raise BadRequest("spec.out_of_range", name=name, low=low, high=high, value=value)
    _check_gpus(spec)
    if spec.warn_signal not in SIGNALS:
        raise BadRequest("spec.bad_signal", signal=repr(spec.warn_signal), known=SIGNALS)


def _check_gpus(spec: JobSpec) -> None:
    shares = spec.mem_mib is not None or spec.mem_auto
    if spec.gpus == 0 and (spec.gpu_ids or shares or spec.gpu_models or spec.min_gpu_mem_mib is not None):
        raise BadRequest("spec.gpu_wishes_without_gpus")
    if spec.exclusive and shares:
        raise BadRequest("spec.exclusive_and_mem")
    if spec.mem_mib is not None and spec.mem_auto:
        raise BadRequest("spec.mem_twice")
    if spec.gpu_ids and len(spec.gpu_ids) < spec.gpus:
        raise BadRequest("spec.too_few_gpu_ids", gpus=spec.gpus, named=len(spec.gpu_ids))


def _check_texts(spec: JobSpec) -> None:
    for name in ("cwd", "stdout", "stderr"):
        if (text := getattr(spec, name)) is not None:
            _check_text(name, text, TEXTS[name])
    for name in LISTS:
        if (count := len(getattr(spec, name))) > MAX_NAMES:
            raise BadRequest("spec.too_many", name=name, count=count, most=MAX_NAMES)
    _check_names("labels", spec.labels, ",", 200)
    if spec.user is not None:
        check_user(spec.user)
    if spec.notify and spec.notify != (NONE,):
        check_events(spec.notify, OF_A_JOB)
    _check_names("nodes", (*spec.nodes, *spec.prefer_nodes), ",", 255)
    _check_names("gpu_models", spec.gpu_models, ",|", 255)
    if spec.cwd is not None and not spec.cwd.startswith("/"):
        raise BadRequest("spec.relative_path", name="cwd", path=repr(spec.cwd))


def _check_names(name: str, entries: tuple[str, ...], separators: str, limit: int) -> None:
    for entry in entries:
        _check_text(name, entry, limit)
        if not entry.strip() or any(c in separators for c in entry):
            raise BadRequest("spec.bad_name", name=name, value=repr(entry), separators=list(separators))


def _check_text(name: str, text: str, limit: int) -> None:
    if len(text) > limit:
        raise BadRequest("spec.too_long", name=name, count=len(text), most=limit)
    if text.isprintable():
        return
    if any(ord(c) < 32 and c not in "\t\n" for c in text) or (name != "desc" and "\n" in text):
        raise BadRequest("spec.control_character", name=name, text=repr(text[:40]))


def check_env(env: dict[str, str]) -> None:
    """Raise when the environment could not be given to a process."""
    total = 0
    for key, value in env.items():
        if not key or "=" in key or "\0" in key or "\0" in value:
            raise BadRequest("spec.bad_variable", name=repr(key[:40]))
        size = len(key.encode("utf-8", "replace")) + len(value.encode("utf-8", "replace")) + 2
        if size > MAX_ARGUMENT_BYTES:
            raise TooLarge("spec.variable_too_long", name=key, size=size, most=MAX_ARGUMENT_BYTES)
        total += size
    if total > MAX_COMMAND_BYTES:
        raise TooLarge("spec.environment_too_long", size=total, most=MAX_COMMAND_BYTES)


_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_")


def _quoted(word: str) -> str:
    if word and (_SAFE.issuperset(word) or all(c in _SAFE or ord(c) > 127 for c in word)):
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"


NO_DEFAULTS = frozenset(
    {"command", "script", "env", "hold", "after", "after_any", "after_fail", "begin_at", "user", "sweep", "point"}
)
"""What belongs to one job and is never a personal default."""


def check_defaults(values: dict[str, Any]) -> JobSpec:
    """A job that has them; raises `BadRequest` unless these could be said of any."""
    for key in values:
        if key not in JobSpec.__struct_fields__ or key in NO_DEFAULTS:
            known = sorted(set(JobSpec.__struct_fields__) - NO_DEFAULTS)
            raise BadRequest("spec.not_a_default", name=repr(key), known=known)
    spec = with_defaults({"command": ["true"]}, values)
    check(spec)
    return spec


def with_defaults(asked: dict[str, Any], defaults: dict[str, Any]) -> JobSpec:
    """The job as it was asked for, and as its user's jobs are where it does not say."""
    try:
        return msgspec.convert({**fitting(defaults, asked), **asked}, JobSpec)
    except msgspec.ValidationError as error:
        raise BadRequest(str(error)) from None


def fitting(defaults: dict[str, Any], asked: dict[str, Any]) -> dict[str, Any]:
    """The defaults that do not contradict what was asked."""
    dropped: set[str] = set()
    if asked.get("gpus") == 0:
        dropped |= {"mem_mib", "mem_auto", "exclusive", "gpu_ids", "prefer_gpus", "gpu_models", "min_gpu_mem_mib"}
    if asked.get("exclusive"):
        dropped |= {"mem_mib", "mem_auto"}
    if asked.get("mem_mib") is not None or asked.get("mem_auto"):
        dropped |= {"mem_mib", "mem_auto", "exclusive"}
    if "gpus" in asked:
        dropped |= {"gpu_ids"}
    return {key: value for key, value in defaults.items() if key not in dropped}


def changed(spec: JobSpec, changes: dict[str, Any]) -> JobSpec:
    """The spec with some keys replaced, decoded as strictly as a new one."""
    data = {**msgspec.to_builtins(spec), **changes}
    return msgspec.convert(data, JobSpec)
