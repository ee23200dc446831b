"""One request on its way to a route: who makes it, and the server that it is made of."""

from collections.abc import Callable, Iterable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from roost.api.edge.authentication import address_of, scheme_of
from roost.api.edge.forms import Form
from roost.api.edge.language import language_for
from roost.api.edge.peer_credentials import SCOPE_KEY
from roost.core.accounts import Account
from roost.core.errors import NotKnown
from roost.messages import Language
from roost.server.identity.people import Caller
from roost.server.identity.redaction import Redaction
from roost.server.parts import Parts
from roost.server.rounds.commands import Command


class Call:
    """A request that was let in. `prepare` is what is still to be done to the answer, like setting a cookie."""

    __slots__ = ("prepare", "request", "server")

    def __init__(self, request: Request, server: Parts) -> None:
        self.request, self.server = request, server
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
            raise NotKnown("request.log_in")
        return found

    @property
    def veil(self) -> Redaction:
        """What is hidden from the caller."""
        return self.server.selector.veil(self.caller)

    async def ask(self, command: Command) -> Any:
        """Have the caller's command obeyed: it is known whose it is, and what they did is in the audit."""
        return await self.server.engine.ask(command, self.caller.who)

    async def accounts(self, owners: Iterable[str | None]) -> dict[str, Account]:
        """The UNIX accounts that the jobs of these users run as; None is the caller. It is known then whether they may."""
        found = self.server.people.accounts_for(self.caller, owners)
        await self.server.accounts.know(found.values())
        return found

    def waits(self) -> None:
        """Its work is done, and it waits for something: others may be worked on meanwhile."""
        self.request.state.give_up_seat()

    @property
    def form(self) -> Form:
        """The form that a page sent; it was checked."""
        found: Form = self.request.state.form
        return found

    @property
    def language(self) -> Language:
        """The reader's language."""
        return language_for(self.request.scope)

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
