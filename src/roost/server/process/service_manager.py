"""Words to the service manager that started us, by its protocol: a datagram to the socket that it names.

Silent when nobody is there to listen.
"""

import contextlib
import os
import socket


class Supervisor:
    """The service manager, if there is one. Its address is taken out of the environment: jobs are not to have it."""

    def __init__(self) -> None:
        self._address = os.environ.pop("NOTIFY_SOCKET", "")

    @property
    def is_there(self) -> bool:
        """Whether somebody asked to be told."""
        return bool(self._address)

    def tell(self, *lines: str) -> None:
        """`READY=1`, `STATUS=…`, `STOPPING=1`. A manager that does not listen is no reason to fail."""
        if not self._address:
            return
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as to:
            to.settimeout(1)
            to.sendto("\n".join(lines).encode(), address)
