"""One contact with a machine, to its end: what is its host key, what does the node program say there. Decides nothing."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from roost.links import ssh
from roost.links.bootstrap import PUSH
from roost.links.targets import Target

CONTACT_S = 45.0
"""How long one contact may take."""
_SAID_BYTES = 1 << 20
_LINGER_S = 1.0


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
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=pipe, stdout=pipe, stderr=pipe, cwd="/", start_new_session=True, **identity
        )
    except OSError as error:
        return Said(127, b"", f"cannot run {command[0]}: {error.strerror}")
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    errors = asyncio.create_task(_all(process.stderr))
    code: int | None = None
    out = b""
    try:
        async with asyncio.timeout(CONTACT_S):
            out = await process.stdout.read(len(PUSH) + 1) if program is not None else b""
            if out == PUSH + b"\n" and program is not None:
                process.stdin.write(program)
                await process.stdin.drain()
                out = b""
            process.stdin.close()
            out += await _all(process.stdout)
            code = await process.wait()
    except (TimeoutError, ConnectionError):
        pass
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return Said(code, out, (await _last_words(errors)).decode("utf-8", "replace"))


async def _all(stream: asyncio.StreamReader) -> bytes:
    """What it says to its end, or as much as anybody listens to."""
    said = b""
    while len(said) < _SAID_BYTES and (piece := await stream.read(_SAID_BYTES)):
        said += piece
    return said


async def _last_words(errors: asyncio.Task[bytes]) -> bytes:
    """What was said on the way; a helper of ssh may hold the line open for ever."""
    try:
        return await asyncio.wait_for(errors, _LINGER_S)
    except TimeoutError:
        return b""
