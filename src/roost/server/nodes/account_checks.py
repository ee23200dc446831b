"""The part of a node's check that is about people: whether their accounts are there, and their homes the same as here.

A file server keeps an inode's number and its times for all who mount it; two disks agree in both only by chance, or
because one machine is a copy of the other.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from roost.node.system.home_dir import look_at_home
from roost.server.identity.people import People
from roost.server.nodes.machine_facts import AccountFacts, Facts, Home, Unknown

_MAX_NAMED, _MAX_USERS = 5, 200
_LOCAL = re.compile("ext[234]|xfs|btrfs|zfs|f2fs|jfs|reiserfs|bcachefs|tmpfs|ramfs|overlay|squashfs")
"""Types of file systems that are one machine's own. What is not in here may be shared."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A check without its name. `ok` None: not known, or worth knowing and nobody's fault; `hint`: what to type."""

    ok: bool | None
    text: str
    hint: str | None = None


def good(text: str, hint: str | None = None) -> Verdict:
    return Verdict(True, text, hint)


def bad(text: str, hint: str | None = None) -> Verdict:
    return Verdict(False, text, hint)


def unsure(text: str, hint: str | None = None) -> Verdict:
    return Verdict(None, text, hint)


@dataclass(frozen=True, slots=True)
class Own:
    """An account as the server's machine has it; None for what it does not know."""

    uid: int | None = None
    home: Home | None = None


def own_accounts(people: People, users: Iterable[str]) -> dict[str, Own]:
    """The accounts of these users on this machine, by name, but for root's. Looks at homes: a file server may be slow."""
    found = {unix.name: unix for user in sorted(users)[:_MAX_USERS] if (unix := people.unix_of(user)) is not None}
    return {name: Own(unix.uid, Home(**look_at_home(unix.home))) for name, unix in found.items() if unix.uid != 0}


def shared_homes(facts: Facts, own: Mapping[str, Own], boot: str) -> dict[str, bool | None]:
    """For each account that may be there whether its home is the one here."""
    shared = {}
    for name, account in _asked(facts, own).items():
        if isinstance(account, Unknown) or account.exists:
            there = None if isinstance(account, Unknown) else account.home
            shared[name] = is_shared(own[name].home, there, facts.boot == boot)
    return shared


def is_shared(here: Home | None, there: Home | None, same_boot: bool) -> bool | None:
    """None when it cannot be told: nobody knows, or only its times differ, as they do while somebody writes in it.

    `same_boot`: both run on one kernel, so that they may share a disk without any file server (containers).
    """
    if here is None or there is None:
        return None
    if here.path != there.path or (here.exists is True and there.exists is False):
        return False
    if here.inode is None or there.inode is None:
        return None
    if not same_boot and all(_LOCAL.fullmatch(home.fs or "") for home in (here, there)):
        return False
    if here.inode != there.inode or (same_boot and here.device != there.device):
        return False
    return True if same_boot or here.ctime_ns == there.ctime_ns else None


def check_accounts(facts: Facts, own: Mapping[str, Own], shared: Mapping[str, bool | None]) -> Verdict:
    """Whether every user has an account there that can run jobs. Where the login is not root's, it runs them all."""
    if facts.uid != 0:
        return good(f"all jobs there run as {facts.login if isinstance(facts.login, str) else f'uid {facts.uid}'}")
    if not own:
        return unsure("nobody has jobs to run there yet")
    known = {n: a for n, a in _asked(facts, own).items() if isinstance(a, AccountFacts) and a.exists}
    found = (_missing(facts, own), _no_python(facts, known), _no_home(known), _other_uids(known, own, shared))
    problems = [problem for problem in (*found, _silent(facts, own)) if problem is not None]
    if not problems:
        return good(f"{_names(sorted(own))}: there")
    text = "; ".join(problem.text for problem in problems)
    is_bad = any(problem.ok is False for problem in problems)
    return Verdict(False if is_bad else None, text, problems[0].hint)


def check_homes(shared: Mapping[str, bool | None]) -> Verdict:
    """Whether a job finds the submitter's files. Without a shared home it can run all the same, where they are copied."""
    apart = [name for name, is_same in shared.items() if is_same is False]
    unknown = [name for name, is_same in shared.items() if is_same is None]
    if apart:
        return unsure(
            f"not shared with this server: the home of {_names(apart)}",
            "jobs find there only what was copied there: name a directory with --cwd, or keep them off with --node",
        )
    if unknown or not shared:
        return unsure(f"not known whether it is shared: the home of {_names(unknown)}" if unknown else "nobody's to look at")
    return good(f"the same as on this server: that of {_names(list(shared))}")


def _asked(facts: Facts, own: Mapping[str, Own]) -> dict[str, AccountFacts | Unknown]:
    return {name: facts.accounts.get(name, Unknown("not asked")) for name in sorted(own)}


def _missing(facts: Facts, own: Mapping[str, Own]) -> Verdict | None:
    asked = _asked(facts, own).items()
    names = [name for name, account in asked if isinstance(account, AccountFacts) and not account.exists]
    if not names:
        return None
    uid = own[names[0]].uid
    same = f"-u {uid} " if uid is not None else ""
    return bad(
        f"no account there for {_names(names)}", f"their jobs cannot run there; as root there: useradd -m {same}{names[0]}"
    )


def _no_python(facts: Facts, known: Mapping[str, AccountFacts]) -> Verdict | None:
    names = [name for name, account in known.items() if account.python is None]
    hint = "install the distribution's own there: apt install python3"
    return bad(f"{_names(names)} may not run {facts.python_path}", hint) if names else None


def _no_home(known: Mapping[str, AccountFacts]) -> Verdict | None:
    paths = {name: account.home.path for name, account in known.items() if account.home and account.home.exists is False}
    if not paths:
        return None
    names = list(paths)
    hint = f"mount it, or as root there: mkhomedir_helper {names[0]}"
    return bad(f"no home there for {_names(names)}: {paths[names[0]]}", hint)


def _other_uids(
    known: Mapping[str, AccountFacts], own: Mapping[str, Own], shared: Mapping[str, bool | None]
) -> Verdict | None:
    """Numbers may differ; but not on a home that both machines write in."""
    for name, account in known.items():
        here = own[name].uid
        if shared.get(name) and here is not None and account.uid != here:
            text = f"{name} has uid {account.uid} there and {here} here, with the same home"
            return bad(text, f"give {name} one uid on both, as root there: usermod -u {here} {name}")
    return None


def _silent(facts: Facts, own: Mapping[str, Own]) -> Verdict | None:
    """Those of whom nothing came back: a file server or a directory of accounts that hangs."""
    for name, account in _asked(facts, own).items():
        if isinstance(account, Unknown):
            return unsure(f"{name}: {account.why}", f"does its file server answer there? id {name}; ls -ld ~{name}")
        if account.home is not None and account.home.error is not None:
            return unsure(f"{name} cannot see {account.home.path}: {account.home.error}", f"as root there: ls -ld ~{name}")
    return None


def _names(names: list[str]) -> str:
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return ", ".join(names[:_MAX_NAMED]) + more
