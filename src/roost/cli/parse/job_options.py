"""The options that describe a job, and the JobSpec keys that they become.

Shared by submit, run, edit, clone, script directives and the lines of `--from`. Pure but for `surroundings`, which
reads the directory, the environment and the umask of this process.
"""

import os

from roost.cli.parse import values
from roost.cli.parse.options import MANY, ONE, Any, Args, Iterable, Json, Mapping, Option, UsageError
from roost.client.paths import TOKEN_VARIABLE

_WHERE = "GPUs"
_WHO = "name and place"
_OUT = "output"
_WHEN = "order and time"

JOB_OPTIONS = (
    Option("-g --gpus", "how many GPUs (default 1; 0 runs on CPU slots)", ONE, "N", values.count, group=_WHERE),
    Option("-m --mem", "share GPUs: this much memory on each, like 8G; auto: what its like used before", ONE,
           "SIZE|auto", values.shared_memory, group=_WHERE),
    Option("--max-util", "only on GPUs at most this busy, in percent", ONE, "PERCENT", values.percent, group=_WHERE),
    Option("--exclusive", "no other process on the GPUs, all slots (default without --mem)", group=_WHERE),
    Option("--gpu-id", "exactly these GPUs: index, UUID or alias", MANY, "ID,…", values.items, group=_WHERE),
    Option("--prefer-gpu", "these GPUs if they are free", MANY, "ID,…", values.items, group=_WHERE),
    Option("--gpu-model", "only on GPUs of one of these models, as `roost gpus` shows them", MANY, "A100|H100",
           values.alternatives, group=_WHERE),
    Option("--min-gpu-mem", "only on GPUs with at least this much memory in all, free or not", ONE, "SIZE",
           values.least_memory, group=_WHERE),
    Option("--node", "only on one of these nodes; `any` takes back what a script said", MANY, "NODE,…", values.items,
           group=_WHERE),
    Option("--prefer-node", "on one of these nodes if there is room", MANY, "NODE,…", values.items, group=_WHERE),
    Option("--name", "name (default: from the command)", ONE, "NAME", group=_WHO),
    Option("--desc", "description", ONE, "TEXT", group=_WHO),
    Option("-l --label", "label, to select by; may be repeated", MANY, "LABEL", values.items, group=_WHO),
    Option("-C --cwd", "working directory (default: this one)", ONE, "DIR", group=_WHO),
    Option("--env", "set a variable; may be repeated", MANY, "NAME=VALUE", values.assignment, group=_WHO),
    Option("--export", "which of your variables the job gets: ALL (default), NONE, or names", ONE, "ALL|NONE|A,B",
           group=_WHO),
    Option("-o --output", "standard output to this file; %j id, %x name, %a attempt, %t time", ONE, "FILE",
           group=_OUT),
    Option("-e --error", "standard error to this file", ONE, "FILE", group=_OUT),
    Option("--append", "add to existing files", group=_OUT),
    Option("--overwrite", "replace existing files (default: refuse)", group=_OUT),
    Option("--merge", "standard error into standard output", group=_OUT),
    Option("--owner", "whose job it is, where one account serves several people", ONE, "NAME", group=_WHEN),
    Option("-p --priority", "higher goes first (default 0)", ONE, "N", values.integer, group=_WHEN),
    Option("--hold", "do not start before `roost release`", group=_WHEN),
    Option("--after", "start after these succeeded", MANY, "IDS", values.ids, group=_WHEN),
    Option("--after-any", "start after these ended", MANY, "IDS", values.ids, group=_WHEN),
    Option("--after-fail", "start after these failed", MANY, "IDS", values.ids, group=_WHEN),
    Option("--begin", "not before: 22:00, +2h, tomorrow 8:00, 2026-11-20 08:00", ONE, "TIME", values.begin,
           group=_WHEN),
    Option("-t --time", "time limit: 90s, 30m, 2h, 1-02:00:00; a bare number is minutes", ONE, "TIME", values.seconds,
           group=_WHEN),
    Option("--warn", "warn with a signal this long before the limit (default 90s)", ONE, "TIME", values.seconds,
           group=_WHEN),
    Option("--warn-signal", "that signal (default USR2)", ONE, "SIGNAL", group=_WHEN),
    Option("--grace", "time between TERM and KILL (default 30s)", ONE, "TIME", values.seconds, group=_WHEN),
    Option("--retries", "try again this often after a failure (default 0)", ONE, "N", values.count, group=_WHEN),
    Option("--retry-oom", "try again this often after out of memory, alone on the GPU or on a larger one", ONE, "N",
           values.count, group=_WHEN),
    Option("--preemptible", "it may be asked to make room: TERM, the grace, and then it waits again", group=_WHEN),
    Option("--notify", "be told of: start, end, fail, kill, timeout, lost, oom, idle; or none", MANY, "EVENT,…",
           values.items, group=_WHEN),
    Option("--fill", "fill in {gpus} {gpu} {port} {job} in the command", group=_WHEN),
    Option("--without", "not with these of your `roost defaults`: mem,time, or all", MANY, "KEY,…", values.items,
           group=_WHEN),
)  # fmt: skip

# What a job needs to find its way when it is to inherit nothing.
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

# What can be a default of a user's: every option of a job but those that belong to one job alone.
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


def spec_of(args: Args) -> Json:
    """The JobSpec keys that were asked for; nothing that was not. Dependencies still as they were typed."""
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
        raise UsageError("--append and --overwrite exclude one another")
    if given["append"] or given["overwrite"]:
        spec["open"] = "append" if given["append"] else "overwrite"
    if given["merge"]:
        if given["error"] is not None:
            raise UsageError("--merge and --error exclude one another")
        spec["stderr"] = "stdout"
    if given["cwd"] is not None:
        spec["cwd"] = os.path.abspath(given["cwd"])
    return spec


def _settle_words(spec: Json) -> None:
    """Put what `auto` and `any` mean in their place."""
    if spec.get("mem_mib") == values.AUTO:
        del spec["mem_mib"]
        spec["mem_auto"] = True
    if spec.get("min_gpu_mem_mib") == 0:
        spec["min_gpu_mem_mib"] = None
    for key in ("gpu_models", "nodes", "prefer_nodes"):
        if key in spec:
            spec[key] = values.since_any(spec[key])


def option_of(word: str) -> Option:
    """The option that a key names: `mem`, `gpu-id` or `gpu_id`, `labels`."""
    name = word.strip().lstrip("-").replace("_", "-")
    found = DEFAULT_OPTIONS.get(name) or DEFAULT_OPTIONS.get(name.removesuffix("s"))
    if found is None:
        raise UsageError(f"{word}: no default is called so", f"these can be: {', '.join(DEFAULT_OPTIONS)}")
    return found


def api_keys(word: str) -> tuple[str, ...]:
    """The keys of a JobSpec that are meant by it."""
    return API_KEYS[option_of(word).dest]


def left_out(words: "Iterable[str]") -> Json:
    """What a job says that is not to have these defaults: what Roost does by itself."""
    names = [name for word in words for name in (DEFAULT_OPTIONS if word == "all" else (word,))]
    return {key: _PLAIN.get(key) for name in names for key in api_keys(name)}


def environment(
    export: str | None, assignments: "Iterable[str]", base: "Mapping[str, str]"
) -> tuple[dict[str, str], list[str]]:
    """The job's variables, and the names of those left out because they are not UTF-8."""
    if export is None or export == "ALL":
        env = {name: value for name, value in base.items() if name != TOKEN_VARIABLE}  # a job is no place for a secret
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
    """True when it can be sent: arguments that are not UTF-8 come in as lone surrogates."""
    if text.isascii():
        return True
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def current_directory() -> str:
    """Where we are; a deleted directory is said so."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise UsageError("the current directory no longer exists", "cd somewhere else, or say --cwd DIR") from None


def current_umask() -> int:
    """The umask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def check_text(spec: "Mapping[str, Any]") -> None:
    """Refuse words that JSON cannot carry, in one clear line."""
    for key, value in spec.items():
        for word in value if isinstance(value, list) else (value,):
            if isinstance(word, str):
                if not is_text(word):
                    shown = word.encode("utf-8", "surrogateescape")[:60]
                    raise UsageError(f"{key} is not UTF-8: {shown!r}", "rename it, or put the command in a script")
                if "\0" in word:
                    raise UsageError(f"{key} has a NUL byte")


def minutes_said_back(args: Args) -> list[str]:
    """Lines that say in words what a bare number was taken for."""
    return [
        f"--{name} {value / 60:g} means {values.in_words(value)}"
        for name in ("time", "warn", "grace")
        if isinstance(value := args.__dict__.get(name), values.BareMinutes)
    ]
