"""A job's environment: the submitter's, then Roost's variables, then its GPUs. Nothing of the daemon's own."""

from __future__ import annotations

import os
import pwd
import subprocess
from typing import Dict, List, NamedTuple, Optional

from roost.node.gpus.driver import Gpu
from roost.node.runs.report_file import path_of
from roost.node.runs.run_spec import Spec
from roost.node.system.shell import SHELL

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# The wrapper's own variable, one that shells set for every command anyway, and one that is of this node.
_NEVER_PASSED = ("ROOST_PID", "_", "ROOST_SIM_DIR")
_LONGEST_LOGIN_S = 5.0
_NOT_OF_LOGIN = ("SHLVL", "PWD", "OLDPWD", "_")


class Place(NamedTuple):
    node: str
    tag: str
    run_dir: str
    sim_dir: Optional[str]


def build_environment(spec: Spec, gpus: List[Gpu], place: Place) -> Dict[str, str]:
    env = {**account_defaults(), **spec.env, **spec.vars, **gpu_variables(gpus)}
    env["ROOST_NODE"] = spec.vars.get("ROOST_NODE", place.node)
    env["ROOST_RUN"] = place.tag
    env["ROOST_RUN_DIR"] = place.run_dir
    env["ROOST_REPORT"] = path_of(place.run_dir)
    env["PWD"] = spec.cwd
    for name in _NEVER_PASSED:
        env.pop(name, None)
    if place.sim_dir is not None:
        env["ROOST_SIM_DIR"] = place.sim_dir
    if "ROOST_SOCKET" not in spec.vars:  # of the job that submitted this one, on another machine
        env.pop("ROOST_SOCKET", None)
    return env


def gpu_variables(gpus: List[Gpu]) -> Dict[str, str]:
    """What CUDA, containers and people read to know their GPUs. No GPU is an empty list, never an unset variable."""
    uuids = ",".join(gpu.uuid for gpu in gpus)
    names = ",".join(gpu_names(gpus))
    return {
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": names,
        "NVIDIA_VISIBLE_DEVICES": uuids or "void",
        "ROOST_GPUS": names,
        "ROOST_GPU_UUIDS": uuids,
    }


def gpu_names(gpus: List[Gpu]) -> List[str]:
    """Indices, or UUIDs as soon as one is a MIG slice: CUDA knows slices by UUID only and mixes no styles."""
    by_uuid = any(gpu.mig for gpu in gpus)
    return [gpu.uuid if by_uuid else str(gpu.index) for gpu in gpus]


_defaults: Dict[str, str] = {}


def account_defaults() -> Dict[str, str]:
    """PATH, HOME and the like, for jobs that bring none."""
    if not _defaults:
        _defaults.update(_read_account())
    return _defaults


def log_in() -> None:
    """Let the jobs of this account start from what its login gives, its umask too."""
    found = ask_login_shell(_read_account())
    account_defaults().update(found.env)
    if found.umask is not None:
        os.umask(found.umask)


def _read_account() -> Dict[str, str]:
    uid = os.getuid()
    try:
        return basic_environment(pwd.getpwuid(uid))
    except KeyError:
        return {"PATH": DEFAULT_PATH, "HOME": "/", "USER": str(uid), "LOGNAME": str(uid), "SHELL": SHELL}


def basic_environment(account: pwd.struct_passwd) -> Dict[str, str]:
    """What every process of that account has."""
    name, shell = account.pw_name, account.pw_shell or SHELL
    return {"PATH": DEFAULT_PATH, "HOME": account.pw_dir, "USER": name, "LOGNAME": name, "SHELL": shell}


class LoginShell(NamedTuple):
    env: Dict[str, str]
    umask: Optional[int]


def ask_login_shell(basics: Dict[str, str]) -> LoginShell:
    """What the login shell of this account sets, for jobs that bring no environment; nothing when it does not answer."""
    mark = "roost-login-" + os.urandom(8).hex()
    script = f"umask; printf '{mark}\\0'; exec env -0"
    try:
        done = subprocess.run(
            [basics["SHELL"], "-l", "-c", script],
            env=basics,
            cwd=basics["HOME"] if os.path.isdir(basics["HOME"]) else "/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_LONGEST_LOGIN_S,
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
    env = {name: value for name, equals, value in pairs if equals and name and name not in _NOT_OF_LOGIN}
    last = before.strip().rpartition("\n")[2].strip()
    is_octal = 0 < len(last) <= 4 and all(digit in "01234567" for digit in last)
    return LoginShell(env, int(last, 8) & 0o777 if is_octal else None)
