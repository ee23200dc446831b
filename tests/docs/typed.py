"""What a page tells its reader to type: every `roost …` of its blocks, tables and sentences, in its order.

A page about another program has two kinds of blocks: those marked `skip` are that program's, all others are run whole.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from tests.docs.pages import SKIP

_SPAN = re.compile(r"`([^`\n]+)`([^`|]*)")
_CODE = re.compile(r"(?:exit code|退出码) ?(\d+)")
_OURS = re.compile(r"(?:sudo )?roost [a-z-]")


class Typed(NamedTuple):
    """A line that somebody types, and how the page says that it ends."""

    line: str
    code: int = 0

    @property
    def words(self) -> list[str]:
        """Roughly its words, to see what it is about."""
        return self.line.removeprefix("sudo ").split()[1:]


def typed(text: str) -> list[Typed]:
    """Every command of a page."""
    found: list[Typed] = []
    mark: str | None = None
    for line in text.splitlines():
        if line.startswith("```"):
            mark = line[3:] if mark is None else None
        elif mark is None:
            found += [
                Typed(span.replace("\\|", "|"), _code(after)) for span, after in _SPAN.findall(line) if _OURS.match(span)
            ]
        elif mark.strip() == "sh" and line.strip():
            found.append(Typed(re.sub(r"\s+# .*$", "", line)))
    assert mark is None
    return found


def left_alone(text: str) -> list[str]:
    """Lines of ours in blocks that are not run: there must be none."""
    blocks = re.findall(rf"^```sh {SKIP}\n(.*?)^```", text, re.M | re.S)
    return [line for block in blocks for line in block.splitlines() if _OURS.match(line)]


def _code(after: str) -> int:
    said = _CODE.search(after)
    return int(said[1]) if said else 0
