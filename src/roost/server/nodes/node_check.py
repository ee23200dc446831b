"""What works on a node and what is missing: from one contact and its facts to a list of checks.

Pure: the caller brings what the node said, and what the server knows itself. In the order in which things fail; after a
step that failed nothing is known.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from roost.answers.nodes import NodeCheck
from roost.links import ssh
from roost.links.ssh_errors import HOST_KEY, LOGIN, PYTHON, REACHABLE, Trouble, understand
from roost.messages import Message, hint_of, plain
from roost.server.nodes.account_checks import Own, Verdict, bad, check_accounts, check_homes, good, shared_homes, unsure
from roost.server.nodes.machine_facts import DiskFacts, Facts, GpuFacts, Unknown, gpu_access, read_facts

LEAST_MIB = 1024
LEAST_INODES = 10_000
CLOCK_MS = 1000
_STEPS = (REACHABLE, HOST_KEY, LOGIN, PYTHON)
_REST = ("gpus", "disk", "clock", "accounts", "shared home", "cgroups", "GPU access", "logout")


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
    found = dict(zip(_STEPS[:at], (good("check.yes"), _host_key(known), good("check.yes")), strict=False))
    found[_STEPS[at]] = Verdict(False, trouble.text, trouble.hint)
    silent = unsure("check.not_reached", step=_STEPS[at])
    return found | dict.fromkeys((*_STEPS[at + 1 :], *_REST), silent)


def _trouble(contact: Contact) -> Trouble:
    """At which step, and why. What ssh itself did not fail at, the other side did."""
    if contact.told is not None:
        return _own_trouble(PYTHON, Message("check.no_sense", target=contact.target))
    trouble = understand(contact.stderr, contact.target, contact.node)
    if trouble.step is not None:
        return trouble
    if contact.exit_code is None:
        took_s = round((contact.after_ms - contact.before_ms) / 1000)
        return _own_trouble(REACHABLE, Message("check.no_answer", s=took_s, target=contact.target))
    if contact.exit_code == ssh.FAILED:
        return trouble
    said = trouble.text if contact.stderr.strip() else Message("check.exited", exit_code=contact.exit_code)
    return Trouble(PYTHON, said, Message("check.try_python", target=contact.target))


def _own_trouble(step: str, said: Message) -> Trouble:
    return Trouble(step, said, hint_of(said))


def _answered(contact: Contact, known: Known, facts: Facts) -> dict[str, Verdict]:
    shared = shared_homes(facts, known.accounts, known.boot)
    return {
        REACHABLE: _reachable(contact, facts),
        HOST_KEY: _host_key(known),
        LOGIN: _login(facts, len(known.accounts)),
        PYTHON: Verdict(True, plain(f"{facts.python}, {facts.python_path}")),
        "gpus": _gpus(facts.gpus),
        "disk": _disk(facts.disk),
        "clock": _clock(contact, facts),
        "accounts": check_accounts(facts, known.accounts, shared),
        "shared home": check_homes(shared),
        "cgroups": _cgroups(facts.cgroups, facts.uid == 0),
        "GPU access": _gpu_access(facts.devices),
        "logout": _logout(facts),
    }


def _reachable(contact: Contact, facts: Facts) -> Verdict:
    took_s = (contact.after_ms - contact.before_ms) / 1000
    said: dict[str, Any] = {"host": facts.host, "s": f"{took_s:.1f}", "load": f"{facts.load:.1f}", "cpus": facts.cpus}
    return good("check.reachable", "check.busy" if facts.load > 4 * facts.cpus else None, **said)


def _host_key(known: Known) -> Verdict:
    return good("check.host_key_of_ssh") if known.host_key is None else Verdict(True, plain(known.host_key))


def _login(facts: Facts, accounts: int) -> Verdict:
    name = facts.login if isinstance(facts.login, str) else f"uid {facts.uid}"
    code = "check.login_root" if facts.uid == 0 else "check.login_own"
    few = facts.uid == 0 and isinstance(facts.max_sessions, int) and facts.max_sessions < accounts + 2
    return good(code, "check.few_sessions" if few else None, login=name, sessions=facts.max_sessions)


def _gpus(gpus: GpuFacts | Unknown) -> Verdict:
    if isinstance(gpus, Unknown):
        return bad("check.driver_silent", why=gpus.why)
    if gpus.source is not None and gpus.gpus:
        return _some_gpus(gpus)
    error = gpus.error or "no driver"
    if gpus.cards == 0 and gpus.driver is None:
        return unsure("check.no_gpus", why=error)
    if "mismatch" in error.lower():
        return bad("check.driver_mismatch", why=error)
    why = Message("check.driver_lists_none") if gpus.source is not None else plain(error)
    if gpus.cards:
        return bad("check.cards_unusable", cards=gpus.cards, why=why)
    return bad("check.driver_unusable", driver=gpus.driver, why=why)


def _some_gpus(gpus: GpuFacts) -> Verdict:
    models = Counter(f"{gpu.model} {gpu.mem_mib / 1024:.0f} GiB" for gpu in gpus.gpus)
    text = ", ".join(f"{count} × {model}" for model, count in models.items())
    if gpus.driver is not None:
        text += f", driver {gpus.driver}"
    if gpus.source == "nvidia-smi":
        return good("check.through_nvidia_smi", gpus=text, why=gpus.error or "no NVML")
    return Verdict(True, plain(text))


def _disk(disk: DiskFacts | Unknown) -> Verdict:
    if isinstance(disk, Unknown):
        return bad("check.disk_silent", why=disk.why)
    path = disk.path
    if disk.error is not None:
        return bad("check.disk_unwritable", why=disk.error, path=path)
    if disk.free_mib < LEAST_MIB:
        return bad("check.disk_full", mib=disk.free_mib, path=path)
    if disk.free_inodes is not None and disk.free_inodes < LEAST_INODES:
        return bad("check.disk_no_inodes", files=disk.free_inodes, path=path)
    return good("check.disk", gib=f"{disk.free_mib / 1024:.0f}", path=path)


def _clock(contact: Contact, facts: Facts) -> Verdict:
    """The difference lies between two bounds: its first look came after ours, its last before ours."""
    least, most = facts.at_ms - contact.after_ms, facts.began_ms - contact.before_ms
    middle_s = (least + most) / 2000
    if least <= CLOCK_MS and most >= -CLOCK_MS:
        return good("check.clock")
    return bad("check.clock_ahead" if middle_s > 0 else "check.clock_behind", s=f"{abs(middle_s):.1f}")


def _cgroups(usable: bool | Unknown, is_root: bool) -> Verdict:
    if usable is True:
        return good("check.cgroups")
    hint = "check.cgroups_for_root" if is_root else "check.cgroups_for_login"
    if isinstance(usable, Unknown):
        return unsure("check.no_cgroups_because", hint, why=usable.why)
    return unsure("check.no_cgroups", hint)


def _gpu_access(devices: str | Unknown) -> Verdict:
    if isinstance(devices, Unknown):
        return unsure("check.devices_kernel", error=devices.why)
    said = gpu_access(devices)
    return Verdict(True if not devices else None, said, hint_of(said))


def _logout(facts: Facts) -> Verdict:
    logout = facts.logout
    if isinstance(logout, Unknown):
        return unsure("check.logout_unknown", why=logout.why)
    if logout.kills:
        return bad("check.logout_kills")
    if logout.remove_ipc and facts.uid == 0:
        return unsure("check.logout_removes_ipc")
    return good("check.logout" if logout.systemd else "check.logout_without_systemd")
