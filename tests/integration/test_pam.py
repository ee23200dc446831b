"""PAM, the real one, with accounts made for it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.accounts import PATH, Account, needs_root, throw_away_accounts
from tests.stores import fresh_store

from roost.core.errors import BadRequest, NotKnown, NotPermitted
from roost.core.settings import DEFAULTS
from roost.messages import Message
from roost.server.identity import account_state, unix_accounts
from roost.server.identity import pam as adapter
from roost.server.identity.login import Login
from roost.server.identity.pam import Pam
from roost.server.identity.people import People

SECRET = "Tern-on-a-wire-9"
SERVICE = "passwd"
"""A PAM service that every system with passwords has; unlike `login` it adds no pause of its own."""
pytestmark = [needs_root("PAM"), pytest.mark.skipif(not Path(f"/etc/pam.d/{SERVICE}").exists(), reason="NOT TESTED: no PAM")]


@pytest.fixture(scope="module")
def account() -> Iterator[Account]:
    """An account with a password."""
    with throw_away_accounts("roostp") as (made,):
        tool("chpasswd", text=f"{made.name}:{SECRET}\n")
        yield made


def tool(*words: str, text: str = "") -> None:
    """Change the account."""
    subprocess.run(words, input=text, env={"PATH": PATH}, check=True, capture_output=True, text=True, timeout=60)


class Door:
    """An entrance with PAM in it, over a store in memory."""

    def __init__(self, store: Any) -> None:
        self.settings: dict[str, Any] = {**DEFAULTS, "login.pam": SERVICE}
        self.people = People(store, self.settings.__getitem__, lambda: 1000)
        self.pam = Pam(self.people, self.settings.__getitem__)
        self.login = Login(self.people, self.pam)

    async def tries(self, user: str, password: str) -> str:
        """Come in."""
        return await self.login.by_password(user, password, "192.0.2.1")

    async def refuses(self, user: str, password: str) -> None:
        """Must not come in."""
        with pytest.raises(NotKnown, match="wrong user name or password"):
            await self.tries(user, password)


@pytest.fixture
def door() -> Iterator[Door]:
    unix_accounts._by_name.clear()
    with fresh_store() as store:
        yield Door(store)


async def test_the_right_password_logs_in_a_user_of_the_machine(door: Door, account: Account) -> None:
    name = await door.tries(account.name, SECRET)
    row, secret = await door.people.new_session(name, "192.0.2.1", "password")
    caller = door.people.by_session(secret, "192.0.2.1")
    assert caller is not None and row.user == account.name
    assert (caller.name, caller.unix, caller.account, caller.home) == (
        account.name,
        account.name,
        account.name,
        str(account.home),
    )
    assert not caller.is_admin


@pytest.mark.parametrize("password", ["wrong", "", SECRET + "x", SECRET.lower(), "x\0y", "é" * 10, "a" * 5000])
async def test_a_wrong_one_does_not(door: Door, account: Account, password: str) -> None:
    await door.refuses(account.name, password)


async def test_a_name_that_nobody_has_is_asked_about_all_the_same(
    door: Door, account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    real = Pam._asked

    def noted(self: Pam, name: str, password: str, service: str) -> bool:
        asked.append(name)
        return real(self, name, password, service)

    door.pam.is_open(SERVICE)

    monkeypatch.setattr(Pam, "_asked", noted)
    await door.refuses("nobody.of.that.name", SECRET)
    assert len(asked) == 1 and asked[0] != "nobody.of.that.name"


@pytest.mark.parametrize("service", ["su", "su-l", "runuser", "chsh", "chfn"])
async def test_a_service_that_asks_root_for_no_password_lets_nobody_in(door: Door, account: Account, service: str) -> None:
    if not Path(f"/etc/pam.d/{service}").exists():
        pytest.skip(f"NOT TESTED: no PAM service {service}")
    door.settings["login.pam"] = service
    await door.refuses(account.name, "any password")
    await door.refuses(account.name, SECRET)
    assert door.pam.complaint() == Message("login.pam_open", service=service) and not door.pam.is_on()


async def test_root_does_not_log_in_by_pam(door: Door, account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not door.pam.is_open(SERVICE)
    monkeypatch.setattr(Pam, "_asked", lambda *_: True)
    assert await door.tries(account.name, SECRET) == account.name
    await door.refuses("root", SECRET)


async def test_switched_off_it_lets_nobody_in(door: Door, account: Account) -> None:
    door.settings["login.pam"] = ""
    await door.refuses(account.name, SECRET)
    assert door.pam.complaint() is None


async def test_a_locked_password_is_none(door: Door, account: Account) -> None:
    tool("passwd", "-l", account.name)
    try:
        await door.refuses(account.name, SECRET)
    finally:
        tool("passwd", "-u", account.name)
    assert await door.tries(account.name, SECRET) == account.name


async def test_an_account_that_has_expired_is_refused_though_the_password_is_right(door: Door, account: Account) -> None:
    tool("chage", "-E", "0", account.name)
    try:
        await door.refuses(account.name, SECRET)
    finally:
        tool("chage", "-E", "-1", account.name)


async def test_a_password_that_must_be_changed_is_refused(door: Door, account: Account) -> None:
    tool("chage", "-d", "0", account.name)
    try:
        await door.refuses(account.name, SECRET)
    finally:
        tool("chage", "-d", "20000", account.name)


async def test_an_account_without_a_password_lets_nobody_in(door: Door, account: Account) -> None:
    tool("passwd", "-d", account.name)
    try:
        await door.refuses(account.name, "anything")
        await door.refuses(account.name, "")
    finally:
        tool("chpasswd", text=f"{account.name}:{SECRET}\n")


async def test_who_is_locked_here_stays_out(door: Door, account: Account) -> None:
    await door.people.change(door.people.itself.who, account.name, is_locked=True)
    with pytest.raises(NotPermitted, match="locked"):
        await door.tries(account.name, SECRET)


async def test_a_user_of_the_same_name_who_is_another_is_not_let_in_by_it(door: Door, account: Account) -> None:
    await door.people.add(door.people.itself.who, [account.name], "none")
    await door.refuses(account.name, SECRET)


async def test_an_account_that_is_linked_to_a_user_is_theirs(door: Door, account: Account) -> None:
    await door.people.add(door.people.itself.who, ["ana"], account.name)
    await door.refuses(account.name, SECRET)
    assert await door.tries("ana", SECRET) == "ana"


async def test_where_only_known_users_are_served_an_account_alone_is_not_enough(door: Door, account: Account) -> None:
    door.settings["users.admit"] = "known"
    await door.refuses(account.name, SECRET)
    await door.people.add(door.people.itself.who, [account.name])
    assert await door.tries(account.name, SECRET) == account.name


async def test_without_root_a_server_checks_its_own_account_alone(door: Door, account: Account) -> None:
    door.people.is_root = False
    door.people.own = unix_accounts.Unix(12345, "somebody", "/")
    await door.refuses(account.name, SECRET)
    await door.refuses("root", SECRET)
    door.people.own = unix_accounts.Unix(account.uid, account.name, str(account.home))
    assert await door.tries(account.name, SECRET) == account.name


async def test_a_missing_package_is_said_in_one_line(door: Door, account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Any:
        raise ImportError("No module named 'pam'")

    monkeypatch.setattr(adapter, "_library", missing)
    said = door.pam.complaint()
    assert said == Message("login.pam_no_package", service="passwd")
    await door.refuses(account.name, SECRET)


@pytest.mark.parametrize("service", ["../../tmp/evil", "/etc/passwd", "no such", "nosuchservice", "a" * 100, "."])
def test_a_service_that_is_none_is_refused(door: Door, service: str) -> None:
    door.settings["login.pam"] = service
    assert not door.pam.is_on() and "login.pam" in str(door.pam.complaint())


async def test_names_that_no_account_has_do_not_reach_pam(door: Door) -> None:
    for name in ("", "-x", "a b", "../x", "a\0b", "x" * 100):
        with pytest.raises(BadRequest):
            await door.tries(name, SECRET)


def test_we_are_root() -> None:
    assert os.geteuid() == 0


# -- the account phase ----------------------------------------------------------------------------------------------------


def test_an_account_that_pam_refuses_may_run_nothing(account: Account) -> None:
    """A service of Roost's own goes before what all services include."""
    service = Path("/etc/pam.d/roost")
    assert not service.exists()
    try:
        for rule, state in (("deny", "refused"), ("permit", "open")):
            service.write_text(f"account required pam_{rule}.so\n")
            assert account_state.state_of(account.name) == state, rule
    finally:
        service.unlink()
    assert account_state.state_of(account.name) == "open"
    assert account_state.state_of("no-such-account") == "open"  # its start says what is wrong


def test_a_locked_password_and_a_date_that_has_passed(
    account: Account, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the file of locks says it, and without PAM: an account that never had a password is not a locked one."""
    monkeypatch.setattr(account_state, "_library", lambda: None)
    monkeypatch.setattr(account_state, "SHADOW", str(file := tmp_path / "shadow"))
    lines = {"!$6$x$y": "locked", "!!$y$x": "locked", **dict.fromkeys(("!", "!!", "*", "!*", "$6$x$y", ""), "open")}
    for password, state in lines.items():
        file.write_text(f"other:!$6$x:1:0:9:7:::\n{account.name}:{password}:20000:0:99999:7:::\n")
        assert account_state.state_of(account.name) == state, password
    for day, state in ((0, "expired"), (1, "expired"), (10**6, "open"), ("", "open")):
        file.write_text(f"{account.name}:$6$x:20000:0:99999:7::{day}:\n")
        assert account_state.state_of(account.name) == state, day
