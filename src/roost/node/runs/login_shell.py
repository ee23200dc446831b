"""What an account's login shell sets, asked once, for jobs that bring no environment. A shell that hangs sets nothing."""

from __future__ import annotations

import os
import subprocess
from typing import Dict, NamedTuple, Optional

_LONGEST_S = 5.0
_MARK = "roost-login-"
_LEFT_OUT = ("SHLVL", "PWD", "OLDPWD", "_")


class LoginShell(NamedTuple):
    env: Dict[str, str]
    umask: Optional[int]


def ask_login_shell(basics: Dict[str, str]) -> LoginShell:
    """What the login shell of this account sets; nothing when it does not answer."""
    mark = _MARK + os.urandom(8).hex()
    script = f"umask; printf '{mark}\\0'; exec env -0"
    try:
        done = subprocess.run(
            [basics["SHELL"], "-l", "-c", script],
            env=basics,
            cwd=basics["HOME"] if os.path.isdir(basics["HOME"]) else "/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_LONGEST_S,
            start_new_session=True,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return LoginShell({}, None)
    return parse_answer(done.stdout, mark)


def parse_answer(data: bytes, mark: str) -> LoginShell:
    """Pure. A profile may print whatever it likes before the mark."""
    before, found, after = data.decode("utf-8", "surrogateescape").partition(mark + "\0")
    if not found:
        return LoginShell({}, None)
    pairs = (text.partition("=") for text in after.split("\0"))
    env = {name: value for name, equals, value in pairs if equals and name and name not in _LEFT_OUT}
    last = before.strip().rpartition("\n")[2].strip()
    is_octal = 0 < len(last) <= 4 and all(digit in "01234567" for digit in last)
    return LoginShell(env, int(last, 8) & 0o777 if is_octal else None)
