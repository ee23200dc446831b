"""Real OpenSSH servers on one machine, each a host of its own: network, files, processes, name, boot.

    with Hosts(2) as hosts:
        hosts[0].ssh("hostname")
        hosts[0].cut(silent=True)

Needs root; `needs_hosts` skips loudly where they cannot be made. A host has no way to the world outside the machine, no
cgroups, and of the machine's files a copy of its own, less /root, /home, /tmp and /run.
"""

from tests.hosts.cluster import Hosts
from tests.hosts.commands import needs_hosts
from tests.hosts.host import Host

__all__ = ["Host", "Hosts", "needs_hosts"]
