"""How long nodes have been away, by a clock that nobody sets: a wall clock that jumps must not make a run lost."""

import time
from collections.abc import Callable

from roost.core import events as ev
from roost.core.cluster import Cluster


class Absences:
    """Of other machines, as far as this server has seen."""

    def __init__(self, cluster: Callable[[], Cluster], steady_s: Callable[[], float] = time.monotonic) -> None:
        self._cluster, self._steady_s = cluster, steady_s
        self._since_s: dict[str, float] = {}

    def watch(self, event: ev.Event) -> None:
        """Called with every event."""
        if isinstance(event, ev.NodeDetached):
            self._since_s.setdefault(event.node, self._steady_s())
        elif isinstance(event, (ev.NodeAttached, ev.NodeRemoved)):
            self._since_s.pop(event.node, None)

    def over(self, patience_s: float) -> set[str]:
        """Those that have been away for longer, without a break."""
        before_s, nodes = self._steady_s() - patience_s, self._cluster().nodes
        remote = {name for name, node in nodes.items() if node.access is not None}
        return {name for name in remote if self._since_s.get(name, before_s) < before_s}
