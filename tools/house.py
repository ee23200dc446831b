#!/usr/bin/env python3
"""Print the shape of the code base and check its limits: `tools/house.py [ROOT]`.

Checked, with one line and exit status 1 for each breach:

- files per folder: no folder under `src` or `tests` holds more than 25 files. Every kind of file counts, `__init__.py` too;
  only what is built (`__pycache__`, `*.pyc`, `web/built`) and hidden files do not.
- out-degree: no module of `roost` imports more than 20 other modules of it, except those listed in ROOTS.
- cycles: no module of `roost` imports itself by way of others. Imports inside functions and under TYPE_CHECKING count.
- long functions: no function in `src` or `tests` has more than 60 lines from `def` to its end, except tables: functions that
  only return one list or dict written out, and those listed in TABLES.
- source lines: `src` holds at most MAX_SOURCE_LINES lines of Python. It had 44,763 when the house was laid out; since
  came messages in two languages, epochs and restores, enforced devices, scoped tokens, the chained audit, `roost doctor`.

An import whose module is computed at run time (`import_module("roost.cli." + name)`) cannot be followed; it is printed.
"""

from __future__ import annotations

import ast
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

PACKAGE = "roost"
COUNTED = ("src", "tests")
MAX_FILES = 25
MAX_IMPORTS = 20
MAX_FUNCTION_LINES = 60
MAX_SOURCE_LINES = 49_500

# Modules that may import more than 20 others because joining them is all they do. An entry that is not needed is a breach.
ROOTS: Mapping[str, str] = {
    "roost.api.app": "joins the routers of every part of the API into one application",
    "roost.server.main": "starts the process: home, store, engine, links, listener, background tasks",
    "roost.server.parts": "makes every part of the server and hands each what it needs",
}

# Functions that are tables though they do not return one literal: "module:function" or "module:Class.method".
TABLES: Mapping[str, str] = {
    "roost.store.writes:_statements": "one SQL statement a row; the first lines name what the rows have in common",
}


@dataclass(frozen=True)
class Function:
    module: str
    name: str
    line: int
    length: int
    is_table: bool


@dataclass
class House:
    """What was measured."""

    files: dict[str, int] = field(default_factory=dict)
    lines: Counter[str] = field(default_factory=Counter)
    imports: dict[str, set[str]] = field(default_factory=dict)
    computed: list[str] = field(default_factory=list)
    functions: list[Function] = field(default_factory=list)
    cycles: list[list[str]] = field(default_factory=list)

    @property
    def source_lines(self) -> int:
        return sum(self.lines.values())


def main(arguments: list[str]) -> int:
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parents[1]
    house = measure(root)
    for line in report(house):
        print(line)
    found = breaches(house)
    for line in found:
        print(f"house: {line}")
    return 1 if found else 0


def measure(root: Path) -> House:
    """Read every source file below `root` once."""
    house = House(files=files_per_folder(root))
    sources = dict(_sources(root / "src"))
    for module, path in sources.items():
        text = path.read_text(encoding="utf-8")
        house.lines[_package(module, path)] += text.count("\n")
        tree = ast.parse(text, str(path))
        is_package = path.name == "__init__.py"
        found = set(_imports(tree, module, is_package, sources, house.computed))
        house.imports[module] = found
        house.functions += _functions(tree, module)
    for module, path in _sources(root / "tests"):
        house.functions += _functions(ast.parse(path.read_bytes(), str(path)), f"tests.{module}")
    house.cycles = cycles(house.imports)
    return house


def breaches(house: House, roots: Mapping[str, str] = ROOTS, tables: Mapping[str, str] = TABLES) -> list[str]:
    """One line for each limit that is exceeded, and for each exception that is listed and not needed."""
    found = [f"{folder}: {count} files, limit {MAX_FILES}" for folder, count in house.files.items() if count > MAX_FILES]
    wide = {module: len(others) for module, others in house.imports.items() if len(others) > MAX_IMPORTS}
    found += [f"{module}: imports {n} modules, limit {MAX_IMPORTS}" for module, n in wide.items() if module not in roots]
    found += [f"ROOTS lists {module}, which does not need it" for module in roots if module not in wide]
    found += [f"import cycle: {' -> '.join([*cycle, cycle[0]])}" for cycle in house.cycles]
    long = {
        f"{one.module}:{one.name}": one for one in house.functions if one.length > MAX_FUNCTION_LINES and not one.is_table
    }
    found += [
        f"{name} (line {one.line}): {one.length} lines, limit {MAX_FUNCTION_LINES}"
        for name, one in long.items()
        if name not in tables
    ]
    found += [f"TABLES lists {name}, which does not need it" for name in tables if name not in long]
    if house.source_lines > MAX_SOURCE_LINES:
        found.append(f"src: {house.source_lines} lines of Python, limit {MAX_SOURCE_LINES}")
    return found


def report(house: House) -> Iterator[str]:
    """The house for people."""
    yield f"Files per folder under {' and '.join(COUNTED)}, at most {MAX_FILES}:"
    for folder, count in sorted(house.files.items()):
        yield f"  {count:6}  {folder}"
    yield "Lines of Python per package:"
    for package, count in sorted(house.lines.items()):
        yield f"  {count:6}  {package}"
    yield f"  {house.source_lines:6}  total, at most {MAX_SOURCE_LINES}"
    yield f"Largest out-degree of {len(house.imports)} modules, at most {MAX_IMPORTS}:"
    for module, others in sorted(house.imports.items(), key=lambda one: (-len(one[1]), one[0]))[:8]:
        yield f"  {len(others):6}  {module}{_because(ROOTS.get(module))}"
    yield f"Import cycles: {len(house.cycles)}"
    yield f"Imports of modules computed at run time: {', '.join(house.computed) or 'none'}"
    long = [one for one in house.functions if one.length > MAX_FUNCTION_LINES]
    yield f"Functions above {MAX_FUNCTION_LINES} lines: {len(long)} of {len(house.functions)}"
    for one in sorted(long, key=lambda one: -one.length):
        why = "a table" if one.is_table else TABLES.get(f"{one.module}:{one.name}")
        yield f"  {one.length:6}  {one.module}:{one.name}{_because(why)}"


def _because(reason: str | None) -> str:
    return f" ({reason})" if reason else ""


# --- files ---


def files_per_folder(root: Path) -> dict[str, int]:
    """How many files lie directly in each folder that counts."""
    counts: dict[str, int] = {}
    for top in COUNTED:
        for folder, below, names in os.walk(root / top):
            below[:] = sorted(name for name in below if name not in ("__pycache__", "built") and not name.startswith("."))
            count = sum(not name.startswith(".") and not name.endswith(".pyc") for name in names)
            if count:
                counts[os.path.relpath(folder, root)] = count
    return counts


def _sources(src: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(src.rglob("*.py")):
        parts = path.relative_to(src).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def _package(module: str, path: Path) -> str:
    """The folder that a module lies in, as a package."""
    return module if path.name == "__init__.py" else module.rpartition(".")[0] or module


# --- imports ---


def _imports(tree: ast.AST, module: str, is_package: bool, known: Iterable[str], computed: list[str]) -> Iterator[str]:
    """The modules of PACKAGE that a module imports anywhere in its text; computed ones are added to `computed`."""
    for node in ast.walk(tree):
        for name in _names(node, module, is_package, computed):
            target = _longest(name, known)
            if target and target != module and _is_own(target):
                yield target


def _names(node: ast.AST, module: str, is_package: bool, computed: list[str]) -> Iterator[str]:
    """What a statement or a call imports, as written: modules, and what is taken from them."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = _absolute(node.module or "", node.level, module, is_package)
        yield from (f"{base}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Call) and _called(node) in ("__import__", "import_module") and node.args:
        name = _text(node.args[0])
        if name is None:
            computed.append(f"{module}:{node.lineno}")
        elif name.startswith("."):
            package = (_text(node.args[1]) if len(node.args) > 1 else None) or module
            yield _absolute(name.lstrip("."), len(name) - len(name.lstrip(".")), package, True)
        else:
            yield name
            yield from (f"{name}.{part}" for part in _fromlist(node))


def _called(call: ast.Call) -> str:
    """The last name of what is called."""
    return (
        call.func.id if isinstance(call.func, ast.Name) else call.func.attr if isinstance(call.func, ast.Attribute) else ""
    )


def _text(node: ast.expr) -> str | None:
    """A string that is written out."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _fromlist(call: ast.Call) -> Iterator[str]:
    """What `__import__(name, fromlist=("module",))` asks for."""
    for given in [word.value for word in call.keywords if word.arg == "fromlist"] + call.args[3:4]:
        if isinstance(given, ast.Tuple | ast.List):
            yield from (text for text in map(_text, given.elts) if text)


def _absolute(base: str, level: int, module: str, is_package: bool) -> str:
    """`from ..base` seen from a module, without the dots."""
    if level == 0:
        return base
    parts = module.split(".")
    above = parts[: len(parts) - level + (1 if is_package else 0)]
    return ".".join([*above, base] if base else above)


def _longest(name: str, known: Iterable[str]) -> str:
    """The module that `a.b.c` names or takes something from: a.b.c, else a.b, else a; empty if there is none."""
    while name and name not in known:
        name = name.rpartition(".")[0]
    return name


def _is_own(module: str) -> bool:
    return module == PACKAGE or module.startswith(PACKAGE + ".")


def cycles(imports: Mapping[str, set[str]]) -> list[list[str]]:
    """Import cycles, shortest first. Where modules are knotted together, as many as must be cut until nothing is left."""
    found = []
    left = {module: set(others) for module, others in imports.items()}
    while knots := _knots(left):
        for knot in knots:
            within = {module: left[module] & knot for module in knot}
            cycle = min((_way_back(start, within) for start in sorted(knot)), key=len)
            found.append(cycle)
            left[cycle[-1]].discard(cycle[0])
    return found


def _way_back(start: str, imports: Mapping[str, set[str]]) -> list[str]:
    """The shortest way from a module of a knot back to itself."""
    ways = [[start]]
    seen: set[str] = set()
    for way in ways:
        for after in sorted(imports[way[-1]]):
            if after == start:
                return way
            if after not in seen:
                seen.add(after)
                ways.append([*way, after])
    raise ValueError(f"{start} is in no cycle")


def _knots(imports: Mapping[str, set[str]]) -> list[set[str]]:
    """Strongly connected components of more than one module (Tarjan, without recursion)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []
    for start in imports:
        if start in index:
            continue
        work = [(start, iter(sorted(imports[start])))]
        index[start] = low[start] = len(index)
        stack.append(start)
        while work:
            module, rest = work[-1]
            after = next((one for one in rest if one in imports), None)
            if after is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[module])
                if low[module] == index[module]:
                    at = stack.index(module)
                    knot = set(stack[at:])
                    del stack[at:]
                    found += [knot] if len(knot) > 1 else []
            elif after not in index:
                index[after] = low[after] = len(index)
                stack.append(after)
                work.append((after, iter(sorted(imports[after]))))
            elif after in stack:
                low[module] = min(low[module], index[after])
    return found


# --- functions ---


def _functions(tree: ast.Module, module: str) -> Iterator[Function]:
    pending: list[tuple[str, ast.AST]] = [("", tree)]
    while pending:
        prefix, parent = pending.pop()
        for node in ast.iter_child_nodes(parent):
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                name = f"{prefix}{node.name}"
                pending.append((f"{name}.", node))
                if not isinstance(node, ast.ClassDef):
                    length = (node.end_lineno or node.lineno) - node.lineno + 1
                    yield Function(module, name, node.lineno, length, _is_table(node))
            elif isinstance(node, ast.stmt | ast.excepthandler | ast.match_case):  # an expression holds no function
                pending.append((prefix, node))


def _is_table(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Besides its docstring it only returns one list, tuple, set or dict that is written out."""
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    value = body[0].value if len(body) == 1 and isinstance(body[0], ast.Return) else None
    return isinstance(value, ast.List | ast.Tuple | ast.Set | ast.Dict)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
