"""One request on its way to a route: who makes it, and the server that it is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from roost.api.edge.authentication import address_of, scheme_of
from roost.api.edge.forms import Form
from roost.api.edge.peer_credentials import SCOPE_KEY
from roost.core.errors import NotKnown, TryLater
from roost.server.history.queries import Past
from roost.server.identity.people import Caller
from roost.server.identity.redaction import Veil
from roost.server.notify.targets import Targets
from roost.server.service import Service
from roost.server.views.dashboard_feed import Hub
from roost.server.views.sweep_views import Sweeps


@dataclass(frozen=True, slots=True)
class Backend:
    """What the routes of one server are answered from."""

    service: Service
    sweeps: Sweeps
    live: Hub
    past: Past
    notify_targets: Targets | None = None


class Call:
    """A request that was let in. `prepare` is what is still to be done to the answer, like setting a cookie."""

    __slots__ = ("backend", "prepare", "request", "service")

    def __init__(self, request: Request, backend: Backend) -> None:
        self.request, self.backend, self.service = request, backend, backend.service
        self.prepare: list[Callable[[Response], None]] = []

    @property
    def known(self) -> Caller | None:
        """Who asks, if that is known."""
        found: Caller | None = self.request.scope["state"]["caller"]
        return found

    @property
    def caller(self) -> Caller:
        """Who asks."""
        if (found := self.known) is None:
            raise NotKnown("log in first", "roost login URL")
        return found

    @property
    def veil(self) -> Veil:
        """What is hidden from the caller."""
        return self.service.veil(self.caller)

    @property
    def form(self) -> Form:
        """The form that a page sent; it was checked."""
        found: Form = self.request.state.form
        return found

    @property
    def scheme(self) -> str:
        """`https` where the browser speaks TLS."""
        return scheme_of(self.request.scope)

    @property
    def address(self) -> str:
        """Where the request comes from; empty on a UNIX socket."""
        return address_of(self.request.scope)

    @property
    def origin(self) -> str:
        """Where somebody tries to log in from: an address, or an account of this machine."""
        return self.address or f"uid {self.request.scope.get(SCOPE_KEY)}"

    @property
    def notify_targets(self) -> Targets:
        """The targets of notifications."""
        if self.backend.notify_targets is None:
            raise TryLater("this server tells nobody anything")
        return self.backend.notify_targets
