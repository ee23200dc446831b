"""roost doctor: check server, machine and nodes, and print the command that fixes each problem."""

from roost import __version__
from roost.cli.parse.options import JSON, Args, Json, Verb
from roost.cli.runtime.connect import explained, server
from roost.cli.text.output import clean, print_json, screen, write
from roost.cli.verbs.nodes.node_check import brief_lines, check_all, lines
from roost.cli.verbs.server.diagnosis import local_checks, verdict
from roost.client import paths
from roost.client.client import Roost
from roost.client.errors import EXIT_FAILED, ApiError, ServerUnreachable

VERB = Verb(
    "doctor",
    "check server, machine and nodes; say how to fix problems",
    options=(JSON,),
    examples=(
        ("roost doctor", "✓ is good, ✗ needs fixing, ? is unknown or optional"),
        ("sudo roost doctor", "the machine's server"),
    ),
    about="Without a running server it checks what it can. Administrators also see the\n"
    "checks of all nodes. The exit code is 1 if something needs fixing.",
)


def run(args: Args) -> int:
    """Check everything, and print it."""
    roost = server()
    status, checks = _server(roost)
    nodes: list[Json] = []
    if status is not None:
        checks += _health(status) + _settings(roost, status)
        nodes = _nodes(roost, status)
    if "://" not in roost.address:
        home = status["server"]["home"] if status is not None else paths.home()
        checks += local_checks(home, status)
    ok = all(each["ok"] is not False for each in checks) and all(node["ok"] for node in nodes)
    if args.json:
        print_json({"version": 1, "ok": ok, "checks": checks, "nodes": nodes})
    else:
        shown = screen()
        write([*lines({"checks": checks}, shown), *(line for node in nodes for line in brief_lines(node, shown))])
    return 0 if ok else EXIT_FAILED


def _server(roost: Roost) -> "tuple[Json | None, list[Json]]":
    """The server's status, and the checks of server and versions."""
    try:
        status = roost.status()
    except ServerUnreachable as error:
        error = explained(error)
        return None, [{"name": "server", "ok": False, "text": error.message, "hint": error.hint}]
    about = status["server"]
    found = [verdict("server", True, "check.doctor_server", address=roost.address, pid=about["pid"])]
    code = "check.doctor_version" if about["version"] == __version__ else "check.doctor_version_skew"
    found.append(verdict("version", code == "check.doctor_version", code, own=__version__, server=about["version"]))
    own = next((node["program"] for node in status["nodes"] if not node["target"]), None)
    old = [node["name"] for node in status["nodes"] if own and node["program"] not in (None, own)]
    if old:
        found.append(verdict("node program", None, "check.doctor_other_program", nodes=old, first=old[0]))
    return status, found


def _health(status: Json) -> list[Json]:
    """What the server itself reports: failed background work, links, faulty GPUs, notifications, PAM."""
    if not status["health"]:
        return [verdict("health", True, "check.doctor_healthy")]
    log = verdict("health", False, "check.doctor_see_log")["hint"]
    return [{"name": "health", "ok": False, "text": clean(text), "hint": log} for text in status["health"]]


def _settings(roost: Roost, status: Json) -> list[Json]:
    """Logins and notifications. Only administrators can see them."""
    if not (status.get("you") or {}).get("admin"):
        return [verdict("nodes", None, "check.doctor_not_admin")]
    value = {each["key"]: each["value"] for each in roost.settings()["settings"]}
    found = [
        verdict("PAM", True, "check.doctor_pam" if value["login.pam"] else "check.doctor_no_pam", service=value["login.pam"])
    ]
    if not value["notify.enabled"]:
        return [*found, verdict("notifications", None, "check.doctor_notify_off")]
    failed = roost.notify_failures(all=True)
    code = "check.doctor_notify_failures" if failed else "check.doctor_notify"
    return [*found, verdict("notifications", not failed, code, messages=len(failed))]


def _nodes(roost: Roost, status: Json) -> list[Json]:
    """The checks of every other node, for administrators."""
    names = [node["name"] for node in status["nodes"] if node["target"]]
    try:
        return list(check_all(names)) if names and status["you"]["admin"] else []
    except ApiError as error:
        wrong = {"name": "check", "ok": False, "text": error.message, "hint": error.hint}
        return [{"version": 1, "node": ", ".join(names), "ok": False, "checks": [wrong]}]
