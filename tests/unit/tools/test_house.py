"""The limits of the house, each on a small tree that keeps it and on one that breaks it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools import house


def tree(root: Path, files: dict[str, str]) -> house.House:
    """A code base of these files, measured."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return house.measure(root)


def found(
    root: Path, files: dict[str, str], roots: dict[str, str] | None = None, tables: dict[str, str] | None = None
) -> list[str]:
    return house.breaches(tree(root, files), roots or {}, tables or {})


# --- files per folder ---


@pytest.mark.parametrize("folder", ["src/roost/cli", "tests/e2e"])
def test_the_26th_file_of_a_folder_is_too_many(tmp_path: Path, folder: str) -> None:
    files = {f"{folder}/file{n}.txt": "" for n in range(25)}
    assert found(tmp_path, files) == []
    assert found(tmp_path, {f"{folder}/__init__.py": ""}) == [f"{folder}: 26 files, limit 25"]


def test_what_is_built_or_hidden_does_not_count(tmp_path: Path) -> None:
    files = {f"src/roost/{name}/{n}.pyc": "" for n in range(30) for name in ("__pycache__", "web/built", ".cache")}
    assert found(tmp_path, {**files, **{f"src/roost/.hidden{n}": "" for n in range(30)}, "src/roost/a.py": ""}) == []
    assert tree(tmp_path, {}).files == {"src/roost": 1}


def test_folders_elsewhere_do_not_count(tmp_path: Path) -> None:
    assert found(tmp_path, {f"docs/{n}.md": "" for n in range(30)}) == []


# --- lines ---


def test_lines_are_counted_per_package_and_the_total_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"src/roost/__init__.py": "\n", "src/roost/a/__init__.py": "\n\n", "src/roost/a/b.py": "x = 1\n" * 3}
    shape = tree(tmp_path, {**files, "src/roost/a/table.csv": "\n" * 9, "tests/t.py": "\n" * 9})
    assert shape.lines == {"roost": 1, "roost.a": 5}
    monkeypatch.setattr(house, "MAX_SOURCE_LINES", 6)
    assert house.breaches(shape, {}, {}) == []
    monkeypatch.setattr(house, "MAX_SOURCE_LINES", 5)
    assert house.breaches(shape, {}, {}) == ["src: 6 lines of Python, limit 5"]


# --- imports ---

TWO = {"src/roost/__init__.py": "", "src/roost/p/__init__.py": "value = 1\n", "src/roost/p/b.py": ""}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import roost.p.b", {"roost.p.b"}),
        ("import roost.p.b as other", {"roost.p.b"}),
        ("from roost.p import b", {"roost.p.b"}),
        ("from roost.p import value", {"roost.p"}),
        ("from roost.p import b, value", {"roost.p", "roost.p.b"}),
        ("from roost.p.b import thing", {"roost.p.b"}),
        ("from . import b", {"roost.p.b"}),
        ("from .b import thing", {"roost.p.b"}),
        ("from .. import p", {"roost.p"}),
        ("from ..p import b", {"roost.p.b"}),
        ("def f():\n    from roost.p import b", {"roost.p.b"}),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from roost.p import b", {"roost.p.b"}),
        ("__import__('roost.p.b')", {"roost.p.b"}),
        ("__import__('roost.p', fromlist=('b',))", {"roost.p", "roost.p.b"}),
        ("import importlib\nimportlib.import_module('roost.p.b')", {"roost.p.b"}),
        ("from importlib import import_module\nimport_module('.b', 'roost.p')", {"roost.p.b"}),
        ("import os\nfrom json import dumps\nimport_module('pam')", set()),
        ("'from roost.p import b'", set()),
        ("import roost.p.a", set()),  # itself
    ],
)
def test_every_way_to_import_is_seen(tmp_path: Path, text: str, expected: set[str]) -> None:
    assert tree(tmp_path, {**TWO, "src/roost/p/a.py": text}).imports["roost.p.a"] == expected


def test_a_package_sees_its_own_modules_from_inside(tmp_path: Path) -> None:
    assert tree(tmp_path, {**TWO, "src/roost/p/__init__.py": "from .b import x"}).imports["roost.p"] == {"roost.p.b"}


def test_imports_of_computed_modules_are_named(tmp_path: Path) -> None:
    shape = tree(tmp_path, {"src/roost/a.py": "\n__import__('roost.' + name)"})
    assert shape.computed == ["roost.a:2"]
    assert any("roost.a:2" in line for line in house.report(shape))


def many(count: int) -> dict[str, str]:
    """A module `hub` that imports that many others, each of them twice."""
    names = [f"m{n}" for n in range(count)]
    hub = "".join(f"import roost.{name}\nfrom roost.{name} import x\n" for name in names)
    return {"src/roost/hub.py": hub, **{f"src/roost/{name}/__init__.py": "x = 1\n" for name in names}}


def test_the_21st_imported_module_is_too_many(tmp_path: Path) -> None:
    assert found(tmp_path, many(20)) == []
    assert found(tmp_path, many(21)) == ["roost.hub: imports 21 modules, limit 20"]


def test_a_composition_root_may_import_more(tmp_path: Path) -> None:
    assert found(tmp_path, many(21), roots={"roost.hub": "joins all"}) == []


@pytest.mark.parametrize("name", ["roost.hub", "roost.gone"])
def test_a_root_that_does_not_need_it_is_a_breach(tmp_path: Path, name: str) -> None:
    assert found(tmp_path, many(20), roots={name: "joins all"}) == [f"ROOTS lists {name}, which does not need it"]


# --- cycles ---


def modules(**imports: str) -> dict[str, str]:
    """Modules of `roost` that import the named others."""
    return {
        f"src/roost/{name}.py": "".join(f"from roost import {other}\n" for other in others.split())
        for name, others in imports.items()
    }


def test_imports_that_point_one_way_have_no_cycle(tmp_path: Path) -> None:
    assert tree(tmp_path, modules(a="b c", b="c d", c="d", d="")).cycles == []


def test_a_cycle_over_three_modules_is_found_once(tmp_path: Path) -> None:
    assert found(tmp_path, modules(a="b", b="c", c="a", d="a", e="")) == [
        "import cycle: roost.a -> roost.b -> roost.c -> roost.a"
    ]


def test_two_cycles_through_one_module_are_both_told(tmp_path: Path) -> None:
    assert tree(tmp_path, modules(a="b c", b="a", c="a")).cycles == [["roost.a", "roost.b"], ["roost.a", "roost.c"]]


@pytest.mark.parametrize(
    "back",
    [
        "def f():\n    from roost import a",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from roost.a import A",
        "__import__('roost.a')",
    ],
)
def test_a_hidden_import_closes_a_cycle(tmp_path: Path, back: str) -> None:
    files = {"src/roost/a.py": "from roost import b", "src/roost/b.py": back}
    assert found(tmp_path, files) == ["import cycle: roost.a -> roost.b -> roost.a"]


# --- functions ---


def function(lines: int, name: str = "f", indent: str = "") -> str:
    return "\n".join([f"{indent}def {name}():", *[f"{indent}    x = 1"] * (lines - 1)]) + "\n"


def test_the_61st_line_of_a_function_is_too_many(tmp_path: Path) -> None:
    assert found(tmp_path, {"src/roost/a.py": function(60)}) == []
    assert found(tmp_path, {"src/roost/a.py": function(61)}) == ["roost.a:f (line 1): 61 lines, limit 60"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("class C:\n" + function(61, "m", "    "), "roost.a:C.m"),
        ("async " + function(61), "roost.a:f"),
        ("if 1:\n" + function(61, "f", "    "), "roost.a:f"),
    ],
)
def test_methods_and_hidden_functions_are_measured(tmp_path: Path, text: str, name: str) -> None:
    (line,) = found(tmp_path, {"src/roost/a.py": text})
    assert line.startswith(f"{name} (line ")


def test_functions_of_tests_are_measured_too(tmp_path: Path) -> None:
    assert found(tmp_path, {"tests/unit/test_a.py": function(61)}) == ["tests.unit.test_a:f (line 1): 61 lines, limit 60"]


def test_a_function_that_returns_what_is_written_out_is_a_table(tmp_path: Path) -> None:
    rows = '        "a",\n' * 70
    table = f'def f():\n    """Rows."""\n    return [\n{rows}    ]\n'
    assert found(tmp_path, {"src/roost/a.py": table}) == []
    assert found(tmp_path, {"src/roost/a.py": table.replace("return", "x = 1\n    return")}) != []
    assert found(tmp_path, {"src/roost/a.py": table.replace("return [", "return f([").replace("    ]", "    ])")}) != []


def test_a_listed_table_may_be_long_and_one_that_is_short_is_a_breach(tmp_path: Path) -> None:
    assert found(tmp_path, {"src/roost/a.py": function(61)}, tables={"roost.a:f": "rows"}) == []
    assert found(tmp_path, {"src/roost/a.py": function(9)}, tables={"roost.a:f": "rows"}) == [
        "TABLES lists roost.a:f, which does not need it"
    ]


# --- the command ---


def test_the_exit_status_says_whether_a_limit_is_exceeded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(house.breaches, "__defaults__", ({}, {}))
    tree(tmp_path, modules(a="b", b=""))
    assert house.main([str(tmp_path)]) == 0
    tree(tmp_path, modules(a="b", b="a"))
    assert house.main([str(tmp_path)]) == 1
    assert "house: import cycle: roost.a -> roost.b -> roost.a\n" in capsys.readouterr().out
