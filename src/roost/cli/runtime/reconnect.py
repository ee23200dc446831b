"""Wait for a server that went away while we listened to it: it is probably being restarted."""

import sys
import time

from roost.cli.parse.options import Answer, Callable
from roost.client.errors import ServerUnreachable

PATIENCE_S = 60.0
_QUIET_S = 2.0
_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 1.0


def persist(call: "Callable[[], Answer]", patience_s: float = PATIENCE_S) -> "Answer":
    """What the call gives, tried again while nobody answers. The first answer must have come before."""
    began = time.monotonic()
    said = False
    pause_s = _FIRST_PAUSE_S
    while True:
        try:
            return call()
        except ServerUnreachable as error:
            gone_s = time.monotonic() - began
            if gone_s > patience_s:
                error.hint = "jobs go on without it; start it again: roost up --detach"
                raise
            if gone_s > _QUIET_S and not said:
                print("roost: the server is gone; jobs go on; waiting for it to come back", file=sys.stderr)
                said = True
        time.sleep(pause_s)
        pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)
