"""`become`: what root does so that a user's jobs are the user's from the first byte, and nothing else.

Makes the account's state directory and, where there are cgroups, one for the account's runs, which stays root's; enters a
leaf of it; leaves a helper behind that makes the cgroups of the runs (`cgroup_helper.py`); drops every right; becomes
`attach` under a clean environment. Reads nothing that a user has written and writes nowhere where a user could: the
directories above the account's own are root's.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import re
import stat
import sys
from typing import List, Optional

from roost.node import fence
from roost.node.commands.cgroup_helper import start_helper
from roost.node.runs.environment import basic_environment
from roost.node.state_dir import StateDir, StateError
from roost.node.system import cgroup, libc

CANNOT = "cannot run as "
"""How the reason begins when nobody will ever be able to: the server gives up on that account's runs."""
_INTERPRETERS = ("/usr/bin/python3", "/usr/local/bin/python3")
_ACCOUNT = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+-]*\$?\Z")


def become(name: str, state: str, identity: str, archive: str, arguments: List[str]) -> None:
    """Never returns: `attach`, as that account. Raises `StateError` when that cannot be."""
    account = find_account(name)
    _check_epoch(state, arguments)
    os.umask(0o022)  # the account reads what root keeps of its runs
    _own_directory(state, account)
    base = _enter_cgroup(identity, account)
    _be_ordinary()
    helper = start_helper(base, account) if base is not None else None
    os.chdir("/")
    drop_rights(account)
    with contextlib.suppress(OSError):  # a kernel without keyrings has none to leave
        libc.leave_keyring()
    command = [*_interpreter(name, archive), "attach", "--state", state, "--identity", identity, "--claims", "none"]
    command += ["--no-cgroup"] if base is None else ["--cgroup", base, "--helper-fd", str(helper)]
    os.execve(command[0], [*command, *arguments], basic_environment(account))


def _check_epoch(state: str, arguments: List[str]) -> None:
    """Raise where root's own program has heard of a later server: the account's may not have yet."""
    base = os.path.dirname(os.path.dirname(state))
    asks = arguments[arguments.index("--epoch") + 1] if "--epoch" in arguments else ""
    if fence.later_than(StateDir(os.path.join(base, "node")), asks) is not None:
        raise StateError("another server, which was restored from a backup of this one, commands this node")


def drop_rights(account: pwd.struct_passwd) -> None:
    """Be that account from here on, with its groups and nothing of root's."""
    os.setgroups(os.getgrouplist(account.pw_name, account.pw_gid))
    os.setresgid(account.pw_gid, account.pw_gid, account.pw_gid)
    os.setresuid(account.pw_uid, account.pw_uid, account.pw_uid)


def find_account(name: str) -> pwd.struct_passwd:
    """That account, which is not root. Raises `StateError`."""
    if not _ACCOUNT.match(name):
        raise StateError(f"{CANNOT}{name!r}: not a name of an account")
    try:
        account = pwd.getpwnam(name)
    except KeyError:
        raise StateError(f"{CANNOT}{name}: this machine has no such account") from None
    if account.pw_uid == 0:
        raise StateError(f"{CANNOT}{name}: that is root")
    return account


def _own_directory(path: str, account: pwd.struct_passwd) -> None:
    """The account's own directory, below one that only root can change."""
    above = os.lstat(os.path.dirname(path))
    if above.st_uid != 0 or above.st_mode & 0o022 or not stat.S_ISDIR(above.st_mode):
        raise StateError(f"{os.path.dirname(path)} can be changed by others than root: chown root, chmod go-w")
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700)
        os.chown(path, account.pw_uid, account.pw_gid)
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != account.pw_uid:
        raise StateError(f"{CANNOT}{account.pw_name}: {path} is not that account's (uid {found.st_uid}); move it away")


def _enter_cgroup(identity: str, account: pwd.struct_passwd) -> Optional[str]:
    """The cgroup of the account's runs, with this process in a leaf of it; None where there are none.

    All of it is root's: what a job could write to, it could leave its cgroup by."""
    base = cgroup.account_base(identity, account.pw_uid)
    if base is None:
        return None
    leaf = os.path.join(base, cgroup.DAEMON)
    try:
        os.makedirs(leaf, exist_ok=True)
        os.chmod(base, 0o755)
        for path in (base, *(os.path.join(base, name) for name in cgroup.subdirectories(base))):
            _take_back(path)
        with open(os.path.join(leaf, "cgroup.procs"), "w", encoding="ascii") as file:
            file.write(str(os.getpid()))
    except OSError:
        return None
    cgroup.enable_controllers(base)
    return base


def _take_back(path: str) -> None:
    """Earlier releases gave these to the account."""
    for name in ("", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control"):
        with contextlib.suppress(FileNotFoundError):
            os.chown(os.path.join(path, name) if name else path, 0, 0)


def _be_ordinary() -> None:
    """A server may be spared by the kernel's killer and be served first; a job may not."""
    with contextlib.suppress(OSError):
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write("0")
        os.setpriority(os.PRIO_PROCESS, 0, 0)


def _interpreter(name: str, archive: str) -> List[str]:
    """A Python that the account may run, and the program; asked as the account itself."""
    if not os.access(archive, os.R_OK):
        raise StateError(f"{CANNOT}{name}: it may not read {archive}; is a directory above it closed?")
    python = find_python()
    if python is None:
        raise StateError(f"{CANNOT}{name}: it may not run {sys.executable}, and there is no {_INTERPRETERS[0]}")
    return [python, "-I", archive]


def find_python() -> Optional[str]:
    """A Python that this process may run with the rights that it has now: the one it runs on, else the system's own."""
    if os.access(sys.executable, os.X_OK) and os.access(os.__file__, os.R_OK):
        return sys.executable
    return next((path for path in _INTERPRETERS if os.access(path, os.X_OK)), None)
