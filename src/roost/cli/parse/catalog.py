"""The verbs by name: their groups, other names for them, and the module that holds each."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

# In groups as the overview shows them. The one line about each is in its module.
GROUPS = (
    ("jobs", ("run", "submit", "ls", "show", "log", "why", "wait")),
    ("acting on jobs", ("kill", "pause", "resume", "hold", "release", "rerun", "preempt", "move", "start", "edit",
                        "clone", "rm", "clean", "archive")),
    ("sweeps and results", ("sweep", "sweep show", "sweep ls", "sweep extend", "sweep limit", "sweep kill", "sweep rerun",
                            "report")),
    ("being told", ("notify", "notify add", "notify ls", "notify test", "notify rm", "notify failures")),
    ("GPUs and scheduling", ("gpus", "top", "gpu", "drain", "undrain", "scheduler", "policy", "simulate", "set")),
    ("nodes", ("nodes", "node", "node show", "node add", "node check", "node rm", "node lost", "node trust", "node login")),
    ("yourself", ("user", "defaults", "defaults set", "defaults unset", "defaults clear", "login", "logout", "web",
                  "password", "token", "token new", "token ls", "token revoke")),
    ("everybody", ("users", "usage", "user show", "user add", "user del", "user lock", "user unlock", "user admin",
                   "user set", "user link", "notice", "audit")),
    ("the server", ("up", "down", "status", "install", "uninstall", "backup", "restore", "bench")),
    ("trying it out", ("sim-job", "sim-gpu")),
    ("this program", ("help", "completion", "version")),
)  # fmt: skip
VERBS = tuple(verb for _, verbs in GROUPS for verb in verbs)
ALIASES = {"list": "ls", "queue": "ls", "cancel": "kill", "logs": "log", "info": "show", "stop": "kill",
           "remove": "rm", "--version": "version", "-V": "version", "delete": "rm", "user ls": "users",
           "defaults show": "defaults", "user delete": "user del", "node ls": "nodes", "node list": "nodes",
           "node remove": "node rm", "node delete": "node rm", "node del": "node rm", "node drain": "drain",
           "node undrain": "undrain"}  # fmt: skip
# The package of a verb, by its first word; what is not here is about jobs.
_PACKAGES = {"sweep": "sweeps", "notify": "notify", "token": "tokens", "defaults": "defaults",
             **dict.fromkeys(("node", "nodes"), "nodes"),
             **dict.fromkeys(("gpus", "top", "gpu", "drain", "undrain"), "gpus"),
             **dict.fromkeys(("scheduler", "policy", "simulate", "set"), "scheduling"),
             **dict.fromkeys(("user", "users", "usage", "notice", "audit", "login", "logout", "web", "password"), "users"),
             **dict.fromkeys(("up", "down", "status", "install", "uninstall", "backup", "restore", "bench"), "server"),
             **dict.fromkeys(("sim-job", "sim-gpu"), "sim"),
             **dict.fromkeys(("help", "completion", "version"), "program")}  # fmt: skip


def verb_of(words: list[str]) -> tuple[str, list[str]]:
    """The verb that the words begin with, one word or two like `sweep show`, and the words behind it."""
    two = " ".join(words[:2])
    two = ALIASES.get(two, two) if len(words) > 1 else ""
    return (two, words[2:]) if two in VERBS else (ALIASES.get(words[0], words[0]), words[1:])


def load(name: str) -> "ModuleType":
    """The module of a verb."""
    package = _PACKAGES.get(name.partition(" ")[0], "jobs")
    stem = name.replace(" ", "_").replace("-", "_")
    module: ModuleType = __import__(f"roost.cli.verbs.{package}.{stem}", fromlist=("VERB",))
    return module
