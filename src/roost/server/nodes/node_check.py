"""What works on a node and what is missing, in words: from one contact and its facts to a list of checks.

Pure: whoever asked the node brings what it said, and what the server knows itself. In the order in which things go wrong;
behind a step that failed nothing is known.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from roost.answers.nodes import NodeCheck
from roost.links import ssh
from roost.links.ssh_errors import HOST_KEY, LOGIN, PYTHON, REACHABLE, Trouble, understand
from roost.server.nodes.account_checks import Own, Verdict, bad, check_accounts, check_homes, good, shared_homes, unsure
from roost.server.nodes.machine_facts import DiskFacts, Facts, GpuFacts, Unknown, read_facts

LEAST_MIB = 1024
LEAST_INODES = 10_000
CLOCK_MS = 1000
_STEPS = (REACHABLE, HOST_KEY, LOGIN, PYTHON)
_REST = ("gpus", "disk", "clock", "accounts", "shared home", "cgroups", "logout")


@dataclass(frozen=True, slots=True)
class Contact:
    """One attempt to have `check` answered by a node."""

    node: str
    target: str
    exit_code: int | None
    """That of ssh, which is 255 when ssh itself failed; None: it took too long and was ended."""
    stderr: str
    told: Any
    """The JSON that came back, decoded; None when none did."""
    before_ms: int
    after_ms: int
    """The server's clock before and after it."""


@dataclass(frozen=True, slots=True)
class Known:
    """What the server knows by itself."""

    host_key: str | None = None
    """The fingerprint that this node's key must have; None: ssh finds it by itself."""
    boot: str = ""
    """The boot id of the server's machine."""
    accounts: Mapping[str, Own] = field(default_factory=dict)
    """Whose jobs may come to this node."""


def checks(contact: Contact, known: Known) -> list[NodeCheck]:
    """All checks, in their order."""
    facts = read_facts(contact.told) if contact.told is not None else None
    verdicts = _failed(contact, known) if facts is None else _answered(contact, known, facts)
    return [NodeCheck(name, v.ok, v.text, v.hint) for name, v in verdicts.items()]


def _failed(contact: Contact, known: Known) -> dict[str, Verdict]:
    trouble = _trouble(contact)
    at = _STEPS.index(trouble.step or REACHABLE)
    found = dict(zip(_STEPS[:at], (good("yes"), _host_key(known), good("yes")), strict=False))
    found[_STEPS[at]] = bad(trouble.text, trouble.hint)
    silent = unsure(f"not known before {_STEPS[at]} is right")
    return found | dict.fromkeys((*_STEPS[at + 1 :], *_REST), silent)


def _trouble(contact: Contact) -> Trouble:
    """At which step, and why. What ssh itself did not fail at, the other side did."""
    if contact.told is not None:
        hint = f"another program answers in its place? ssh {contact.target} true must print nothing"
        return Trouble(PYTHON, "its answer makes no sense", hint)
    trouble = understand(contact.stderr, contact.target, contact.node)
    if trouble.step is not None:
        return trouble
    if contact.exit_code is None:
        took_s = (contact.after_ms - contact.before_ms) / 1000
        return Trouble(
            REACHABLE, f"no answer within {took_s:.0f} s", f"look at its load there; by hand: ssh {contact.target} uptime"
        )
    if contact.exit_code == ssh.FAILED:
        return trouble
    said = trouble.text if contact.stderr.strip() else f"it left with exit code {contact.exit_code} and without a word"
    return Trouble(PYTHON, said, f"by hand: ssh {contact.target} python3 --version")


def _answered(contact: Contact, known: Known, facts: Facts) -> dict[str, Verdict]:
    shared = shared_homes(facts, known.accounts, known.boot)
    return {
        REACHABLE: _reachable(contact, facts),
        HOST_KEY: _host_key(known),
        LOGIN: _login(facts, len(known.accounts)),
        PYTHON: good(f"{facts.python}, {facts.python_path}"),
        "gpus": _gpus(facts.gpus),
        "disk": _disk(facts.disk),
        "clock": _clock(contact, facts),
        "accounts": check_accounts(facts, known.accounts, shared),
        "shared home": check_homes(shared),
        "cgroups": _cgroups(facts.cgroups, facts.uid == 0),
        "logout": _logout(facts),
    }


def _reachable(contact: Contact, facts: Facts) -> Verdict:
    took_s = (contact.after_ms - contact.before_ms) / 1000
    text = f"{facts.host} answered in {took_s:.1f} s, load {facts.load:.1f} on {facts.cpus} cores"
    return good(text, "it is very busy: answers may take long" if facts.load > 4 * facts.cpus else None)


def _host_key(known: Known) -> Verdict:
    return good(known.host_key if known.host_key is not None else "ssh knows it")


def _login(facts: Facts, accounts: int) -> Verdict:
    name = facts.login if isinstance(facts.login, str) else f"uid {facts.uid}"
    whose = "every job runs as its user's own account" if facts.uid == 0 else "every job runs as that account"
    few = facts.uid == 0 and isinstance(facts.max_sessions, int) and facts.max_sessions < accounts + 2
    hint = f"where ssh shares connections (ControlMaster), raise MaxSessions in its sshd_config from {facts.max_sessions}"
    return good(f"{name}: {whose}", hint if few else None)


def _gpus(gpus: GpuFacts | Unknown) -> Verdict:
    if isinstance(gpus, Unknown):
        return bad(
            f"the driver does not answer: {gpus.why}", "look there for Xid or NVRM in dmesg; often only a reboot helps"
        )
    if gpus.source is not None and gpus.gpus:
        return _some_gpus(gpus)
    error = gpus.error or "no driver"
    if gpus.cards == 0 and gpus.driver is None:
        return unsure(f"none: no NVIDIA card and no driver ({error})", "jobs that ask for no GPU can run there")
    if "mismatch" in error.lower():
        return bad(error, "the driver was exchanged while it was loaded: reboot that machine")
    what = f"{_count(gpus.cards, 'NVIDIA card')} in it" if gpus.cards else f"driver {gpus.driver} is loaded"
    reason = "the driver shows none" if gpus.source is not None else error
    return bad(
        f"{what}, and none can be used: {reason}", "nvidia-smi there must list them; if it is missing, install the driver"
    )


def _some_gpus(gpus: GpuFacts) -> Verdict:
    models = Counter(f"{gpu.model} {gpu.mem_mib / 1024:.0f} GiB" for gpu in gpus.gpus)
    text = ", ".join(f"{count} × {model}" for model, count in models.items())
    if gpus.driver is not None:
        text += f", driver {gpus.driver}"
    if gpus.source == "nvidia-smi":
        return good(f"{text}, through nvidia-smi", f"readings come slowly: {gpus.error or 'no NVML'}")
    return good(text)


def _disk(disk: DiskFacts | Unknown) -> Verdict:
    if isinstance(disk, Unknown):
        return bad(f"the file system does not answer: {disk.why}", "df there; another place: roost node add … --dir DIR")
    path = disk.path
    if disk.error is not None:
        return bad(
            f"cannot be written: {disk.error}", f"ls -ld {path}; df {path}; another place: roost node add … --dir DIR"
        )
    if disk.free_mib < LEAST_MIB:
        return bad(f"{disk.free_mib} MiB free for {path}", f"logs and states of jobs need room: df -h {path}")
    if disk.free_inodes is not None and disk.free_inodes < LEAST_INODES:
        return bad(
            f"{disk.free_inodes} files more fit in the file system of {path}", f"there are too many small ones: df -i {path}"
        )
    return good(f"{disk.free_mib / 1024:.0f} GiB free for {path}")


def _clock(contact: Contact, facts: Facts) -> Verdict:
    """The difference lies between two bounds: its first look came after ours, its last before ours."""
    least, most = facts.at_ms - contact.after_ms, facts.began_ms - contact.before_ms
    middle_s = (least + most) / 2000
    if least <= CLOCK_MS and most >= -CLOCK_MS:
        return good("agrees with this server's")
    text = f"{abs(middle_s):.1f} s {'ahead of' if middle_s > 0 else 'behind'} this server"
    return bad(text, "set up NTP there: timedatectl set-ntp true")


def _cgroups(usable: bool | Unknown, is_root: bool) -> Verdict:
    if usable is True:
        return good("every run has its own")
    why = f" ({usable.why})" if isinstance(usable, Unknown) else ""
    what = "cgroup v2 at /sys/fs/cgroup" if is_root else "a root login, or cgroup v2 with delegation,"
    hint = f"{what} would let whole jobs be counted, paused and ended at once"
    return unsure(f"cannot be used{why}: runs are kept together by their sessions and marks", hint)


def _logout(facts: Facts) -> Verdict:
    logout = facts.logout
    if isinstance(logout, Unknown):
        return unsure(f"not known what happens to jobs when the session ends: {logout.why}")
    if logout.kills:
        hint = "KillUserProcesses=no in /etc/systemd/logind.conf there, then: systemctl restart systemd-logind"
        return bad("jobs would be killed when the ssh session ends (KillUserProcesses)", hint)
    if logout.remove_ipc and facts.uid == 0:
        hint = "RemoveIPC=no in /etc/systemd/logind.conf there, then: systemctl restart systemd-logind"
        return unsure("a user who logs out there takes the shared memory of his jobs along (RemoveIPC)", hint)
    return good("jobs live on when the session ends" + ("" if logout.systemd else " (no systemd there)"))


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
