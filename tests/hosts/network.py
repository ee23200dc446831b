"""A bridge of its own with a line to every host, which can be cut.

The far end of a line is `eth0` of the host. Neighbours are set down for good, so that nobody asks for them: a host that
is gone without a word gives no error at all, as one behind a router.
"""

from __future__ import annotations

import json
import random

from tests.box import until
from tests.hosts.commands import is_done, tool

_OUTSIDE = 1
_FORWARDING, _DISABLED = "3", "0"


class Network:
    """198.18.x.0/24 behind a bridge. The outside is .1, the hosts are .11 and on."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.bridge = f"rh{tag}"
        self.prefix = f"198.18.{random.SystemRandom().choice(sorted(set(range(256)) - _taken()))}"
        # With the bridge gone nothing for the hosts may leave by the default route.
        tool("ip", "route", "add", "blackhole", f"{self.prefix}.0/24", "metric", "4000000000")
        tool("ip", "link", "add", self.bridge, "address", self.mac(_OUTSIDE), "type", "bridge")
        tool("ip", "addr", "add", f"{self.address(_OUTSIDE)}/24", "dev", self.bridge)
        tool("ip", "link", "set", self.bridge, "up")

    def address(self, number: int) -> str:
        """The address of a host."""
        return f"{self.prefix}.{number}"

    def line(self, number: int) -> Line:
        """The line to a host; it is laid when the host is switched on."""
        return Line(self, number)

    def close(self) -> None:
        """Take the bridge away."""
        self.remove(self.tag, self.prefix)

    @staticmethod
    def remove(tag: str, prefix: str) -> None:
        """The same for a network that nobody holds any more."""
        tool("ip", "link", "del", f"rh{tag}", may_fail=True)
        for kind in ("blackhole", "unreachable"):
            tool("ip", "route", "flush", "root", f"{prefix}.0/24", "type", kind, may_fail=True)

    def mac(self, number: int) -> str:
        return f"02:72:{self.tag[:2]}:{self.tag[2:4]}:{self.tag[4:6]}:{number:02x}"


class Line:
    """One host's cable."""

    def __init__(self, network: Network, number: int) -> None:
        self._network, self._number = network, number
        self._name = f"{network.bridge}-{number}"
        self.address = network.address(number)
        self._pid: int | None = None
        self._state = "whole"

    def lay(self, pid: int) -> None:
        """Connect the network namespace of that process; a cut from before is still there."""
        net, mac = self._network, self._network.mac(self._number)
        far = ("peer", "name", "eth0", "address", mac, "netns", str(pid))
        tool("ip", "link", "add", self._name, "type", "veth", *far)
        tool("ip", "link", "set", self._name, "master", net.bridge)
        inside = (
            f"addr add {self.address}/24 dev eth0\nlink set lo up\nlink set eth0 up\n{self._neighbour(_OUTSIDE, 'eth0')}"
        )
        tool("nsenter", "-t", str(pid), "-n", "ip", "-batch", "-", text=inside)
        tool("ip", "-batch", "-", text=self._neighbour(self._number, net.bridge))
        self._pid = pid
        self._apply()

    def _neighbour(self, number: int, device: str) -> str:
        net = self._network
        return f"neigh replace {net.address(number)} lladdr {net.mac(number)} nud permanent dev {device}\n"

    def take_up(self) -> None:
        """Remove it: the host is off and answers nothing."""
        tool("ip", "link", "del", self._name, may_fail=True)
        self._pid = None

    def cut(self) -> None:
        """Cut it and let everybody know: connections break, new ones are refused."""
        self._state = "cut"
        self._apply()

    def cut_silently(self) -> None:
        """No packet comes through any more, and nobody is told."""
        self._state = "silent"
        self._apply()

    def heal(self) -> None:
        """Mend it."""
        self._state = "whole"
        self._apply()

    def _apply(self) -> None:
        tool("ip", "route", "del", "unreachable", f"{self.address}/32", may_fail=True)
        if self._state == "cut":
            tool("ip", "route", "add", "unreachable", f"{self.address}/32")
        if self._pid is None:
            return
        if self._state == "cut":
            tool("ip", "link", "set", self._name, "down")
            self._break_connections(self._pid)
            return
        tool("ip", "link", "set", self._name, "up")
        state = _DISABLED if self._state == "silent" else _FORWARDING
        words = ("bridge", "link", "set", "dev", self._name, "state", state)
        until("the line is up", lambda: is_done(*words))  # it takes a moment to come up

    def _break_connections(self, pid: int) -> None:
        tool("ss", "-K", "dst", self.address, may_fail=True)
        tool("nsenter", "-t", str(pid), "-n", "ss", "-K", "dst", self._network.address(_OUTSIDE), may_fail=True)


def _taken() -> set[int]:
    """The third numbers of 198.18.x.0/24 that this machine has a route for."""
    routes = json.loads(tool("ip", "-4", "-j", "route", "show", "table", "all"))
    words = [str(route.get("dst", "")).split("/")[0].split(".") for route in routes]
    return {int(numbers[2]) for numbers in words if numbers[:2] == ["198", "18"]}
