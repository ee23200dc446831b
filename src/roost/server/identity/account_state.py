"""Whether a UNIX account may run anything now: neither locked nor expired, nor refused by the machine's PAM account phase.

Root alone can tell. Called from threads: PAM may ask a directory on the network.
"""

import contextlib
import ctypes
import ctypes.util
import functools
import logging
import os
import pwd
import re
import time
from typing import Any

OPEN, LOCKED, EXPIRED, REFUSED = "open", "locked", "expired", "refused"
SHADOW = "/etc/shadow"
SERVICES = ("roost", "common-account", "system-auth")
"""The first of these that the machine has is asked: one made for Roost, else what all of its services include."""
_PLACES = ("/etc/pam.d", "/usr/lib/pam.d", "/usr/etc/pam.d")
_HASH = re.compile(r"!+[^!*]")
"""A password with something before it: it was locked. `!` and `*` alone are accounts that never had one."""
_DAY_S = 86_400
_SILENT = 0x8000
_SAYS_NO = {6: REFUSED, 7: REFUSED, 13: EXPIRED, 27: EXPIRED}
"""PAM_PERM_DENIED, PAM_AUTH_ERR, PAM_ACCT_EXPIRED, PAM_AUTHTOK_EXPIRED. All else is no answer about the account."""
_log = logging.getLogger("roost.accounts")


def state_of(account: str) -> str:
    """`open`, or why it may run nothing. One that is not there, or cannot be asked about, is open: its start fails."""
    try:
        pwd.getpwnam(account)
    except KeyError:
        return OPEN
    state = _by_shadow(account, int(time.time()) // _DAY_S)
    return state if state != OPEN else _by_pam(account)


def _by_shadow(account: str, today: int) -> str:
    with contextlib.suppress(OSError), open(SHADOW, encoding="utf-8", errors="replace") as file:
        for line in file:
            fields = line.rstrip("\n").split(":")
            if fields[0] != account or len(fields) < 8:
                continue
            if fields[7].isdigit() and int(fields[7]) <= today:
                return EXPIRED
            return LOCKED if _HASH.match(fields[1]) else OPEN
    return OPEN


def _by_pam(account: str) -> str:
    service, library = _service(), _library()
    if service is None or library is None:
        return OPEN
    handle, conversation = ctypes.c_void_p(), _Conversation(_Answer(lambda *_: 19), None)  # PAM_CONV_ERR: nobody is there
    if library.pam_start(service.encode(), account.encode(), ctypes.byref(conversation), ctypes.byref(handle)):
        return OPEN
    code = library.pam_acct_mgmt(handle, _SILENT)
    library.pam_end(handle, code)
    if code and code not in _SAYS_NO:
        _log.debug("PAM service %s has no answer about %s: %s", service, account, code)
    return _SAYS_NO.get(code, OPEN)


def _service() -> str | None:
    return next((name for name in SERVICES for place in _PLACES if os.path.exists(f"{place}/{name}")), None)


_Answer = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class _Conversation(ctypes.Structure):
    _fields_ = [("answer", _Answer), ("data", ctypes.c_void_p)]


@functools.cache
def _library() -> Any:
    name = ctypes.util.find_library("pam")
    try:
        library = ctypes.CDLL(name) if name else None
    except OSError:
        return None
    if library is not None:
        library.pam_start.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p]
        library.pam_acct_mgmt.argtypes = library.pam_end.argtypes = [ctypes.c_void_p, ctypes.c_int]
    return library
