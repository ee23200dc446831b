#!/usr/bin/env python3
"""Print random sentences of the repository: `tools/sentences.py --seed 7 --count 100 [--zh]`.

They come from help and errors of the command line, the message catalogues, the dashboard and the documentation. Read each
one once, aloud. Rewrite every sentence that needs a second reading, then look for its like.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
from collections.abc import Iterator
from pathlib import Path

MIN_WORDS, MIN_CHARACTERS = 4, 6
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`*\[])")
_CHINESE_END = re.compile(r"(?<=[。！？])")
_BLOCK = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def sentences(root: Path, *, chinese: bool) -> list[str]:
    """Every sentence once, with the file that it is in, sorted."""
    language = "zh" if chinese else "en"
    parts = [*_catalogues(root, language), *_pages(root, language), *_documents(root, chinese=chinese)]
    if not chinese:
        parts += _program(root)
    found = {(text, name) for name, raw in parts for text in _split(raw, chinese=chinese)}
    return [f"{name}: {text}" for text, name in sorted(found)]


def _catalogues(root: Path, language: str) -> Iterator[tuple[str, str]]:
    for path in sorted((root / "src/roost/messages" / language).glob("*.txt")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line and not line.startswith("#"):
                yield path.name, line.partition(" = ")[2]


def _pages(root: Path, language: str) -> Iterator[tuple[str, str]]:
    for path in sorted((root / "web/src/words" / language).glob("*.ts")):
        for text in re.findall(r':\s+"((?:[^"\\]|\\.)*)"', path.read_text(encoding="utf-8")):
            yield f"web/{path.name}", text


def _documents(root: Path, *, chinese: bool) -> Iterator[tuple[str, str]]:
    for path in [*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md"))]:
        is_chinese = "zh" in path.parts or path.name.endswith("zh-CN.md")
        if is_chinese == chinese and path.name not in {"cli.md", "CODE_OF_CONDUCT.md"}:
            text = _BLOCK.sub("", path.read_text(encoding="utf-8"))
            for block in re.split(r"\n\s*\n|\n(?=\s*[-|#\d])", text):
                for cell in block.split(" | "):
                    yield str(path.relative_to(root)), " ".join(cell.split()).strip("|#-*> ")


def _program(root: Path) -> Iterator[tuple[str, str]]:
    """Texts of the command line and what else the program says itself; no docstrings."""
    for path in sorted((root / "src/roost").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        silent = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        silent |= {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in ast.walk(tree):
            if id(node) in silent:
                continue
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield str(path.relative_to(root)), node.value
            elif isinstance(node, ast.JoinedStr):
                yield str(path.relative_to(root)), "".join(_piece(part) for part in node.values)


def _piece(part: ast.expr) -> str:
    return str(part.value) if isinstance(part, ast.Constant) else "{…}"


def _split(raw: str, *, chinese: bool) -> Iterator[str]:
    for text in (_CHINESE_END if chinese else _END).split(" ".join(raw.replace("\\n", " ").split())):
        if (chinese and len(_CHINESE.findall(text)) >= MIN_CHARACTERS) or (not chinese and _reads_as_words(text)):
            yield text.strip()


def _reads_as_words(text: str) -> bool:
    """Whether it is prose, and not code, SQL or a pattern."""
    words = re.findall(r"(?<![\w/.$-])[A-Za-z][a-z']*(?![\w/(=-])", text)
    return len(words) >= MIN_WORDS and len(words) * 2 > len(text.split()) and not _CHINESE.search(text)


def main() -> None:
    """Print them."""
    parser = argparse.ArgumentParser(description="sentences of the repository at random")
    parser.add_argument("--seed", type=int, required=True, help="the same seed, the same sentences")
    parser.add_argument("--count", type=int, default=100, help="how many (default 100)")
    parser.add_argument("--zh", action="store_true", help="Chinese ones")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1], help="another checkout")
    asked = parser.parse_args()
    found = sentences(asked.root, chinese=asked.zh)
    for text in random.Random(asked.seed).sample(found, min(asked.count, len(found))):
        print(text)


if __name__ == "__main__":
    main()
