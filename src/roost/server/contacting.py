"""One contact with a machine, to its end: what is its host key, what does the node program say there. Decides nothing."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from roost.links import ssh
from roost.links.bootstrap import PUSH
from roost.links.targets import Target

CONTACT_S = 45.0
"""How long one contact may take."""
LOOK_S = 0.01
_SAID_BYTES = 1 << 20


class Said(msgspec.Struct, frozen=True):
    """How a command ended, and what it said."""

    code: int | None
    """None: it did not end in time."""
    out: bytes
    err: str


async def ask_program(command: list[str], program: bytes, identity: dict[str, Any] | None = None) -> Said:
    """Run something of the node program, which is pushed when it is asked for."""
    return await _run(command, program, identity or {})


async def host_keys(target: Target) -> tuple[list[ssh.HostKey], str]:
    """The host key that the machine shows now; and, where there is none, what ssh said."""
    with tempfile.TemporaryDirectory(prefix="roost-") as directory:
        path = Path(directory) / "known_hosts"
        said = await _run(ssh.host_key_command(target, path), None, {})
        found = ssh.keys_of(path.read_text()) if path.exists() else []
        return found, said.err if said.code is not None else "Connection timed out"


async def is_known(target: Target, key: ssh.HostKey) -> bool:
    """Whether the ssh configuration of this account trusts that key for that machine already."""
    asked = ["ssh", "-G", *(["-p", str(target.port)] if target.port is not None else []), "--", target.host]
    said = await _run(asked, None, {})
    words = dict(line.split(" ", 1) for line in said.out.decode("utf-8", "replace").splitlines() if " " in line)
    host, port = words.get("hostkeyalias") or words.get("hostname", target.host), words.get("port", "22")
    name = host if port == "22" else f"[{host}]:{port}"
    files = f"{words.get('userknownhostsfile', '')} {words.get('globalknownhostsfile', '')}".split()
    for file in files:
        found = await _run(["ssh-keygen", "-F", name, "-f", str(Path(file).expanduser())], None, {})
        lines = [line for line in found.out.decode("utf-8", "replace").splitlines() if not line.startswith("@")]
        if key in ssh.keys_of("\n".join(lines)):
            return True
    return False


async def _run(command: list[str], program: bytes | None, identity: dict[str, Any]) -> Said:
    """Run it to its end. Not by asyncio's own means: uvloop's cannot run anything as another account."""
    ours, theirs = socket.socketpair()
    with tempfile.TemporaryFile() as errors:
        try:
            end = theirs.fileno()
            process = subprocess.Popen(
                command, stdin=end, stdout=end, stderr=errors, cwd="/", start_new_session=True, **identity
            )
        except (OSError, subprocess.SubprocessError) as error:
            ours.close()
            return Said(127, b"", f"cannot run {command[0]}: {getattr(error, 'strerror', None) or error}")
        finally:
            theirs.close()
        out = bytearray()
        code: int | None = None
        try:
            async with asyncio.timeout(CONTACT_S):
                with contextlib.suppress(ConnectionError):  # it left: how is what counts
                    await _converse(ours, program, out)
                while (code := process.poll()) is None:
                    await asyncio.sleep(LOOK_S)
        except TimeoutError:
            pass
        finally:
            if process.poll() is None:
                process.kill()
                await asyncio.to_thread(process.wait)
        errors.seek(0)
        return Said(code, bytes(out), errors.read(_SAID_BYTES).decode("utf-8", "replace"))


async def _converse(ours: socket.socket, program: bytes | None, out: bytearray) -> None:
    """All that is said, into `out`; the program is pushed when it is asked for."""
    reader, writer = await asyncio.open_connection(sock=ours)
    wish = PUSH + b"\n"
    try:
        while program is not None and len(out) < len(wish) and wish.startswith(out):
            if not (piece := await reader.read(len(wish) - len(out))):
                break
            out += piece
        if out == wish and program is not None:
            out.clear()
            writer.write(program)
            await writer.drain()
        writer.write_eof()
        while len(out) < _SAID_BYTES and (piece := await reader.read(_SAID_BYTES)):
            out += piece
    finally:
        writer.close()
