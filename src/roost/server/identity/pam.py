"""PAM: passwords of this machine's own accounts, checked by the machine's own rules. Behind `Checks`.

Called from threads: for a wrong password PAM takes two seconds or more. No password is kept and no PAM session is opened:
the user is the one linked to that account.
"""

import contextlib
import importlib
import logging
import os
import re
import secrets
from collections.abc import Callable
from types import ModuleType
from typing import Any

from roost.messages import Message
from roost.server.identity.passwords import MAX_LENGTH
from roost.server.identity.people import People

_SERVICE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_PLACES = ("/etc/pam.d", "/usr/lib/pam.d", "/usr/etc/pam.d")
_DISALLOW_NULL = 1
"""PAM_DISALLOW_NULL_AUTHTOK: nobody can log in as an account without a password."""
_PROBED = ("nobody", "root")
"""Accounts that a service is tried with: one that every machine has, and the one that services may treat in another way."""
_log = logging.getLogger("roost.pam")


class Pam:
    """UNIX accounts, when the setting `login.pam` names a PAM service."""

    at_once = 8

    def __init__(self, people: People, setting: Callable[[str], Any]) -> None:
        self._people, self._setting = people, setting
        self._logged: Message | None = None
        self._open: dict[tuple[str, int], bool] = {}
        """Whether a service accepts any password, by its name and when its file was changed."""

    @property
    def service(self) -> str:
        """The PAM service; empty: off."""
        return str(self._setting("login.pam") or "")

    def is_on(self) -> bool:
        """Whether it is switched on and can work; a reason why not is logged once."""
        if not self.service:
            return False
        if (reason := self.complaint()) is not None and reason != self._logged:
            _log.warning("%s", reason)
        self._logged = reason
        return reason is None

    def complaint(self) -> Message | None:
        """Why it cannot work although it is switched on; None when it can, or is off."""
        service = self.service
        if not service:
            return None
        if not _SERVICE.fullmatch(service):
            return Message("login.pam_name", service=repr(service))
        if (file := _file_of(service)) is None:
            return Message("login.pam_no_service", service=service)
        if self._open.get(file):
            return Message("login.pam_open", service=service)
        try:
            _library()
        except ImportError:
            return Message("login.pam_no_package", service=service)
        return None

    def is_right(self, user: str, password: str) -> bool:
        """Whether it is the account's password, and the account is neither locked nor expired."""
        account = self._account(user)
        service = self.service
        if not password or len(password) > MAX_LENGTH or "\0" in password or self.is_open(service):
            return False
        # For a name that no account has PAM takes as long as for a wrong password.
        return self._asked(account or f"roost-{secrets.token_hex(6)}", password, service) and account is not None

    def is_open(self, service: str) -> bool:
        """Whether that service accepts any password: `su` and others do when root asks. Tried once, with a random one."""
        file = _file_of(service) if _SERVICE.fullmatch(service) else None
        if file is None:
            return False
        if file not in self._open:
            try:
                self._open[file] = any(self._asked(name, secrets.token_hex(16), service) for name in _PROBED)
            except ImportError:  # nobody can log in by it either
                return False
        return self._open[file]

    def _account(self, user: str) -> str | None:
        """The UNIX account to ask about; never root. Without root a server can only check its own account."""
        people = self._people
        unix = people.same_unix(user)
        if unix is None or unix.uid == 0 or not (people.is_root or unix.uid == people.own.uid):
            return None
        return unix.name

    def _asked(self, account: str, password: str, service: str) -> bool:
        checker = _library().PamAuthenticator()
        plain = checker.pam_authenticate
        checker.pam_authenticate = lambda handle, flags: plain(handle, flags | _DISALLOW_NULL)
        try:
            return bool(checker.authenticate(account, password, service=service, resetcreds=False))
        except (ValueError, UnicodeError):
            return False


def _file_of(service: str) -> tuple[str, int] | None:
    """The file of a service, and when it was changed; None: there is none."""
    for place in _PLACES:
        with contextlib.suppress(OSError):
            return f"{place}/{service}", os.stat(f"{place}/{service}").st_mtime_ns
    return None


def _library() -> ModuleType:
    return importlib.import_module("pam")
