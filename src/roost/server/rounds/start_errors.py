"""Why an attempt ended, as it is kept: a message of the catalogue `attempt`, with the node in it where it is not this one.

Pure. What is missing on another machine looks, from here, as if it were there. A text without a code, from a node program
of an earlier release, stays as it is, behind the name of the node.
"""

from roost.messages import Message
from roost.messages.message import PLAIN

_FAMILY = "attempt."
_OF_FILES = frozenset(("attempt.no_directory", "attempt.no_output_directory", "attempt.no_file", "attempt.bad_path"))
"""Of what may lie on the submitter's machine alone."""
_NO_ACCOUNT = ": this machine has no such account"


def told(code: str, /, **params: object) -> str:
    """What the server itself says of an attempt."""
    return Message(code, **params).as_text()


def believed(error: str | None) -> str | None:
    """What a node said: a message of the catalogue `attempt`, or a text. It names no other of our sentences."""
    if error is None:
        return None
    message = Message.of_text(error)
    is_ours = message.code.startswith(_FAMILY) and all(isinstance(value, str) for value in message.params.values())
    return error if is_ours or message.code == PLAIN else told("attempt.unknown", text=error)


def with_node(error: str, node: str) -> str:
    """The reason, told to somebody who sits elsewhere."""
    message = Message.of_text(believed(error) or "")
    if error.endswith(_NO_ACCOUNT):  # the last words of an account's program, on standard error
        return told("attempt.no_account", account=error.removesuffix(_NO_ACCOUNT).rpartition("cannot run as ")[2], node=node)
    return told("attempt.not_shared" if message.code in _OF_FILES else "attempt.on_node", node=node, why=message)
