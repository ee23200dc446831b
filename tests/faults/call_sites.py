"""Every place in the program that changes a file, found in its source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import roost

PACKAGES = ("store", "server", "links", "node")
_OS = {
    "os": {"write", "pwrite", "writev", "fsync", "fdatasync", "rename", "replace", "link", "symlink", "mkdir", "makedirs"}
    | {"unlink", "remove", "rmdir", "removedirs", "ftruncate", "truncate", "posix_fallocate", "sendfile", "copy_file_range"},
    "shutil": {"copyfile", "copyfileobj", "copy", "copy2", "copytree", "move", "rmtree"},
    "tempfile": {"TemporaryFile", "NamedTemporaryFile", "TemporaryDirectory", "SpooledTemporaryFile", "mkstemp", "mkdtemp"},
    "sqlite3": {"connect"},
}
_METHODS = {"write_text", "write_bytes", "touch", "mkdir", "rename", "unlink", "rmdir", "hardlink_to", "symlink_to"}
_WRITING = set("wax+")


def sites() -> dict[str, list[str]]:
    """What is called where: `store/files.py:replace` to `os.rename`, …"""
    found: dict[str, list[str]] = {}
    base = Path(roost.__file__).parent
    for package in PACKAGES:
        for path in sorted((base / package).rglob("*.py")):
            name = str(path.relative_to(base))
            for function, call in _calls(ast.parse(path.read_text(encoding="utf-8")), "module"):
                if (what := _changes(call)) is not None:
                    found.setdefault(f"{name}:{function}", []).append(what)
    return found


def _calls(node: ast.AST, function: str) -> Iterator[tuple[str, ast.Call]]:
    for child in ast.iter_child_nodes(node):
        inner = child.name if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else function
        if isinstance(child, ast.Call):
            yield function, child
        yield from _calls(child, inner)


def _changes(call: ast.Call) -> str | None:
    """How a call changes files; None when it does not."""
    match call.func:
        case ast.Attribute(value=ast.Name(id=module), attr=name) if name in _OS.get(module, ()):
            return f"{module}.{name}"
        case ast.Attribute(value=ast.Name(id="os"), attr="open") if not _only_reads(call):
            return "os.open"
        case ast.Name(id="open") if _is_writing(call, 1):
            return "open"
        case ast.Attribute(value=receiver, attr="open") if _is_writing(call, 0) and not isinstance(receiver, ast.Constant):
            return "open"
        case ast.Attribute(attr=name) if name in _METHODS:
            return name
        case ast.Attribute(attr="replace") if len(call.args) == 1 and not call.keywords:
            return "replace"
    return None


def _only_reads(call: ast.Call) -> bool:
    flags = {node.attr for node in ast.walk(call.args[1]) if isinstance(node, ast.Attribute)}
    return bool(flags & {"O_RDONLY", "O_PATH"}) and "O_CREAT" not in flags


def _is_writing(call: ast.Call, position: int) -> bool:
    modes = [*call.args[position : position + 1], *(word.value for word in call.keywords if word.arg == "mode")]
    return any(isinstance(mode, ast.Constant) and _WRITING & set(str(mode.value)) for mode in modes)
