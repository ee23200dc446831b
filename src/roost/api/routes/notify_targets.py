"""Routes about notifications: a user's targets, a test of one, and what could not be sent. Never a URL in an answer."""

from roost.answers.notify_targets import NotToldOf, TargetMade, TargetRemoved, Targets, TargetTested
from roost.api.calls import Call
from roost.api.edge.authentication import Right
from roost.api.request_parameters import TargetId
from roost.api.route_table import Routes
from roost.core.errors import Conflict, NotFound, NotInstalled, NotPermitted
from roost.server.notify.targets import NewTarget

routes = Routes("notify")


@routes.get("/notify", Right.USER)
async def listed(call: Call) -> Targets:
    """The caller's targets."""
    return Targets(targets=await call.server.targets.listed(call.caller.name))


@routes.post("/notify", Right.USER, NotInstalled, Conflict, created=(TargetMade,))
async def add(call: Call, body: NewTarget) -> TargetMade:
    """A new target of the caller's."""
    return await call.server.targets.add(call.caller.who, body)


@routes.get("/notify/failures", Right.USER)
async def failures(call: Call, all: bool = False) -> NotToldOf:
    """Messages that could not be sent: the caller's, or everybody's for an administrator."""
    who = call.caller
    if all and not who.is_admin:
        raise NotPermitted("request.failures_of_all")
    return NotToldOf(failures=await call.server.targets.failures(None if all else who.name))


@routes.delete("/notify/{target}", Right.OWN, NotFound)
async def remove(call: Call, target: TargetId) -> TargetRemoved:
    """Forget a target and what waits for it."""
    await call.server.targets.remove(call.caller.who, target)
    return TargetRemoved(removed=target)


@routes.post("/notify/{target}/test", Right.OWN, NotFound, NotInstalled)
async def test(call: Call, target: TargetId) -> TargetTested:
    """Send a message there now, and say how that went."""
    return await call.server.targets.test(call.caller.name, target)
