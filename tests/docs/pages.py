"""The documents as values: pages, headings, links, blocks of commands."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
SKIP = "skip"
"""A block marked so is for reading: it is not run."""


MADE = {ROOT / path for path in ("bench/results", "web/node_modules", "src/roost/web/built")}


class Block(NamedTuple):
    """A fenced block of shell commands."""

    mark: str
    text: str

    @property
    def commands(self) -> str:
        """Without comments behind commands: those are in the reader's language."""
        return "\n".join(re.sub(r"\s+# .*$", "", line) for line in self.text.splitlines())


def files() -> list[Path]:
    """Every file of the clone that is somebody's work: nothing that was made, fetched or cached."""
    found = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = sorted(name for name in folders if name == ".ci" or not name.startswith((".", "__")))
        folders[:] = [name for name in folders if Path(folder) / name not in MADE]
        found += [Path(folder) / name for name in sorted(names)]
    return found


def pages() -> list[Path]:
    """Every document of the repository."""
    return [path for path in files() if path.suffix == ".md"]


def read(name: str) -> str:
    """A document, by its path in the repository."""
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(text: str) -> list[Block]:
    """The blocks of shell commands, in order."""
    return [Block(m[1].strip(), m[2]) for m in re.finditer(r"^```sh([^\n]*)\n(.*?)^```", text, re.M | re.S)]


def prose(text: str) -> str:
    """The page without its fenced blocks."""
    return re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)


def headings(text: str) -> list[tuple[int, str]]:
    """Level and words of every heading."""
    return [(len(m[1]), m[2]) for m in re.finditer(r"^(#+) (.+)$", prose(text), re.M)]


def anchors(text: str) -> set[str]:
    """What a link may name behind `#`."""
    return {re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-") for _, words in headings(text)}


def links(text: str) -> list[str]:
    """The targets of all links and pictures."""
    return re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", prose(text)))


def code_spans(text: str) -> list[str]:
    """What stands between single backticks."""
    return re.findall(r"`([^`\n]+)`", prose(text))
