"""From a selection to jobs: ids, `@`, labels, states, users, a search, as far as the caller may see them."""

import msgspec

from roost.core.errors import BadRequest, NotFound
from roost.server.clock import now_ms
from roost.server.identity.people import Caller
from roost.server.identity.redaction import Redaction
from roost.server.rounds.commands import ChangeSettings
from roost.server.rounds.engine import Engine
from roost.server.store_reader import StoreReader
from roost.server.views.job_views import away
from roost.server.views.selection import Select, check_search, parse_ids
from roost.store import listing, reads
from roost.store.rows import Filter

MANY = 2_000_000


class JobSelector:
    """Finds the jobs that a request names."""

    def __init__(self, engine: Engine, reader: StoreReader) -> None:
        self._engine, self._reader = engine, reader

    def veil(self, caller: Caller) -> Redaction:
        """What is hidden from the caller, in private mode."""
        return Redaction(caller, bool(self._engine.cluster.settings["users.private"]))

    async def ids(self, caller: Caller, select: Select, with_missing: bool = False) -> list[int]:
        """The selected ids. `NotFound` when nothing matches, or a named one does not exist and may not be missing."""
        wanted = await self.filter(caller, select)
        is_by_id = wanted == Filter(wanted.ids, viewer=wanted.viewer)
        if is_by_id and len(wanted.ids) == 1 and wanted.ids[0][0] == wanted.ids[0][1]:
            return [wanted.ids[0][0]]
        if wanted.states and self._engine.controller.has_lazy:
            await self._engine.ask(ChangeSettings("", {}))  # a commit: what is shown as running is found as running
        ask = self._reader.search if wanted.search else self._reader.read
        found = await ask(listing.ids, self.as_shown(wanted), MANY)
        if not found:
            raise NotFound("no job matches", "roost ls --all")
        named = {first for first, last in wanted.ids if first == last}
        if not is_by_id or not (missing := sorted(named - set(found))):
            return found
        if with_missing:
            return sorted({*found, *missing})
        raise NotFound(f"there is no job {missing[0]}", "roost ls --all")

    async def filter(self, caller: Caller, select: Select) -> Filter:
        """A selection as the store understands it."""
        if select.is_empty:
            raise BadRequest("say which jobs: an id, 10-20, @, all, --label, --state")
        ranges: list[tuple[int, int]] = []
        for item in parse_ids(select.ids):
            if isinstance(item, tuple):
                ranges.append(item)
                continue
            last = await self._reader.read(reads.last_id, caller.name, item)
            if last is None:
                raise NotFound("you have no such job yet", "roost submit …")
            ranges.append((last, last))
        if select.sweep is not None:
            await self._reader.sweep(select.sweep)
        wanted = Filter(
            ids=tuple(ranges),
            states=select.state_names(),
            users=tuple(filter(None, (select.user or "").split(","))),
            labels=tuple(select.labels),
            sweep=select.sweep,
            node=select.node,
            search=check_search(select.search),
        )
        return self.veil(caller).filter(wanted)

    def as_shown(self, wanted: Filter) -> Filter:
        """The same of the states that people see now."""
        return msgspec.structs.replace(wanted, away=away(self._engine.cluster, now_ms())) if wanted.states else wanted
