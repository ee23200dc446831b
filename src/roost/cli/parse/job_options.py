"""The options that describe a job, and their JobSpec keys.

Shared by submit, run, edit, clone, script directives and the lines of `--from`.
"""

import os

from roost.cli.parse import values
from roost.cli.parse.options import MANY, ONE, Any, Args, Iterable, Json, Mapping, Option, UsageError
from roost.client.paths import TOKEN_VARIABLE

_WHERE = "GPUs"
_WHO = "name and environment"
_OUT = "output"
_WHEN = "order and time"

JOB_OPTIONS = (
    Option("-g --gpus", "number of GPUs (default 1; 0 uses a CPU slot)", ONE, "N", values.count, group=_WHERE),
    Option("-m --mem", "share GPUs: memory on each, like 8G; auto: what similar jobs used", ONE,
           "SIZE|auto", values.shared_memory, group=_WHERE),
    Option("--max-util", "only on GPUs with at most this utilization", ONE, "PERCENT", values.percent, group=_WHERE),
    Option("--exclusive", "do not share the GPUs (default without --mem)", group=_WHERE),
    Option("--gpu-id", "only these GPUs: index, UUID or alias", MANY, "ID,…", values.items, group=_WHERE),
    Option("--prefer-gpu", "preferred GPUs, if they are free", MANY, "ID,…", values.items, group=_WHERE),
    Option("--gpu-model", "only on one of these models, named as in `roost gpus`", MANY, "A100|H100",
           values.alternatives, group=_WHERE),
    Option("--min-gpu-mem", "only on GPUs with at least this much total memory", ONE, "SIZE",
           values.least_memory, group=_WHERE),
    Option("--node", "only on one of these nodes; `any` cancels a script's choice", MANY, "NODE,…", values.items,
           group=_WHERE),
    Option("--prefer-node", "preferred nodes, if there is room", MANY, "NODE,…", values.items, group=_WHERE),
    Option("--name", "job name (default: from the command)", ONE, "NAME", group=_WHO),
    Option("--desc", "description", ONE, "TEXT", group=_WHO),
    Option("-l --label", "label, for selecting jobs; may be repeated", MANY, "LABEL", values.items, group=_WHO),
    Option("-C --cwd", "working directory (default: the current one)", ONE, "DIR", group=_WHO),
    Option("--env", "set an environment variable; may be repeated", MANY, "NAME=VALUE", values.assignment, group=_WHO),
    Option("--export", "environment variables to pass: ALL (default), NONE, or names", ONE, "ALL|NONE|A,B",
           group=_WHO),
    Option("-o --output", "write standard output to this file; %j job id, %x name, %a attempt, %t time", ONE, "FILE",
           group=_OUT),
    Option("-e --error", "write standard error to this file", ONE, "FILE", group=_OUT),
    Option("--append", "append to existing files", group=_OUT),
    Option("--overwrite", "overwrite existing files (default: fail)", group=_OUT),
    Option("--merge", "write standard error to standard output", group=_OUT),
    Option("--owner", "owner of the job, if several people share one account", ONE, "NAME", group=_WHEN),
    Option("-p --priority", "higher priority starts first (default 0)", ONE, "N", values.integer, group=_WHEN),
    Option("--hold", "do not start until `roost release`", group=_WHEN),
    Option("--after", "start after these jobs succeeded", MANY, "IDS", values.ids, group=_WHEN),
    Option("--after-any", "start after these jobs ended", MANY, "IDS", values.ids, group=_WHEN),
    Option("--after-fail", "start after these jobs failed", MANY, "IDS", values.ids, group=_WHEN),
    Option("--begin", "earliest start: 22:00, +2h, tomorrow 8:00, 2026-11-20 08:00", ONE, "TIME", values.begin,
           group=_WHEN),
    Option("-t --time", "time limit: 90s, 30m, 2h, 1-02:00:00; a number alone is minutes", ONE, "TIME", values.seconds,
           group=_WHEN),
    Option("--warn", "send a warning signal this long before the time limit (default 90s)", ONE, "TIME", values.seconds,
           group=_WHEN),
    Option("--warn-signal", "the warning signal (default USR2)", ONE, "SIGNAL", group=_WHEN),
    Option("--grace", "time between SIGTERM and SIGKILL (default 30s)", ONE, "TIME", values.seconds, group=_WHEN),
    Option("--retries", "retries after a failure (default 0)", ONE, "N", values.count, group=_WHEN),
    Option("--retry-oom", "retries after running out of memory, alone on the GPU or on a larger one", ONE, "N",
           values.count, group=_WHEN),
    Option("--preemptible", "the job can be preempted: it gets SIGTERM and is queued again", group=_WHEN),
    Option("--notify", "events to notify about: start, end, fail, kill, timeout, lost, oom, idle; or none", MANY, "EVENT,…",
           values.items, group=_WHEN),
    Option("--fill", "replace {gpus} {gpu} {port} {job} in the command", group=_WHEN),
    Option("--without", "ignore these of your `roost defaults`: mem,time, or all", MANY, "KEY,…", values.items,
           group=_WHEN),
)  # fmt: skip

# Variables that a job gets even with --export NONE.
_BASIC_VARIABLES = ("HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TZ", "USER")

FLAGS = ("exclusive", "hold", "preemptible", "fill")
SPEC_KEYS = (
    ("gpus", "gpus"),
    ("mem", "mem_mib"),
    ("max_util", "max_util"),
    ("gpu_id", "gpu_ids"),
    ("prefer_gpu", "prefer_gpus"),
    ("gpu_model", "gpu_models"),
    ("min_gpu_mem", "min_gpu_mem_mib"),
    ("node", "nodes"),
    ("prefer_node", "prefer_nodes"),
    ("name", "name"),
    ("desc", "desc"),
    ("label", "labels"),
    ("priority", "priority"),
    ("owner", "user"),
    ("begin", "begin_at"),
    ("time", "time_limit_s"),
    ("warn", "warn_s"),
    ("warn_signal", "warn_signal"),
    ("grace", "grace_s"),
    ("retries", "retries"),
    ("retry_oom", "retry_oom"),
    ("notify", "notify"),
    ("output", "stdout"),
    ("error", "stderr"),
)

# Options that can be a user's default: all job options except those that only make sense for one job.
_OF_ONE_JOB = ("owner", "hold", "after", "after_any", "after_fail", "begin", "env", "export", "cwd", "without")
DEFAULT_OPTIONS = {o.names[-1][2:]: o for o in JOB_OPTIONS if o.dest not in _OF_ONE_JOB}
API_KEYS = {
    **{option: (key,) for option, key in SPEC_KEYS},
    **{flag: (flag,) for flag in FLAGS},
    "mem": ("mem_mib", "mem_auto"),
    "append": ("open",),
    "overwrite": ("open",),
    "merge": ("stderr",),
}
_PLAIN: Json = {
    "gpus": 1,
    "priority": 0,
    "retries": 0,
    "retry_oom": 0,
    "warn_signal": "USR2",
    "open": "new",
    "mem_auto": False,
    **dict.fromkeys(FLAGS, False),
    **{key: [] for key in ("labels", "gpu_ids", "prefer_gpus", "nodes", "prefer_nodes", "gpu_models", "notify")},
}


def spec_of(args: Args, here: str = "") -> Json:
    """The JobSpec keys of the given options. Dependencies are still unresolved text; directories are relative to `here`, or
    to the directory of this process."""
    given = args.__dict__
    spec = {key: given[name] for name, key in SPEC_KEYS if given[name] is not None}
    if given["without"]:
        spec = {**left_out(given["without"]), **spec}
    for flag in FLAGS:
        if given[flag]:
            spec[flag] = True
    for name in ("after", "after_any", "after_fail"):
        if given[name]:
            spec[name] = given[name]
    _settle_words(spec)
    if spec.get("gpu_ids") and "gpus" not in spec:
        spec["gpus"] = len(spec["gpu_ids"])
    if given["append"] and given["overwrite"]:
        raise UsageError("cli.append_overwrite")
    if given["append"] or given["overwrite"]:
        spec["open"] = "append" if given["append"] else "overwrite"
    if given["merge"]:
        if given["error"] is not None:
            raise UsageError("cli.merge_error")
        spec["stderr"] = "stdout"
    if given["cwd"] is not None:
        spec["cwd"] = os.path.abspath(os.path.join(here, given["cwd"]))
    return spec


def _settle_words(spec: Json) -> None:
    """Replace `auto` and `any` by their JobSpec values."""
    if spec.get("mem_mib") == values.AUTO:
        del spec["mem_mib"]
        spec["mem_auto"] = True
    if spec.get("min_gpu_mem_mib") == 0:
        spec["min_gpu_mem_mib"] = None
    for key in ("gpu_models", "nodes", "prefer_nodes"):
        if key in spec:
            spec[key] = values.since_any(spec[key])


def option_of(word: str) -> Option:
    """The option for a key: `mem`, `gpu-id` or `gpu_id`, `labels`."""
    name = word.strip().lstrip("-").replace("_", "-")
    found = DEFAULT_OPTIONS.get(name) or DEFAULT_OPTIONS.get(name.removesuffix("s"))
    if found is None:
        raise UsageError("cli.not_a_default", word=word, default_options=", ".join(DEFAULT_OPTIONS))
    return found


def api_keys(word: str) -> tuple[str, ...]:
    """The JobSpec keys for a default's name."""
    return API_KEYS[option_of(word).dest]


def left_out(words: "Iterable[str]") -> Json:
    """Keys that cancel these defaults: each set to Roost's own default."""
    names = [name for word in words for name in (DEFAULT_OPTIONS if word == "all" else (word,))]
    return {key: _PLAIN.get(key) for name in names for key in api_keys(name)}


def environment(
    export: str | None, assignments: "Iterable[str]", base: "Mapping[str, str]"
) -> tuple[dict[str, str], list[str]]:
    """The job's environment, and the names of variables that were dropped because they are not UTF-8."""
    if export is None or export == "ALL":
        env = {name: value for name, value in base.items() if name != TOKEN_VARIABLE}  # jobs must not get the token
    else:
        names = _BASIC_VARIABLES if export == "NONE" else (*_BASIC_VARIABLES, *values.items(export))
        env = {name: base[name] for name in names if name in base}
    for text in assignments:
        name, equals, value = text.partition("=")
        if equals:
            env[name] = value
        elif name in base:
            env[name] = base[name]
    strange = [name for name, value in env.items() if not (is_text(name) and is_text(value))]
    for name in strange:
        del env[name]
    return env, strange


def is_text(text: str) -> bool:
    """Whether the text is valid Unicode: arguments that are not UTF-8 contain lone surrogates."""
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def current_directory() -> str:
    """The current directory; a UsageError if it was deleted."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise UsageError("cli.no_directory") from None


def current_umask() -> int:
    """The umask. Reading it means setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def check_text(spec: "Mapping[str, Any]") -> None:
    """Refuse texts that JSON cannot represent."""
    for key, value in spec.items():
        for word in value if isinstance(value, list) else (value,):
            if isinstance(word, str):
                if not is_text(word):
                    shown = word.encode("utf-8", "surrogateescape")[:60]
                    raise UsageError("cli.not_utf8", key=key, shown=repr(shown))
                if "\0" in word:
                    raise UsageError("cli.nul", key=key)


def minutes_said_back(args: Args) -> list[str]:
    """A line for each number without a unit: how it was interpreted."""
    return [
        _minutes(name, value)
        for name in ("time", "warn", "grace")
        if isinstance(value := args.__dict__.get(name), values.BareMinutes)
    ]


def _minutes(name: str, value: int) -> str:
    from roost.messages.terminal import say

    return say("cli.minutes", name=name, n=f"{value / 60:g}", time=values.in_words(value))
