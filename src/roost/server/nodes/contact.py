"""One contact with a machine, to its end: what is its host key, what does the node program say there. Decides nothing."""

import asyncio
import contextlib
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from subprocess import PIPE
from typing import Any

import msgspec

from roost.core.errors import TryLater
from roost.links import ssh
from roost.links.addresses import Target
from roost.links.bootstrap import PUSH
from roost.links.last_words import LastWords
from roost.links.messages import encode
from roost.links.ssh_errors import explain
from roost.server.nodes.node_commands import as_account

CONTACT_S = 45.0
"""How long one contact may take."""
_SAID_BYTES = 1 << 20


class Said(msgspec.Struct, frozen=True):
    """How a command ended, and what it said."""

    code: int | None
    """None: it did not end in time."""
    out: bytes
    err: str

    @property
    def facts(self) -> dict[str, Any] | None:
        """What the node program printed; None when that is not it."""
        try:
            found = msgspec.json.decode(self.out)
        except msgspec.DecodeError:
            return None
        return found if isinstance(found, dict) and self.code == 0 else None


def failure(words: str, target: str, node: str) -> TryLater:
    """Why a machine could not be asked, from what ssh said."""
    return TryLater(*explain(words, target, node))


async def run(
    command: list[str],
    program: bytes | None = None,
    account: str = "",
    lines: Sequence[dict[str, Any]] = (),
) -> Said:
    """Run it to its end, with that node program, which is pushed when it is asked for; then say these lines to it.

    As that account, with nothing of the server's. In a thread: the loop itself cannot start a process as somebody else.
    """
    identity = as_account(account) if account else {}
    return await asyncio.to_thread(_contact, command, program, identity, b"".join(map(encode, lines)))


async def host_keys(target: Target) -> tuple[list[ssh.HostKey], str]:
    """The host key that the machine shows now; and, where there is none, what ssh said."""
    with tempfile.TemporaryDirectory(prefix="roost-") as directory:
        path = Path(directory) / "known_hosts"
        said = await run(ssh.host_key_command(target, path))
        found = ssh.keys_of(path.read_text()) if path.exists() else []
        return found, said.err if said.code is not None else "Connection timed out"


async def is_known(target: Target, key: ssh.HostKey) -> bool:
    """Whether the ssh configuration of this account trusts that key for that machine already."""
    asked = ["ssh", "-G", *(["-p", str(target.port)] if target.port is not None else []), "--", target.host]
    said = await run(asked)
    words = dict(line.split(" ", 1) for line in said.out.decode("utf-8", "replace").splitlines() if " " in line)
    host, port = words.get("hostkeyalias") or words.get("hostname", target.host), words.get("port", "22")
    name = host if port == "22" else f"[{host}]:{port}"
    files = f"{words.get('userknownhostsfile', '')} {words.get('globalknownhostsfile', '')}".split()
    for file in files:
        found = await run(["ssh-keygen", "-F", name, "-f", str(Path(file).expanduser())])
        lines = [line for line in found.out.decode("utf-8", "replace").splitlines() if not line.startswith("@")]
        if key in ssh.keys_of("\n".join(lines)):
            return True
    return False


def _contact(command: list[str], program: bytes | None, identity: dict[str, Any], words: bytes) -> Said:
    with LastWords() as errors:
        try:
            process = subprocess.Popen(
                command, stdin=PIPE, stdout=PIPE, stderr=errors.writer, cwd="/", start_new_session=True, **identity
            )
        except (OSError, subprocess.SubprocessError) as error:
            return Said(127, b"", f"cannot run {command[0]}: {getattr(error, 'strerror', None) or error}")
        is_late = threading.Event()

        def end() -> None:
            is_late.set()
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)

        timer = threading.Timer(CONTACT_S, end)
        timer.start()
        with errors.listening(), process:
            out = _talk(process, program, words)
            if len(out) >= _SAID_BYTES:
                end()
        timer.cancel()
        return Said(None if is_late.is_set() else process.returncode, out, errors.text())


def _talk(process: subprocess.Popen[bytes], program: bytes | None, words: bytes) -> bytes:
    """What it says to its end, or as much as anybody listens to; the program is pushed when it is asked for, then words."""
    assert process.stdin is not None and process.stdout is not None
    out = process.stdout.read(len(PUSH) + 1) if program is not None else b""
    with contextlib.suppress(OSError):  # it left in the middle: what it said is why
        if out == PUSH + b"\n" and program is not None:
            out = b""
            process.stdin.write(program)
        process.stdin.write(words)
        process.stdin.close()
    return out + process.stdout.read(_SAID_BYTES - len(out))
