"""What the server says: every text in its source that can reach a page, as a template with holes.

Reads the source as a tree and runs nothing. A text is an argument of a call that says something (`SAY`), what a function
returns (`RETURN`), or what is assigned to a name (`ASSIGN`). An f-string becomes a template; where it holds a choice or a
name with few values, there is a template for each. What a function of ours puts into a hole counts as a text of its own.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "roost"
HOLE = "{}"

SAY: dict[str, tuple[int, ...]] = {
    "Verdict": (1, 2),
    "good": (0, 1),
    "bad": (0, 1),
    "unsure": (0, 1),
    "Trouble": (1, 2),
    "_Rule": (2, 3),
    "_Words": (1,),
    "Unknown": (0,),
    "Ended": (4,),
    "LoseNode": (2,),
    "give_up": (2,),
    "could_not_start": (1,),
    "_refuse": (1,),
    **dict.fromkeys(("Skip", "BadSetting", "BadTarget", "BadCursor", "LinkDown", "NoSender", "CommitFailed"), (0,)),
    **dict.fromkeys(("CannotStart", "StateError", "AlreadyServed", "Unusable", "Refused", "DriverError"), (0,)),
}
"""Which arguments of which calls are words, besides those of every `RoostError`: message and hint."""

SAY_IN: dict[str, dict[str, int]] = {
    "core/sweeps/expressions.py": {"ValueError": 0, "TypeError": 0},
    "core/networks.py": {"ValueError": 0},
    "links/link.py": {"ValueError": 0, "fail": 0},
    "node/commands/attach.py": {"write": 1},
    "node/daemon/dispatch.py": {"BadMessage": 0},
    "node/runs/supervisor.py": {"BadSpec": 0},
    "server/rounds/loop.py": {"append": 0},
    "server/nodes/node_links.py": {"lost": 1, "append": 0},
}
"""The same of one file: calls that mean something else elsewhere."""

RETURN = {
    "api/app.py": ("_parameter_words",),
    "core/estimates/queue_ahead.py": ("why_first",),
    "core/plan/retries.py": ("difference", "preempted_words"),
    "links/bootstrap.py": ("_words",),
    "links/link.py": ("_attach", "_explained"),
    "node/commands/check.py": ("_cannot_write",),
    "node/runs/command.py": ("explain_text", "output_error"),
    "node/runs/out_of_memory.py": ("_words",),
    "server/notify/sender.py": ("_check", "words_for"),
    "server/rounds/start_errors.py": ("name_node",),
    "server/identity/pam.py": ("complaint",),
    "server/identity/passwords.py": ("why_weak",),
    "server/rounds/reports.py": ("_outcome",),
    "server/rounds/attempt_end.py": ("retry_words",),
    "server/views/job_views.py": ("gpu_state", "faults_view"),
}
"""Functions whose answer is words."""

ASSIGN = {
    "node/commands/questions.py": ("error",),
    "node/daemon/uplink.py": ("message",),
    "node/runs/exit_status.py": ("error",),
    "node/gpus/sampler.py": ("fault",),
    "node/daemon/gpu_samples.py": ("fault",),
    "node/runs/supervisor.py": ("reason",),
    "server/nodes/eviction.py": ("error",),
    "server/nodes/fleet.py": ("error",),
    "server/nodes/node_links.py": ("found",),
    "core/nodes.py": ("reason",),
}
"""Names, attributes and keys that hold words."""

TABLES = {
    "core/settings.py": "_KINDS",
    "server/notify/sender.py": "_WORDS",
    "server/rounds/handlers.py": "FOR_ADMINISTRATORS",
}
"""Dictionaries whose values are words, and pairs whose second is."""

WHERE = ("core", "server", "api", "links", "store", "node")
_MOST = 64
"""Templates that one text may become: more, and it is put together too freely to be said in another language."""


@dataclass(frozen=True)
class Text:
    """One template and where it is said."""

    template: str
    place: str


@dataclass
class Module:
    """A file, its functions and its constants."""

    path: str
    tree: ast.Module
    functions: dict[str, ast.FunctionDef | ast.AsyncFunctionDef] = field(default_factory=dict)
    values: dict[str, ast.expr] = field(default_factory=dict)


def texts() -> list[Text]:
    """All of them, each once, in the order of the files."""
    found: dict[str, Text] = {}
    for path in paths():
        for expression, function in _said_in(module(path)):
            for template in _Reader(module(path), function).all_of(expression):
                text = _told(template)
                if re.search(r"[A-Za-z]{2}", text.replace(HOLE, "")):
                    found.setdefault(text, Text(text, f"{path}:{expression.lineno}"))
    return list(found.values())


def _told(template: str) -> str:
    """As the server passes it on; what was cut is a hole."""
    return template.removeprefix("roost-node: ").replace(f"{HOLE}…", HOLE)


def paths() -> list[str]:
    """The files that are read."""
    return sorted(str(p.relative_to(SOURCE)) for where in WHERE for p in (SOURCE / where).rglob("*.py"))


@cache
def module(path: str) -> Module:
    """That file, read once."""
    made = Module(path, ast.parse((SOURCE / path).read_text()))
    for node in ast.walk(made.tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            made.functions.setdefault(node.name, node)
    for node in made.tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            made.values[node.targets[0].id] = node.value
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
            names = (target.id for target in node.targets[0].elts if isinstance(target, ast.Name))
            made.values.update(zip(names, node.value.elts, strict=False))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("roost."):
            other = (node.module or "").removeprefix("roost.").replace(".", "/") + ".py"
            if (SOURCE / other).is_file():
                known = module(other).values
                made.values.update({alias.name: known[alias.name] for alias in node.names if alias.name in known})
    return made


@cache
def errors() -> dict[str, tuple[int, ...]]:
    """Every `RoostError`, with its arguments that are words."""
    tree = module("core/errors.py").tree
    names = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
    return dict.fromkeys(names, (0, 1)) | {"TooFast": (0,), "HostKeyUnknown": ()}


def _said_in(where: Module) -> list[tuple[ast.expr, ast.AST]]:
    """The expressions that are words, each with the function around it."""
    found: list[tuple[ast.expr, ast.AST]] = [(expression, where.tree) for expression in _listed(where)]
    for node, function in _walk(where.tree, where.tree):
        if isinstance(node, ast.Call):
            found += [(expression, function) for expression in _words_of(where.path, node)]
        elif isinstance(node, ast.Return) and getattr(function, "name", "") in RETURN.get(where.path, ()) and node.value:
            found += [(expression, function) for expression in _elements(node.value)]
        else:
            found += [(expression, function) for expression in _assigned(node, ASSIGN.get(where.path, ()))]
    return found


def _walk(node: ast.AST, function: ast.AST) -> list[tuple[ast.AST, ast.AST]]:
    found: list[tuple[ast.AST, ast.AST]] = []
    for child in ast.iter_child_nodes(node):
        inner = child if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)) else function
        found += [(child, inner), *_walk(child, inner)]
    return found


def _words_of(path: str, call: ast.Call) -> list[ast.expr]:
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    if name == "__init__" and path == "core/errors.py":
        places: tuple[int, ...] = (0, 1) if len(call.args) > 1 else ()
    elif name in SAY_IN.get(path, {}):
        places = (SAY_IN[path][name],)
    else:
        places = errors().get(name, SAY.get(name, ()))
    named = [word.value for word in call.keywords if word.arg == "hint" and places]
    return [call.args[at] for at in places if at < len(call.args)] + named


def _elements(value: ast.expr) -> list[ast.expr]:
    """What a function answers with: a text, or texts in a tuple or a list."""
    if isinstance(value, ast.Tuple):
        return list(value.elts[1:])
    return [value.elt] if isinstance(value, ast.ListComp) else [value]


def _assigned(node: ast.AST, names: tuple[str, ...]) -> list[ast.expr]:
    if isinstance(node, ast.Dict):
        return [value for key, value in zip(node.keys, node.values, strict=True) if _is_key(key, names)]
    given = [value for target, value in _given(node) if _name(target) in names]
    return [one for value in given for one in _elements(value)]


def _given(node: ast.AST) -> list[tuple[ast.expr, ast.expr]]:
    """What a statement or an expression gives to what."""
    if isinstance(node, (ast.NamedExpr, ast.AugAssign)):
        return [(node.target, node.value)]
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        return [(node.target, node.value)]
    if not isinstance(node, ast.Assign):
        return []
    if isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
        return list(zip(node.targets[0].elts, node.value.elts, strict=False))
    return [(node.targets[0], node.value)]


def _listed(where: Module) -> list[ast.expr]:
    table = where.values.get(TABLES.get(where.path, ""))
    if isinstance(table, ast.Dict):
        return list(table.values)
    return [row.elts[1] for row in table.elts if isinstance(row, ast.Tuple)] if isinstance(table, ast.Tuple) else []


def _is_key(key: ast.expr | None, names: tuple[str, ...]) -> bool:
    return isinstance(key, ast.Constant) and key.value in names


def _name(target: ast.expr) -> str:
    return target.id if isinstance(target, ast.Name) else getattr(target, "attr", "")


class _Reader:
    """The templates of an expression, read inside one function."""

    def __init__(self, where: Module, function: ast.AST) -> None:
        self.where, self.function = where, function
        self.parts: list[str] = []
        self._open: set[str] = set()

    def all_of(self, expression: ast.expr) -> list[str]:
        """The templates, and those of its parts."""
        made = self._read(expression)
        assert len(made) <= _MOST, f"{self.where.path}:{expression.lineno}: {len(made)} texts in one"
        return made + self.parts

    def _read(self, node: ast.expr) -> list[str]:
        match node:
            case ast.Constant(value=str(text)):
                return [re.sub(r"\{\w*\}", HOLE, text)]
            case ast.Constant(value=None):
                return []
            case ast.JoinedStr(values=values):
                return _joined([self._piece(value) for value in values])
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                made = _joined([self._read(left), self._read(right)])
                return [HOLE] if made == [HOLE * 2] else made
            case ast.BinOp(left=left, op=ast.Mult()):
                return _once([*self._read(left), ""])
            case ast.IfExp(body=body, orelse=orelse):
                return _once([*self._read(body), *self._read(orelse)])
            case ast.BoolOp(values=values):
                return _once([text for value in values for text in self._read(value) if text])
            case ast.Name(id=name):
                return self._named(name)
            case ast.Call(func=ast.Attribute(value=inner, attr="format" | "encode")):
                return self._read(inner)
            case ast.Call(func=ast.Name(id=name)) if name in self.where.functions:
                return self._returned(name)
            case ast.Call(func=ast.Name(id="plain"), args=[inner, *_]):
                return self._read(inner)
            case _:
                return [HOLE]

    def _piece(self, value: ast.expr) -> list[str]:
        """A piece of an f-string. What a function of ours says in it is a part, and may be said in its own words."""
        if isinstance(value, ast.Constant):
            return [str(value.value)]
        assert isinstance(value, ast.FormattedValue)
        inner = value.value
        if value.format_spec is not None or value.conversion != -1:
            return [HOLE]
        if isinstance(inner, (ast.Call, ast.BoolOp)):
            found = self._read(inner)
            if not any(HOLE in text for text in found):
                return found
            self.parts += [text for text in found if text != HOLE]
            return [HOLE]
        return self._read(inner)

    def _named(self, name: str) -> list[str]:
        """What a name may hold: what the function assigns to it, else the module. If anything, it is a hole."""
        if name in self._open:
            return [HOLE]
        self._open.add(name)
        try:
            given = [pair for node in ast.walk(self.function) for pair in _given(node)]
            values = [value for target, value in given if isinstance(target, ast.Name) and target.id == name]
            if not values and name in self.where.values:
                values = [self.where.values[name]]
            found = [self._read(value) for value in values] or [[HOLE]]
            return [HOLE] if [HOLE] in found else _once([text for texts in found for text in texts]) or [HOLE]
        finally:
            self._open.discard(name)

    def _returned(self, name: str) -> list[str]:
        function = self.where.functions[name]
        inner = _Reader(self.where, function)
        inner._open = self._open | {name}
        if name in self._open:
            return [HOLE]
        answers = [node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value is not None]
        made = [text for answer in answers for one in _elements(answer) for text in inner._read(one)]
        self.parts += inner.parts
        return _once(made) or [HOLE]


def _joined(pieces: list[list[str]]) -> list[str]:
    return _once(["".join(chosen) for chosen in product(*pieces)])


def _once(texts: list[str]) -> list[str]:
    return list(dict.fromkeys(texts))
