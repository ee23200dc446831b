"""Why a run could not start, with the node in it: what is missing on another machine looks, from here, as if it were there.

Pure. Knows the words of the node program (`roost.node.runs.command`); what it does not know it leaves as it is, behind the
name of the node.
"""

import re
from typing import NamedTuple


class _Words(NamedTuple):
    said: str
    named: str
    of_files: bool = True


_NO_ACCOUNT = re.compile(r"(?:.*: )?cannot run as (.+?): this machine has no such account")
_KNOWN = (
    _Words(r"no such directory: (.+)", "no such directory on {node}: {0}"),
    _Words(r"no such directory for the output file: (.+)", "no such directory on {node} for the output file: {0}"),
    _Words(r"no such file: (.+)", "no such file on {node}: {0}"),
    _Words(r"not a directory: (.+)", "not a directory on {node}: {0}"),
    _Words(r"no such interpreter: (.+)", "no such interpreter on {node}: {0}", False),
    _Words(
        r"no such command: (\S+) \(not in PATH(.*)\)", "no such command on {node}: {0} (not in the PATH there{1})", False
    ),
    _Words(r"permission denied: (.+)", "permission denied on {node}: {0}", False),
)


def name_node(error: str, node: str) -> str:
    """The reason, told to somebody who sits elsewhere."""
    if found := _NO_ACCOUNT.fullmatch(error):
        return f"{found[1]} has no account on {node}: have one made there, or choose another node with --node"
    for words in _KNOWN:
        if found := re.fullmatch(words.said, error, re.DOTALL):
            text = words.named.format(*found.groups(), node=node)
            advice = " (is it not shared with that node? copy it there, or name another with --cwd or --node)"
            return text + advice if words.of_files else text
    return f"on {node}: {error}"
