"""From a word to a verb: the list of verbs, and the call of one."""

from roost.cli.options import HelpAsked, UsageError, parse
from roost.client.errors import RoostError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType

# Verb, module, in groups as the overview shows them. The one line about each is in its module.
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
_MODULES = {"set": "settings", "help": "helping", "sim-job": "sim_job", "sim-gpu": "sim_gpu"}


def dispatch(words: list[str]) -> int:
    """Run the verb that the words name."""
    if not words or words[0] in ("-h", "--help"):
        from roost.cli.helping import overview

        print(overview())
        return 0
    name, argv = verb_of(words)
    if name not in VERBS or _is_former(words):
        raise _unknown(name, words)
    module = load(name)
    if argv and not (module.VERB.operands or argv[0].startswith("-")) and _parts(name):
        raise _unknown_part(name, argv[0])
    try:
        args = parse(module.VERB, argv)
    except HelpAsked:
        from roost.cli.parsers import help_text

        print(help_text(module.VERB), end="")
        return 0
    except UsageError as error:
        error.hint = error.hint or f"roost {name} --help"
        raise
    try:
        code: int = module.run(args)
    except RoostError as error:
        from roost.cli.failures import report

        return report(error, as_json=args.json)
    return code


def verb_of(words: list[str]) -> tuple[str, list[str]]:
    """The verb that the words begin with, one word or two like `sweep show`, and the words behind it."""
    two = " ".join(words[:2])
    two = ALIASES.get(two, two) if len(words) > 1 else ""
    return (two, words[2:]) if two in VERBS else (ALIASES.get(words[0], words[0]), words[1:])


def load(name: str) -> "ModuleType":
    """The module of a verb."""
    module: ModuleType = __import__("roost.cli." + _MODULES.get(name, name.replace(" ", "_")), fromlist=("VERB",))
    return module


def _is_former(words: list[str]) -> bool:
    """`remove device` and the like: not a job named device."""
    return words[:1] in (["remove"], ["add"]) and words[1:2] in (["device"], ["node"], ["server"])


def _parts(name: str) -> list[str]:
    """The second words that may follow: `add`, `show`, …"""
    return [verb.partition(" ")[2] for verb in (*VERBS, *ALIASES) if verb.startswith(name + " ")]


def _unknown_part(name: str, word: str) -> UsageError:
    from difflib import get_close_matches

    close = get_close_matches(word, _parts(name), 1)
    return UsageError(
        f"no such verb: {name} {word}", f"did you mean: roost {name} {close[0]}?" if close else f"roost {name} --help"
    )


def _unknown(name: str, words: list[str]) -> UsageError:
    from difflib import get_close_matches

    from roost.cli.former import FORMER, TWO_WORDS

    two = " ".join(words[:2])
    if two in TWO_WORDS:
        return UsageError(f"no such verb: {two}", f"here that is: roost {TWO_WORDS[two]}")
    if name in FORMER:
        return UsageError(f"no such verb: {name}", f"here that is: roost {FORMER[name]}")
    close = get_close_matches(name, [*VERBS, *ALIASES], 1)
    hint = f"did you mean: roost {close[0]}?" if close else "roost help"
    return UsageError(f"no such verb: {name}", hint)
