"""The caller's defaults, put into the jobs of a body before it is checked."""

from collections.abc import Callable
from typing import Any

from roost.api.calls import Call
from roost.api.json_body import Fill
from roost.core.spec import fitting


def filled_in(key: str) -> Callable[[Call], Fill | None]:
    """For a route: what puts the defaults into the job or the jobs under that key; None when the caller has none."""

    def filler(call: Call) -> Fill | None:
        defaults = call.server.people.defaults.get(call.caller.name)
        if not defaults:
            return None
        nodes = call.server.engine.cluster.nodes
        if any(name not in nodes for name in defaults.get("prefer_nodes", ())):
            defaults = {**defaults, "prefer_nodes": [name for name in defaults["prefer_nodes"] if name in nodes]}

        def filled(job: Any) -> Any:
            return {**fitting(defaults, job), **job} if isinstance(job, dict) else job

        def fill(body: Any) -> Any:
            asked = body.get(key) if isinstance(body, dict) else None
            if isinstance(asked, list):
                return {**body, key: [filled(job) for job in asked]}
            return {**body, key: filled(asked)} if isinstance(asked, dict) else body

        return fill

    return filler
