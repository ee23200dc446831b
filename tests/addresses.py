"""What kinds of addresses this machine has."""

from __future__ import annotations

import socket


def has_ipv6() -> bool:
    """Whether it can talk to itself over IPv6."""
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True
