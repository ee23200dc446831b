"""The people of the machine that runs the tests are nobody to them: `ana` or `bob` may well have an account there.

Seen are the accounts of the system, the one that runs the tests, and those that tests have made (`accounts.py`).
"""

from __future__ import annotations

import os
import pwd

MARK = "roost test "
"""How the comment of an account that a test made begins."""
_PEOPLE = range(1000, 60_000)


def hide_people() -> None:
    """From now on, in this process, the names of other people's accounts are unknown."""
    find = pwd.getpwnam

    def getpwnam(name: str) -> pwd.struct_passwd:
        entry = find(name)
        if entry.pw_uid in _PEOPLE and entry.pw_uid != os.geteuid() and not entry.pw_gecos.startswith(MARK):
            raise KeyError(f"getpwnam(): name not found: {name!r}")
        return entry

    pwd.getpwnam = getpwnam
