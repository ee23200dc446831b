"""Wait for a server that stopped answering while we were connected; it is probably restarting."""

import time

from roost.cli.parse.options import Answer, Callable
from roost.cli.text.output import announce
from roost.client.errors import ServerUnreachable

PATIENCE_S = 60.0
_QUIET_S = 2.0
_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 1.0


def persist(call: "Callable[[], Answer]", patience_s: float = PATIENCE_S) -> "Answer":
    """Make the call, and repeat it while the server does not answer. Use it only after a first successful answer."""
    began = time.monotonic()
    said = False
    pause_s = _FIRST_PAUSE_S
    while True:
        try:
            return call()
        except ServerUnreachable as error:
            gone_s = time.monotonic() - began
            if gone_s > patience_s:
                from roost.messages.terminal import say

                error.hint = say("cli.jobs_continue")
                raise
            if gone_s > _QUIET_S and not said:
                announce("cli.reconnecting")
                said = True
        time.sleep(pause_s)
        pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)
