"""What a node is told to run at every contact: find a Python, have the node program pushed when it is not there, become it.

One line for whatever shell the login has, so it holds no quote, no newline and nothing that a shell would touch. The
program goes over the same channel, once, and is kept under the name of its content.
"""

import base64
import json
import zlib
from typing import Any

import msgspec

PUSH = b"push"
"""The line with which a node asks for the program; the bytes follow, and nothing before they were asked for."""
NO_PYTHON = "roost-node: no Python 3.8 or later was found"

# Runs on the node, under any Python from 3.8 on, before there is anything of ours. `w` is what is wanted.
_PROGRAM = r"""
import hashlib, os, sys
def fail(text):
    sys.stderr.write("roost-node: " + text + "\n")
    sys.exit(1)
def make(path, mode):
    os.makedirs(path, 0o700, exist_ok=True)
    if os.stat(path).st_uid != os.geteuid():
        fail(path + " belongs to another account: name another directory with --dir")
    os.chmod(path, mode)
def fetch(path):
    sys.stdout.write("push\n")
    sys.stdout.flush()
    left, parts = w["size"], []
    while left:
        piece = os.read(0, min(left, 1 << 20))
        if not piece:
            fail("the program was cut off on its way")
        parts.append(piece)
        left -= len(piece)
    data = b"".join(parts)
    if hashlib.sha256(data).hexdigest() != w["sha"]:
        fail("the program was damaged on its way")
    part = path + "." + str(os.getpid())
    with open(part, "wb") as file:
        file.write(data)
    os.chmod(part, 0o644)
    os.replace(part, path)
    tidy(os.path.dirname(path))
def is_whole(path):
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read(w["size"] + 1)).hexdigest() == w["sha"]
    except OSError:
        return False
def tidy(directory):
    paths = [os.path.join(directory, name) for name in os.listdir(directory)]
    for old in sorted(paths, key=os.path.getmtime)[:-4]:
        os.unlink(old)
def main():
    root = os.geteuid() == 0
    home = os.path.expanduser("~")
    if not root and not w["dir"] and (home == "/" or not os.path.isdir(home)):
        fail("the login has no home directory (" + home + "): name a directory with --dir")
    place = "/var/lib/roost-node" if root else home + "/.roost/nodes"
    base = os.path.abspath(os.path.expanduser(w["dir"] or place + "/" + w["id"] + "/" + w["node"]))
    try:
        if root and not w["dir"]:  # accounts pass through, whatever the umask of the login
            make(place, 0o711)
            make(place + "/" + w["id"], 0o711)
        make(base, 0o711 if root else 0o700)
        make(base + "/program", 0o755 if root else 0o700)
        program = base + "/program/roost-node-" + w["sha"][:12] + ".pyz"
        if not is_whole(program):
            fetch(program)
        if w["sim"]:
            make(base + "/sim", 0o755 if root else 0o700)
            make(base + "/sim/procs", 0o1777 if root else 0o700)
        if "--account" in w["argv"]:
            make(base + "/accounts", 0o711)
    except OSError as problem:
        fail("cannot use " + base + ": " + str(problem))
    identity = ""
    try:
        with open(base + "/node/state_id") as file:
            identity = file.read().strip()
    except OSError:
        if any("{IDENTITY}" in word for word in w["argv"]):
            fail("the program of the node itself was not there yet")
    argv = [word.replace("{BASE}", base).replace("{IDENTITY}", identity) for word in w["argv"]]
    os.execv(sys.executable, [sys.executable, "-I", program] + argv)
main()
"""


class Pushed(msgspec.Struct, frozen=True):
    """A built node program, as it is pushed."""

    data: bytes
    sha: str


class RemoteProgram(msgspec.Struct, frozen=True):
    """What is to run: `{BASE}` in `argv` is the directory, `{IDENTITY}` the name of the node's own program in it."""

    server: str
    node: str
    argv: list[str]
    dir: str | None = None
    python: str | None = None
    sim: bool = False


def script(wanted: RemoteProgram, program: Pushed) -> str:
    """The argument for `/bin/sh -c`: no single quote in it, no newline."""
    w: dict[str, Any] = {
        "id": wanted.server,
        "node": wanted.node,
        "argv": wanted.argv,
        "dir": wanted.dir,
        "sim": wanted.sim,
        "sha": program.sha,
        "size": len(program.data),
    }
    text = f"w = {json.dumps(json.dumps(w))}\nimport json\nw = json.loads(w)\n{_PROGRAM}"
    packed = base64.b64encode(zlib.compress(text.encode(), 9)).decode("ascii")
    run = f'"import base64,sys,zlib;exec(zlib.decompress(base64.b64decode(sys.argv[1])))" {packed}'
    is_good = '"import sys;sys.exit(sys.version_info<(3,8))"'
    pythons = _pythons(wanted.python)
    return (
        f'for p in {pythons};do if "$p" -c {is_good} 2>/dev/null;then exec "$p" -I -c {run};fi;done;'
        f"echo {_words(wanted.python)} >&2;exit 69"
    )


def _pythons(asked: str | None) -> str:
    if asked is not None:
        encoded = base64.b64encode(asked.encode()).decode("ascii")
        return f'"$(echo {encoded}|base64 -d)"'
    newest = " ".join(f"python3.{minor}" for minor in range(14, 7, -1))
    return f"python3 /usr/bin/python3 /usr/local/bin/python3 {newest}"


def _words(asked: str | None) -> str:
    return f"{NO_PYTHON}{' where --python says' if asked is not None else ''}"


def remote_line(wanted: RemoteProgram, program: Pushed) -> str:
    """The command line for the login shell over there."""
    return f"exec /bin/sh -c '{script(wanted, program)}'"
