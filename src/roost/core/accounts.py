"""The account that a job runs as, and the node program that runs it: two kinds of names that must not be mixed. Pure.

Both are plain text in the store and on the wire, so they cost nothing at run time; the type checker keeps them apart.
"""

from typing import NewType

Account = NewType("Account", str)
"""A UNIX account of the server's machine."""
SERVER_ACCOUNT = Account("")
"""The account that the server itself runs as."""
NO_ACCOUNT = Account("?")
"""Of a user who has no UNIX account here: nothing can run as that."""

Channel = NewType("Channel", str)
"""One of the programs that work on a node."""
NODE_CHANNEL = Channel("")
"""The node's own program: it samples the GPUs, and runs the jobs of the login that the node is reached as."""
_LOGIN = "@"


def account_channel(account: Account) -> Channel:
    """The program that works as that account; the server's own account has the node's own program."""
    return Channel(account)


def login_channel(user: str) -> Channel:
    """The program that works through a user's own login on the node."""
    return Channel(_LOGIN + user)


def login_user(channel: Channel) -> str | None:
    """Whose own login that program works through; None: nobody's."""
    return channel.removeprefix(_LOGIN) if channel.startswith(_LOGIN) else None


def channel_account(channel: Channel) -> Account | None:
    """The account that a program beside the node's own works as; None: it is the node's own, or a user's own login."""
    return None if channel == NODE_CHANNEL or channel.startswith(_LOGIN) else Account(channel)
