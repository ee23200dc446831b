"""PAM: the passwords of this machine's own accounts, checked by the machine's own rules. Behind `Checks`.

Called from threads: a wrong password takes PAM two seconds and more. Nothing of a password is kept, and no session is
opened: who comes in is the user whom the kernel knows by that account.
"""

import importlib
import logging
import os
import re
import secrets
from collections.abc import Callable
from types import ModuleType
from typing import Any

from roost.server.identity.passwords import MAX_LENGTH
from roost.server.identity.people import People

_SERVICE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_PLACES = ("/etc/pam.d", "/usr/lib/pam.d", "/usr/etc/pam.d")
_DISALLOW_NULL = 1
"""PAM_DISALLOW_NULL_AUTHTOK: an account without a password lets nobody in from elsewhere."""
_log = logging.getLogger("roost.pam")


class Pam:
    """UNIX accounts, when the setting `login.pam` names a PAM service."""

    at_once = 8

    def __init__(self, people: People, setting: Callable[[str], Any]) -> None:
        self._people, self._setting = people, setting
        self._told = ""

    @property
    def service(self) -> str:
        """The PAM service; empty: off."""
        return str(self._setting("login.pam") or "")

    def is_on(self) -> bool:
        """Whether it is switched on and can work; a reason why not is logged once."""
        if not self.service:
            return False
        if (reason := self.complaint()) and reason != self._told:
            _log.warning("%s", reason)
        self._told = reason or ""
        return reason is None

    def complaint(self) -> str | None:
        """Why it cannot work though it is switched on, in one line; None when it can, or is off."""
        service = self.service
        if not service:
            return None
        if not _SERVICE.fullmatch(service):
            return f"login.pam is {service!r}, which is not the name of a PAM service"
        if not any(os.path.exists(f"{place}/{service}") for place in _PLACES):
            return f"login.pam is {service}, but /etc/pam.d/{service} is not there"
        try:
            _library()
        except ImportError:
            return f"login.pam is {service}, but the package python-pam is not installed: pip install 'roost[pam]'"
        return None

    def is_right(self, user: str, password: str) -> bool:
        """Whether it is the account's password, and the account is neither locked nor expired."""
        account = self._account(user)
        if not password or len(password) > MAX_LENGTH or "\0" in password:
            return False
        # A name that nobody has takes PAM as long as one whose password is wrong.
        return self._asked(account or f"roost-{secrets.token_hex(6)}", password) and account is not None

    def _account(self, user: str) -> str | None:
        """The UNIX account to ask about. Without root a server can check its own alone; root's is checked by root's."""
        people = self._people
        unix = people.same_unix(user)
        if unix is None or not (people.is_root or unix.uid == people.own.uid):
            return None
        return unix.name

    def _asked(self, account: str, password: str) -> bool:
        checker = _library().PamAuthenticator()
        plain = checker.pam_authenticate
        checker.pam_authenticate = lambda handle, flags: plain(handle, flags | _DISALLOW_NULL)
        try:
            return bool(checker.authenticate(account, password, service=self.service, resetcreds=False))
        except (ValueError, UnicodeError):
            return False


def _library() -> ModuleType:
    return importlib.import_module("pam")
