"""What systemd-logind does to a login's processes at its last logout, and how many sessions sshd allows per connection."""

from __future__ import annotations

import glob
import os
import subprocess
from typing import Any, Dict, List, Optional

from roost.node.state_dir import read_text

_ASK_S = 3
_LOGIND = ("KillUserProcesses", "KillOnlyUsers", "KillExcludeUsers", "RemoveIPC")
# The main file is the first of these that exists; what lies in the directories is put on top of it, by name.
_MAIN = ("/etc/systemd/logind.conf", "/run/systemd/logind.conf", "/usr/lib/systemd/logind.conf")
_MORE = ("/usr/lib/systemd/logind.conf.d", "/run/systemd/logind.conf.d", "/etc/systemd/logind.conf.d")
_SSHD = ("/etc/ssh/sshd_config.d/*.conf", "/etc/ssh/sshd_config")
_NO = ("no", "false", "off", "0", "n", "f")


def look_at_logout(login: Optional[str]) -> Dict[str, Any]:
    """`{systemd, kills, remove_ipc}`: is it systemd that ends sessions, would it end this login's processes, and its
    shared memory."""
    if not os.path.isdir("/run/systemd/system"):
        return {"systemd": False, "kills": False, "remove_ipc": False}
    values = parse_logind(_ask_loginctl() or _read_files())
    return {
        "systemd": True,
        "kills": kills(values, login),
        "remove_ipc": values.get("RemoveIPC", "yes").lower() not in _NO,
    }


def parse_logind(text: str) -> Dict[str, str]:
    """The settings in the words of `loginctl` or of the file; later ones win."""
    pairs = (line.strip().partition("=") for line in text.splitlines())
    return {name.strip(): value.strip() for name, equals, value in pairs if equals and name.strip() in _LOGIND}


def kills(values: Dict[str, str], login: Optional[str]) -> bool:
    """Whether logind ends what a session of this login leaves behind. It spares root unless told otherwise."""
    if values.get("KillUserProcesses", "no").lower() in _NO:
        return False
    if login in values.get("KillExcludeUsers", "root").split():
        return False
    only = values.get("KillOnlyUsers", "").split()
    return not only or login in only


def max_sessions() -> Optional[int]:
    """How many sessions sshd lets one connection have, where its files can be read and say it for everybody."""
    texts = []
    for pattern in _SSHD:
        for path in sorted(glob.glob(pattern)):
            text = read_text(path)
            if text is None:
                return None
            texts.append(text)
    return parse_max_sessions(texts) if texts else None


def parse_max_sessions(texts: List[str]) -> int:
    """The first word on it counts; what is said for some only (`Match`) is left out."""
    for text in texts:
        for line in text.splitlines():
            words = line.replace("=", " ").split()
            if words[:1] and words[0].lower() == "match":
                break
            if len(words) == 2 and words[0].lower() == "maxsessions" and words[1].isdigit():
                return int(words[1])
    return 10


def _ask_loginctl() -> str:
    """Without the name of a session it tells the settings in force."""
    wanted = [f"--property={name}" for name in _LOGIND]
    try:
        done = subprocess.run(
            ["loginctl", "show-session", *wanted],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_ASK_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""


def _read_files() -> str:
    """The settings as they are written, which after a restart are those in force."""
    main = next((path for path in _MAIN if os.path.exists(path)), None)
    more = {os.path.basename(path): path for place in _MORE for path in glob.glob(place + "/*.conf")}
    paths = ([main] if main else []) + [more[name] for name in sorted(more)]
    return "\n".join(read_text(path) or "" for path in paths)
