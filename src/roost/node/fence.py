"""Which server may command this directory: of those that came from one state, the latest that was here.

An epoch is `SERVER.COUNT.CHANCE.SIGNATURE`. It is kept in the state directory; only servers can tell whether it is genuine.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any, Optional, Tuple

from roost.node.state_dir import StateDir, read_or_empty, write_text


def later_than(state: StateDir, asks: Any) -> Optional[str]:
    """The epoch of a later server, when one was here; otherwise this one is remembered. Another server's is no later one."""
    known = read_or_empty(_path(state)).strip()
    token = asks if isinstance(asks, str) else ""
    old, new = _parsed(known), _parsed(token)
    if old is not None and (new is None or (new[0] == old[0] and new[1:] < old[1:])):
        return known
    if new is not None and token != known:
        with contextlib.suppress(OSError):  # a full disk: remembered at the next contact
            write_text(_path(state), token + "\n")
    return None


def _path(state: StateDir) -> str:
    return os.path.join(state.path, "epoch")


def _parsed(token: str) -> Optional[Tuple[str, int, str]]:
    parts = token.split(".")
    if len(parts) != 4 or not parts[1].isdigit() or len(token) > 200:
        return None
    return parts[0], int(parts[1]), parts[2]
