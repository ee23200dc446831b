"""The verbs by name: their groups, other names for them, and the module that holds each."""

from roost.cli.parse.options import Any, TableVerb

# In groups as the overview shows them. The one line about each is in its module.
GROUPS = (
    ("jobs", ("run", "submit", "ls", "show", "log", "why", "wait")),
    ("job actions", ("kill", "pause", "resume", "hold", "release", "rerun", "preempt", "move", "start", "edit",
                        "clone", "rm", "clean", "archive")),
    ("sweeps and results", ("sweep", "sweep show", "sweep ls", "sweep extend", "sweep limit", "sweep kill", "sweep rerun",
                            "report")),
    ("notifications", ("notify", "notify add", "notify ls", "notify test", "notify rm", "notify failures")),
    ("GPUs and scheduling", ("gpus", "top", "gpu", "drain", "undrain", "scheduler", "policy", "simulate", "set")),
    ("nodes", ("nodes", "node", "node show", "node add", "node check", "node rm", "node lost", "node trust", "node login")),
    ("your account", ("user", "defaults", "defaults set", "defaults unset", "defaults clear", "login", "logout", "web",
                  "password", "token", "token new", "token ls", "token revoke")),
    ("all users", ("users", "usage", "user show", "user add", "user del", "user lock", "user unlock", "user admin",
                   "user set", "user link", "notice", "audit")),
    ("the server", ("up", "down", "status", "doctor", "install", "uninstall", "backup", "restore", "bench")),
    ("simulation", ("sim-job", "sim-gpu")),
    ("other", ("help", "completion", "version")),
)  # fmt: skip
VERBS = tuple(verb for _, verbs in GROUPS for verb in verbs)
ALIASES = {"list": "ls", "queue": "ls", "cancel": "kill", "logs": "log", "info": "show", "stop": "kill",
           "remove": "rm", "--version": "version", "-V": "version", "delete": "rm", "user ls": "users",
           "defaults show": "defaults", "user delete": "user del", "node ls": "nodes", "node list": "nodes",
           "node remove": "node rm", "node delete": "node rm", "node del": "node rm", "node drain": "drain",
           "node undrain": "undrain"}  # fmt: skip
# The package of a verb below `verbs`, by its name or its first word; verbs that are not listed are in `jobs`.
_PLACES = {"sweep": "sweeps", "notify": "notify", "token": "tokens", "node": "nodes", "nodes": "nodes", "user": "users",
           **dict.fromkeys(("gpus", "top", "gpu", "drain", "undrain"), "gpus"),
           **dict.fromkeys(("scheduler", "policy", "simulate", "set"), "scheduling"),
           **dict.fromkeys(("users", "usage", "notice", "audit", "login", "logout", "web", "password"), "users"),
           **dict.fromkeys(("up", "down", "status", "doctor", "install", "uninstall"), "server"),
           **dict.fromkeys(("backup", "restore", "bench"), "server"),
           **dict.fromkeys(("sim-job", "sim-gpu"), "sim"),
           **dict.fromkeys(("help", "completion", "version"), "program")}  # fmt: skip
# The verbs that are rows of a table, and the module that has it.
_TABLES = {**dict.fromkeys(("pause", "resume", "hold", "release", "rerun", "preempt", "start", "rm"), "jobs.simple_actions"),
           **dict.fromkeys(("sweep kill", "sweep limit", "sweep rerun"), "sweeps.sweep_actions"),
           **dict.fromkeys(("edit", "clone"), "jobs.job_changes"),
           **dict.fromkeys(("notify test", "notify rm"), "notify.notify_actions"),
           **dict.fromkeys(("drain", "undrain"), "gpus.drain"),
           **dict.fromkeys(("node rm", "node lost", "node trust"), "nodes.node_actions"),
           **dict.fromkeys(("defaults", "defaults set", "defaults unset", "defaults clear"), "defaults.defaults"),
           **dict.fromkeys(("user lock", "user unlock", "user admin", "user link"), "users.user_actions"),
           **dict.fromkeys(("node", "notify", "token", "user"), "first_words")}  # fmt: skip


def verb_of(words: list[str]) -> tuple[str, list[str]]:
    """The verb at the start of the words, one word or two like `sweep show`, and the words after it."""
    two = " ".join(words[:2])
    two = ALIASES.get(two, two) if len(words) > 1 else ""
    return (two, words[2:]) if two in VERBS else (ALIASES.get(words[0], words[0]), words[1:])


def load(name: str) -> "TableVerb":
    """The verb of that name: a module with `VERB` and `run`, or a row of a table with the same."""
    table = _TABLES.get(name)
    place = _PLACES.get(name.partition(" ")[0], "jobs")
    path = table or f"{place}.{name.replace(' ', '_').replace('-', '_')}"
    module: Any = __import__(f"roost.cli.verbs.{path}", fromlist=("VERB",))
    verb: TableVerb = module.TABLE[name] if table else module
    return verb
