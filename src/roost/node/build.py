"""Packs the node program (and `nvidia-ml-py`, where installed) into `roost-node-<hash>.pyz`. Same sources, same bytes."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import zipfile
import zlib
from typing import Dict, NamedTuple, Optional

_EPOCH = (1980, 1, 1, 0, 0, 0)
_MAIN = """\
from roost.node.main import main
if __name__ == "__main__":
    raise SystemExit(main(program="{program}"))
"""


class Archive(NamedTuple):
    """A built node program. `program` is what its daemon calls itself in `hello`."""

    path: str
    content: str
    program: str


def build(directory: str) -> Archive:
    """The archive in this directory, made when it is not there, or not whole: a power failure may leave an empty one."""
    files = source_files()
    program = program_hash(files)
    files.update(_bindings())
    files["__main__.py"] = _MAIN.format(program=program).encode()
    content = _hash(files)
    path = os.path.join(directory, f"roost-node-{content[:12]}.pyz")
    os.makedirs(directory, 0o700, exist_ok=True)
    if not _has(path, files):
        _write(path, files)
    return Archive(path, content, program)


def source_files() -> Dict[str, bytes]:
    """The sources of the node program, by their names in the archive."""
    node = os.path.dirname(os.path.abspath(__file__))
    files = {"roost/__init__.py": _read(os.path.join(os.path.dirname(node), "__init__.py"))}
    for directory, _, names in os.walk(node):
        for path in (os.path.join(directory, name) for name in names if name.endswith(".py")):
            files["roost/node/" + os.path.relpath(path, node).replace(os.sep, "/")] = _read(path)
    return files


def program_hash(files: Dict[str, bytes]) -> str:
    """The name of this version of the node program."""
    return _hash(files)[:12]


def _bindings() -> Dict[str, bytes]:
    found: Optional[object] = None
    with contextlib.suppress(ImportError, ValueError):
        found = importlib.util.find_spec("pynvml")
    origin = getattr(found, "origin", None)
    return {"pynvml.py": _read(origin)} if origin and os.path.basename(origin) == "pynvml.py" else {}


def _hash(files: Dict[str, bytes]) -> str:
    total = hashlib.sha256()
    for name in sorted(files):
        total.update(f"{name}\0{len(files[name])}\0".encode())
        total.update(files[name])
    return total.hexdigest()


def _has(path: str, files: Dict[str, bytes]) -> bool:
    """Whether that archive holds exactly these."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()} == files
    except (OSError, ValueError, EOFError, NotImplementedError, zlib.error, zipfile.BadZipFile):
        return False


def _write(path: str, files: Dict[str, bytes]) -> None:
    part = f"{path}.{os.getpid()}"
    with open(part, "wb") as out:
        out.write(b"#!/usr/bin/env python3\n")
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in sorted(files):
                entry = zipfile.ZipInfo(name, _EPOCH)
                entry.external_attr = 0o644 << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, files[name])
        out.flush()
        os.fsync(out.fileno())
    os.chmod(part, 0o755)
    os.replace(part, path)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
