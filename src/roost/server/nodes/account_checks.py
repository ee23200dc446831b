"""The part of a node's check that is about people: whether their accounts are there, and their homes the same as here.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from roost.server.nodes.machine_facts import AccountFacts, Facts, Home, Unknown
from roost.server.nodes.shared_homes import is_shared
from roost.server.nodes.verdict import Verdict, bad, good, unsure

_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Own:
    """An account as the server's machine has it; None for what it does not know."""

    uid: int | None = None
    home: Home | None = None


def shared_homes(facts: Facts, own: Mapping[str, Own], boot: str) -> dict[str, bool | None]:
    """For each account that may be there whether its home is the one here."""
    same_boot = facts.boot == boot
    found = {name: facts.accounts.get(name) for name in sorted(own)}
    return {
        name: is_shared(own[name].home, _home(account), same_boot)
        for name, account in found.items()
        if not isinstance(account, AccountFacts) or account.exists
    }


def check_accounts(facts: Facts, own: Mapping[str, Own], shared: Mapping[str, bool | None]) -> Verdict:
    """Whether every user has an account there that can run jobs. Where the login is not root's, it runs them all."""
    if facts.uid != 0:
        return good(f"all jobs there run as {facts.login if isinstance(facts.login, str) else f'uid {facts.uid}'}")
    if not own:
        return unsure("nobody has jobs to run there yet")
    problems = [found for found in (_missing(facts, own), _no_python(facts, own), _no_home(facts, own)) if found is not None]
    problems += [found for found in (_other_uids(facts, own, shared), _silent(facts, own)) if found is not None]
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


def _home(account: AccountFacts | Unknown | None) -> Home | None:
    return account.home if isinstance(account, AccountFacts) else None


def _known(facts: Facts, own: Mapping[str, Own]) -> dict[str, AccountFacts]:
    found = {name: facts.accounts.get(name) for name in sorted(own)}
    return {name: account for name, account in found.items() if isinstance(account, AccountFacts) and account.exists}


def _missing(facts: Facts, own: Mapping[str, Own]) -> Verdict | None:
    found = {name: facts.accounts.get(name) for name in sorted(own)}
    names = [name for name, account in found.items() if isinstance(account, AccountFacts) and not account.exists]
    if not names:
        return None
    uid = own[names[0]].uid
    same = f"-u {uid} " if uid is not None else ""
    return bad(
        f"no account there for {_names(names)}", f"their jobs cannot run there; as root there: useradd -m {same}{names[0]}"
    )


def _no_python(facts: Facts, own: Mapping[str, Own]) -> Verdict | None:
    names = [name for name, account in _known(facts, own).items() if account.python is None]
    if not names:
        return None
    return bad(
        f"{_names(names)} may not run {facts.python_path}", "install the distribution's own there: apt install python3"
    )


def _no_home(facts: Facts, own: Mapping[str, Own]) -> Verdict | None:
    known = _known(facts, own).items()
    names = [name for name, account in known if account.home is not None and account.home.exists is False]
    if not names:
        return None
    home = facts.accounts[names[0]]
    path = home.home.path if isinstance(home, AccountFacts) and home.home is not None else ""
    return bad(f"no home there for {_names(names)}: {path}", f"mount it, or as root there: mkhomedir_helper {names[0]}")


def _other_uids(facts: Facts, own: Mapping[str, Own], shared: Mapping[str, bool | None]) -> Verdict | None:
    """Numbers may differ; but not on a home that both machines write in."""
    for name, account in _known(facts, own).items():
        here = own[name].uid
        if shared.get(name) and here is not None and account.uid != here:
            text = f"{name} has uid {account.uid} there and {here} here, with the same home"
            return bad(text, f"give {name} one uid on both, as root there: usermod -u {here} {name}")
    return None


def _silent(facts: Facts, own: Mapping[str, Own]) -> Verdict | None:
    """Those of whom nothing came back: a file server or a directory of accounts that hangs."""
    found = {name: facts.accounts.get(name, Unknown("not asked")) for name in sorted(own)}
    for name, account in found.items():
        if isinstance(account, Unknown):
            return unsure(f"{name}: {account.why}", f"does its file server answer there? id {name}; ls -ld ~{name}")
        if account.home is not None and account.home.error is not None:
            return unsure(f"{name} cannot see {account.home.path}: {account.home.error}", f"as root there: ls -ld ~{name}")
    return None


def _names(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
