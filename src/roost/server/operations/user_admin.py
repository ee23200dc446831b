"""Administering users: who there is, their rules and defaults, deleting one with all their jobs."""

import asyncio
from typing import Any

import msgspec

from roost.answers.users import User, UserDeleted
from roost.core.errors import Impossible
from roost.core.model import UserRules
from roost.core.plan.placement import no_such_node
from roost.core.spec import check_defaults
from roost.core.states import ACTIVE, WAITING
from roost.server.address import Address
from roost.server.identity.people import FIRST, Caller, People
from roost.server.operations.job_actions import JobActions
from roost.server.rounds.commands import Act, RuleUser, Who
from roost.server.rounds.engine import Engine
from roost.server.store_reader import StoreReader
from roost.server.views.job_selector import MANY
from roost.server.views.selection import Select
from roost.server.views.user_views import user_view, users_view, with_account
from roost.store import listing
from roost.store.rows import Filter


class UserAdmin:
    """What administrators, and users for themselves, do about users."""

    def __init__(self, engine: Engine, reader: StoreReader, people: People, actions: JobActions, address: Address) -> None:
        self._engine, self._reader, self._people = engine, reader, people
        self._actions, self._address = actions, address

    async def users(self) -> list[User]:
        """Everybody who was added, has rules, or has a job that is not ended."""
        found = users_view(self._engine.cluster, self._people)
        return await asyncio.to_thread(lambda: [with_account(view) for view in found])

    async def user(self, name: str) -> User:
        """One user, known or not."""
        return await asyncio.to_thread(with_account, user_view(self._engine.cluster, self._people, name))

    async def delete(self, caller: Caller, name: str) -> UserDeleted:
        """End their jobs, then forget them."""
        await self._people.delete(caller.who, [name])
        live = tuple(state.value for state in (*WAITING, *ACTIVE))
        ids = await self._reader.read(listing.ids, Filter(users=(name,), states=live), MANY)
        ended: list[int] = []
        if ids:
            select = Select(ids=",".join(map(str, ids)))
            ended = (await self._actions.act(caller, Act(caller.name, "kill", []), select)).done
        if self._engine.cluster.user(name) != UserRules():
            await self.rule(caller, name, msgspec.structs.asdict(UserRules()))
        return UserDeleted(user=name, ended=ended, admitted=self._people.is_admitted(name))

    async def rule(self, caller: Caller, name: str, changes: dict[str, Any]) -> None:
        """Change a user's weight and quotas, live."""
        await self._engine.ask(RuleUser(caller.name, name, changes), caller.who)

    async def set_defaults(self, caller: Caller, values: dict[str, Any]) -> dict[str, Any]:
        """Keep the caller's defaults, checked as a job would be."""
        values = {key: value for key, value in values.items() if value is not None}
        spec, before = check_defaults(values), self._people.defaults.get(caller.name, {})
        old = {*before.get("nodes", ()), *before.get("prefer_nodes", ())}  # a node that has gone does not matter
        new = tuple(name for name in (*spec.nodes, *spec.prefer_nodes) if name not in old)
        if (missing := no_such_node(self._engine.cluster, new)) is not None:
            raise Impossible(missing)
        await self._people.set_defaults(caller.who, caller.name, values)
        return values

    async def first_link(self) -> str | None:
        """A one-time link for the first administrator; None when one can log in from elsewhere already."""
        if self._people.has_administrator:
            return None
        return self._address.link(await self._people.new_link(Who(), None, FIRST))
