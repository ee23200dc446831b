"""From a spec to an argv that can be executed, or the reason why not, for the person whose job it is. Starts nothing."""

from __future__ import annotations

import os
import socket
import stat
import sys
from typing import Dict, List, Optional, Tuple

from roost.node.gpus.driver import Gpu
from roost.node.runs.environment import DEFAULT_PATH, gpu_names
from roost.node.runs.run_spec import Spec
from roost.node.runs.sayings import said

# The kernel takes no single argument longer than 128 KiB; longer shell lines travel as a file.
_LONGEST_ARGUMENT = 128 * 1024 - 1
# dash has the first four for itself; the others are read-only, or change by themselves, where sh is bash.
_SHELLS_OWN = frozenset(
    ["PPID", "OPTIND", "LINENO", "IFS", "UID", "EUID", "BASHOPTS", "SHELLOPTS", "BASH_VERSINFO", "RANDOM", "SECONDS"]
)
_INTERPRETERS = {".py": "python", ".sh": "bash", ".pl": "perl", ".rb": "ruby", ".R": "Rscript", ".jl": "julia"}

# Where commands were found: thousands of jobs run the same few, and a search asks every directory of the PATH.
_MAX_FOUND = 10_000
_found: Dict[Tuple[str, str], str] = {}


class CannotStart(Exception):
    """This run fails alone, with this reason: a code of the server's catalogue `attempt`, and its parameters."""

    def __init__(self, code: str, **params: str) -> None:
        super().__init__(said(code, **params))


def resolve(spec: Spec, env: Dict[str, str], run_dir: str, filled: Dict[str, str]) -> List[str]:
    """The argv to execute in `spec.cwd` with `env`; may write `script` into the run directory."""
    search = env.get("PATH") or DEFAULT_PATH
    if spec.argv is not None:
        argv = [fill(word, filled) for word in spec.argv]
        path = find_command(argv[0], search, spec.cwd)
        # `exec` of the shell would take a leading dash for an option of its own.
        return [path, *argv[1:]] if argv[0].startswith("-") else argv
    shell = find_shell(search)
    if spec.shell is not None:
        line = fill(spec.shell, filled)
        if len(line) * 4 < _LONGEST_ARGUMENT:
            return [shell, "-c", line]
        return [shell, write_script(run_dir, line)]
    text = fill(spec.script or "", filled)
    script = write_script(run_dir, text)
    args = [fill(word, filled) for word in spec.args]
    if not text.startswith("#!"):
        return [shell, script, *args]
    _check_interpreter(script, "script")
    return [script, *args]


def with_odd_names(argv: List[str], env: Dict[str, str]) -> Tuple[List[str], Optional[bytes]]:
    """The argv to give to a shell, and what it must find as descriptor `ENVIRONMENT_FD`, if anything.

    A shell drops variables whose names are no identifiers (exported bash functions), and has some for itself: this very
    Python then puts on the whole environment behind it. Not `env NAME=value`: arguments are seen by everybody.
    """
    if all(name.isidentifier() and name.isascii() and name not in _SHELLS_OWN for name in env):
        return argv, None
    data = b"\0".join(os.fsencode(name) + b"=" + os.fsencode(value) for name, value in env.items())
    return [sys.executable, "-I", "-S", "-X", "utf8", "-c", _DRESS, *argv], data


ENVIRONMENT_FD = 8
# Python ignores two signals; what it becomes must not.
_DRESS = """\
import os, signal, sys
for number in (signal.SIGPIPE, signal.SIGXFSZ):
    signal.signal(number, signal.SIG_DFL)
with open(8, "rb") as file:
    pairs = (pair.partition(b"=") for pair in file.read().split(b"\\0"))
    env = {name: value for name, _, value in pairs}
try:
    os.execvpe(sys.argv[1], sys.argv[1:], env)
except OSError as problem:
    sys.exit(f"{sys.argv[1]}: {problem.strerror}")
"""


def without_new_privileges(argv: List[str]) -> List[str]:
    """The argv that runs it so that no setuid program, `sudo` for one, can give it another account's rights."""
    return [sys.executable, "-I", "-S", "-X", "utf8", "-c", _NO_NEW_PRIVS, *argv]


_NO_NEW_PRIVS = """\
import ctypes, os, signal, sys
for number in (signal.SIGPIPE, signal.SIGXFSZ):
    signal.signal(number, signal.SIG_DFL)
if ctypes.CDLL(None).prctl(38, 1, 0, 0, 0):
    sys.exit("no_new_privs cannot be set")
try:
    os.execvp(sys.argv[1], sys.argv[1:])
except OSError as problem:
    sys.exit(f"{sys.argv[1]}: {problem.strerror}")
"""


def fill(text: str, values: Dict[str, str]) -> str:
    """Replace the placeholders that were asked for; every other brace stays as it is."""
    if not values or "{" not in text:
        return text
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text


def fill_values(run: str, gpus: List[Gpu], words: List[str]) -> Dict[str, str]:
    """What `{gpus}`, `{gpu}`, `{job}` and, where it is used, `{port}` stand for."""
    names = gpu_names(gpus)
    values = {"gpus": ",".join(names), "gpu": names[0] if names else "", "job": run.split(".", 1)[0]}
    if any("{port}" in word for word in words):
        values["port"] = str(free_port())
    return values


def words_of(spec: Spec) -> List[str]:
    return [*(spec.argv or []), spec.shell or "", spec.script or "", *spec.args]


def free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


def unusable_text(spec: Spec) -> CannotStart:
    """Which text of the spec the kernel cannot take: those with a NUL byte and those that are no UTF-8."""
    words = [*words_of(spec), spec.cwd, spec.stdout or "", spec.stderr or ""]
    names = [*spec.env, *spec.vars]
    for text in [*words, *names, *(spec.env.get(name) or spec.vars.get(name) or "" for name in names)]:
        shown = text[:60].encode("unicode_escape").decode("ascii")
        if "\0" in text:
            return CannotStart("attempt.nul_byte", text=shown)
        try:
            text.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            return CannotStart("attempt.invalid_text", text=shown)
    return CannotStart("attempt.invalid_variable")


def find_shell(search: str) -> str:
    for directory in search.split(":"):
        if directory.startswith("/") and os.access(directory + "/bash", os.X_OK):
            return directory + "/bash"
    return "/bin/sh"


def find_command(name: str, search: str, cwd: str) -> str:
    """The file that `name` means there, as a path; raises `CannotStart` with the reason."""
    if "/" in name:
        path = os.path.join(cwd, name)
        _check_program(path, name)
        return path
    known = _found.get((name, search))
    if known is not None and os.access(known, os.X_OK):
        return known
    unusable = None
    for directory in search.split(":"):
        path = os.path.join(cwd, directory, name)
        if not os.access(path, os.X_OK):
            unusable = unusable or (path if os.path.isfile(path) else None)
        elif not os.path.isdir(path):
            _check_interpreter(path, name)
            if directory.startswith("/") and len(_found) < _MAX_FOUND:
                _found[(name, search)] = path
            return path
    if unusable is not None:
        _check_program(unusable, unusable)
    is_here = os.path.isfile(os.path.join(cwd, name))
    raise CannotStart("attempt.command_is_a_file_here" if is_here else "attempt.no_command", name=name)


def enter(cwd: str) -> None:
    """Go where the job begins; the caller comes back."""
    if not cwd.startswith("/"):
        raise CannotStart("attempt.directory_not_absolute", path=cwd)
    try:
        os.chdir(cwd)
    except FileNotFoundError:
        raise CannotStart("attempt.no_directory", path=cwd) from None
    except PermissionError:
        raise CannotStart("attempt.directory_denied", path=cwd) from None
    except OSError as problem:
        raise CannotStart("attempt.bad_path", why=_reason(problem), path=cwd) from None


def _check_program(path: str, name: str) -> None:
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        raise CannotStart("attempt.no_file", path=name) from None
    except OSError as problem:
        raise CannotStart("attempt.bad_path", why=_reason(problem), path=name) from None
    if stat.S_ISDIR(mode):
        raise CannotStart("attempt.is_directory", path=name)
    if not os.access(path, os.X_OK):
        raise _not_executable(name)
    _check_interpreter(path, name)


def _not_executable(name: str) -> CannotStart:
    interpreter = _INTERPRETERS.get(os.path.splitext(name)[1])
    if interpreter is None:
        return CannotStart("attempt.not_executable", path=name)
    return CannotStart("attempt.script_not_executable", path=name, interpreter=interpreter)


def _check_interpreter(path: str, name: str) -> None:
    """A script whose interpreter is missing fails with "no such file", which misleads everybody."""
    try:
        with open(path, "rb", buffering=0) as file:
            head = file.read(256)
    except OSError:
        return  # executable and not readable is allowed
    if not head.startswith(b"#!"):
        return
    words = head[2:].split(b"\n", 1)[0].split(None, 1)
    if not words:
        return
    interpreter = words[0].decode("utf-8", "replace")
    is_of_windows = head.split(b"\n", 1)[0].endswith(b"\r")
    if (interpreter.startswith("/") and not os.access(words[0].rstrip(b"\r"), os.X_OK)) or is_of_windows:
        code = "attempt.interpreter_with_carriage_return" if is_of_windows else "attempt.no_interpreter"
        raise CannotStart(code, interpreter=interpreter.strip(), path=name)


def _reason(problem: OSError) -> str:
    return (problem.strerror or str(problem)).lower()


def write_script(run_dir: str, text: str) -> str:
    path = os.path.join(run_dir, "script")
    data = text.encode("utf-8", "surrogateescape")
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o700)
    with open(fd, "wb") as file:
        file.write(data if data.endswith(b"\n") else data + b"\n")
    return path


def output_error(problem: OSError, path: str) -> CannotStart:
    """Why an output file could not be opened."""
    if isinstance(problem, FileExistsError):
        return CannotStart("attempt.output_exists", path=path)
    if isinstance(problem, FileNotFoundError):
        return CannotStart("attempt.no_output_directory", path=os.path.dirname(path))
    return CannotStart("attempt.bad_output", why=_reason(problem), path=path)
