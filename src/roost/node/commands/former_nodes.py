"""What still lives here of nodes that this machine was before, for the same server: they were removed while out of reach.

Each has a directory beside the others; its program and runs are known by its `state_id`. Only looks.
"""

from __future__ import annotations

import os
import pwd
from typing import Dict, List, Set, Tuple

from roost.node.state_dir import StateDir, connect, read_text
from roost.node.system.procfs import owner_of, read_tag

Leftovers = Dict[str, Dict[str, List[str]]]
"""By node: the runs that live, by the account whose program has them; the node's own is empty."""


def leftovers(state: str) -> Leftovers:
    """Those beside this state directory, which is `…/SERVER/NODE/node`."""
    base = os.path.dirname(state)
    names = _identities(os.path.dirname(base), os.path.basename(base))
    alive = _alive() if names else set()
    found: Leftovers = {}
    for name, (identity, path) in names.items():
        runs: Dict[str, List[str]] = {}
        for account, tag in sorted(alive):
            if tag.startswith(identity + ":"):
                runs.setdefault(account, []).append(tag[len(identity) + 1 :])
        if _is_served(path):
            runs.setdefault("", [])
        if runs:
            found[name] = runs
    return found


def _identities(above: str, own: str) -> Dict[str, Tuple[str, str]]:
    """Of every other node: the name of its state directory, and its path."""
    try:
        names = sorted(set(os.listdir(above)) - {own})
    except OSError:
        return {}
    paths = {name: os.path.join(above, name, "node") for name in names}
    known = {name: (read_text(os.path.join(path, "state_id")) or "").strip() for name, path in paths.items()}
    return {name: (identity, paths[name]) for name, identity in known.items() if identity}


def _alive() -> Set[Tuple[str, str]]:
    """The account and the tag of every process of a run."""
    found = set()
    for name in os.listdir("/proc"):
        tag = read_tag(int(name)) if name.isdigit() else None
        if tag is not None:
            found.add((_account(int(name)), tag))
    return found


def _account(pid: int) -> str:
    """Whose program has a run: the account's, where root has become one."""
    uid = owner_of(pid)
    if os.geteuid() != 0 or uid in (None, 0):
        return ""
    try:
        return pwd.getpwuid(uid or 0).pw_name
    except KeyError:
        return ""


def _is_served(path: str) -> bool:
    connection = connect(StateDir(path))
    if connection is not None:
        connection.close()
    return connection is not None
