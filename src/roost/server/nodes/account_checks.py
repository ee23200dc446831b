"""The part of a node's check that is about people: whether their accounts are there, and their homes the same as here.

A file server keeps an inode's number and its times for all who mount it; two disks agree in both only by chance, or
because one machine is a copy of the other.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from roost.messages import Message, hint_of
from roost.node.system.home_dir import look_at_home
from roost.server.identity.people import People
from roost.server.nodes.machine_facts import AccountFacts, Facts, Home, Unknown

_MAX_NAMED, _MAX_USERS = 5, 200
_LOCAL = re.compile("ext[234]|xfs|btrfs|zfs|f2fs|jfs|reiserfs|bcachefs|tmpfs|ramfs|overlay|squashfs")
"""Types of file systems that are one machine's own. What is not in here may be shared."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A check without its name. `ok` None: not known, or worth knowing and no error; `hint`: what to do."""

    ok: bool | None
    text: Message
    hint: Message | None = None


def good(code: str, hint: str | None = None, **params: Any) -> Verdict:
    return _verdict(True, code, hint, params)


def bad(code: str, hint: str | None = None, **params: Any) -> Verdict:
    return _verdict(False, code, hint, params)


def unsure(code: str, hint: str | None = None, **params: Any) -> Verdict:
    return _verdict(None, code, hint, params)


def _verdict(ok: bool | None, code: str, hint: str | None, params: dict[str, Any]) -> Verdict:
    """With the hint of that code; else, if there is one, the hint of the sentence."""
    text = Message(code, **params)
    return Verdict(ok, text, hint_of(text) if hint is None else Message(hint, **params))


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
        return good("check.accounts_one", login=facts.login if isinstance(facts.login, str) else f"uid {facts.uid}")
    if not own:
        return unsure("check.accounts_none")
    known = {n: a for n, a in _asked(facts, own).items() if isinstance(a, AccountFacts) and a.exists}
    found = (_missing(facts, own), _no_python(facts, known), _no_home(known), _other_uids(known, own, shared))
    problems = [problem for problem in (*found, _silent(facts, own)) if problem is not None]
    if not problems:
        return good("check.accounts", names=_names(sorted(own)))
    text = Message("reason.all", reasons=[problem.text for problem in problems])
    is_bad = any(problem.ok is False for problem in problems)
    return Verdict(False if is_bad else None, text, problems[0].hint)


def check_homes(shared: Mapping[str, bool | None]) -> Verdict:
    """Whether a job finds the submitter's files. Without a shared home it can run all the same, where they are copied."""
    apart = [name for name, is_same in shared.items() if is_same is False]
    unknown = [name for name, is_same in shared.items() if is_same is None]
    if apart:
        return unsure("check.homes_apart", names=_names(apart))
    if unknown:
        return unsure("check.homes_unknown", names=_names(unknown))
    return good("check.homes", names=_names(list(shared))) if shared else unsure("check.homes_none")


def _asked(facts: Facts, own: Mapping[str, Own]) -> dict[str, AccountFacts | Unknown]:
    return {name: facts.accounts.get(name, Unknown(Message("check.not_asked"))) for name in sorted(own)}


def _missing(facts: Facts, own: Mapping[str, Own]) -> Verdict | None:
    asked = _asked(facts, own).items()
    names = [name for name, account in asked if isinstance(account, AccountFacts) and not account.exists]
    if not names:
        return None
    uid = own[names[0]].uid
    same = f"-u {uid} {names[0]}" if uid is not None else names[0]
    return bad("check.accounts_missing", names=_names(names), account=same)


def _no_python(facts: Facts, known: Mapping[str, AccountFacts]) -> Verdict | None:
    names = [name for name, account in known.items() if account.python is None]
    return bad("check.accounts_no_python", names=_names(names), python=facts.python_path) if names else None


def _no_home(known: Mapping[str, AccountFacts]) -> Verdict | None:
    paths = {name: account.home.path for name, account in known.items() if account.home and account.home.exists is False}
    if not paths:
        return None
    names = list(paths)
    return bad("check.accounts_no_home", names=_names(names), first=names[0], path=paths[names[0]])


def _other_uids(
    known: Mapping[str, AccountFacts], own: Mapping[str, Own], shared: Mapping[str, bool | None]
) -> Verdict | None:
    """Numbers may differ; but not on a home that both machines write in."""
    for name, account in known.items():
        here = own[name].uid
        if shared.get(name) and here is not None and account.uid != here:
            return bad("check.accounts_other_uid", name=name, there=str(account.uid), here=str(here))
    return None


def _silent(facts: Facts, own: Mapping[str, Own]) -> Verdict | None:
    """Accounts without an answer: a file server or a directory service hangs."""
    for name, account in _asked(facts, own).items():
        if isinstance(account, Unknown):
            return unsure("check.account_unknown", name=name, why=account.why)
        if account.home is not None and account.home.error is not None:
            return unsure("check.home_unseen", name=name, path=account.home.path, why=account.home.error)
    return None


def _names(names: list[str]) -> list[str | Message]:
    """The first few, and how many more."""
    few: list[str | Message] = list(names[:_MAX_NAMED])
    return few if len(names) <= _MAX_NAMED else [*few, Message("check.more_names", more=len(names) - _MAX_NAMED)]
