"""Notifications: notices become messages, messages go to the sender, and what fails is tried again.

Outside the controller: it reads what is committed, and nothing waits for it. Without targets it does nothing.
"""

import asyncio
import contextlib
import logging
from typing import Any

import msgspec

from roost.core import events as ev
from roost.core.notify_events import GPU_FREE, IDLE, NONE, is_wanted
from roost.server.clock import now_ms
from roost.server.identity.people import People
from roost.server.logs.reader import LogReader
from roost.server.notify import notification_text as text
from roost.server.notify.gpu_watch import FreeWatch, Idle, IdleWatch
from roost.server.notify.notification_facts import facts_of, idle_facts, log_lines
from roost.server.notify.notification_text import Facts
from roost.server.notify.sender_process import NoSender, SenderProcess
from roost.server.rounds.engine import Engine
from roost.server.store_reader import StoreReader
from roost.store import outbox, reads
from roost.store.outbox import MORE, Message
from roost.store.rows import MessageRow, NoticeRow, TargetRow
from roost.store.store import Store

GATHER_S, PATIENCE_MS = 0.3, 30_000
"""Pause between two rounds, so that many ends are taken together. While no target can take more, rounds wait longer: most of
what piles up is then only counted."""
LOOK_S = 2.0
"""How often to look for idle and free GPUs, and for notices that were committed after their event."""
PRUNE_S = 3600.0
NOTICES = 5000
AT_ONCE = 32
FACTORS = (1, 3, 12, 60, 360)
GIVE_UP_MS = 86_400_000
FREE_PAUSE_MS = 60_000
"""A target is notified of free GPUs at most this often."""
LEAVE_S = 2.0

_log = logging.getLogger("roost.notify")


class _Line:
    """The state of a target besides its row: whether messages wait, and how sending went lately."""

    def __init__(self) -> None:
        self.waits = True
        self.task: asyncio.Task[None] | None = None
        self.sending = 0
        self.due_ms = 0
        """When the next message may be tried; 0: now."""
        self.failures = 0
        self.paused_ms = 0
        """Nothing is sent there before this time, since the last message failed."""
        self.free_sent_ms = 0
        self.owed: set[tuple[str, int]] = set()


class Notifier:
    """The loop that sends notifications, and the state of each target."""

    def __init__(
        self,
        store: Store,
        engine: Engine,
        reader: StoreReader,
        people: People,
        logs: LogReader,
        outgoing: SenderProcess | None = None,
    ) -> None:
        self._store, self._engine, self._reader, self._people, self._logs = store, engine, reader, people, logs
        self.outgoing = outgoing or SenderProcess()
        self.outgoing.on_late = self._sent_late
        self.targets: dict[int, TargetRow] = {}
        self._lines: dict[int, _Line] = {}
        self._wake = asyncio.Event()
        self._taken_ms = self._looked_ms = 0
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._idle, self._free = IdleWatch(), FreeWatch()
        self._pruned_ms = 0
        self._tasks: set[asyncio.Task[Any]] = set()
        self.reload()
        engine.watchers.add(self._watch)

    @property
    def is_enabled(self) -> bool:
        """Whether notifications are on."""
        return bool(self._engine.cluster.settings["notify.enabled"])

    def _is_locked(self, user: str) -> bool:
        """Whether that user is locked: they are not notified."""
        account = self._people.accounts.get(user)
        return account is not None and account.is_locked

    def reload(self) -> None:
        """Targets changed: read them, and tell the store which notices to keep for them."""
        self.targets = {row.id: row for row in self._store.read(outbox.targets)}
        self._lines = {target: self._lines.get(target) or _Line() for target in self.targets}
        wanted: dict[str, frozenset[str]] = {}
        for row in self.targets.values() if self.is_enabled else ():
            wanted[row.user] = wanted.get(row.user, frozenset()) | frozenset(row.words)
        self._store.tell(wanted)
        self._wake.set()

    def _watch(self, event: ev.Event) -> None:
        """Called with every event. Only takes notes, because the engine waits for it."""
        if isinstance(event, ev.SettingChanged):
            if event.key.startswith("notify."):
                self.reload()
        elif not self.targets:
            return
        elif isinstance(event, (ev.Ended, ev.Started)):
            self._wake.set()
        elif isinstance(event, ev.Sampled):
            now = now_ms()
            for uuid, seen in event.gpus:
                self._idle.see(uuid, seen, now)
        elif isinstance(event, ev.ClockStepped):
            self._idle.begin_again()
        elif isinstance(event, ev.NodeDetached):
            self._idle.forget(set(self._engine.cluster.nodes[event.node].gpus))

    # -- the loop ---------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Run until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._pause_s()):
                    await self._wake.wait()
            self._wake.clear()
            try:
                await self._round()
            except Exception as error:  # one failure must not stop all later notifications
                _log.error("a round of notifications failed: %s", type(error).__name__)
                _log.debug("", exc_info=error)
                await asyncio.sleep(LOOK_S)
            await asyncio.sleep(GATHER_S)

    def _pause_s(self) -> float | None:
        is_needed = (self.targets and self.is_enabled) or self.outgoing.pid is not None
        return LOOK_S if is_needed else None

    async def _round(self) -> None:
        await self.outgoing.tidy()
        if not self.targets or not self.is_enabled:
            return
        now = now_ms()
        is_ready = any(line.task is None and line.paused_ms <= now for line in self._lines.values())
        if is_ready or now - self._taken_ms >= PATIENCE_MS:
            self._taken_ms = now
            while await self._take_notices():
                pass
        if now - self._looked_ms >= LOOK_S * 1000:
            self._looked_ms = now
            await self._look_at_gpus()
        for target, line in self._lines.items():
            row = self.targets[target]
            can_go = line.waits and line.task is None and max(line.due_ms, line.paused_ms) <= now
            if can_go and not self._is_locked(row.user):
                line.task = asyncio.create_task(self._deliver(row, line))
        if now - self._pruned_ms > PRUNE_S * 1000:
            self._pruned_ms = now
            await self._change(outbox.prune, now, now - GIVE_UP_MS)

    async def close(self) -> None:
        """Wait a moment for what is being sent, then stop."""
        self._engine.watchers.discard(self._watch)
        tasks = [line.task for line in self._lines.values() if line.task is not None]
        self._lines = {}
        if tasks:
            await asyncio.wait(tasks, timeout=LEAVE_S)
        await self.outgoing.close()

    async def _change(self, change: Any, *arguments: Any) -> Any:
        return await asyncio.to_thread(self._store.transact, change, *arguments)

    # -- from notices to messages -----------------------------------------------------------------------------------

    async def _take_notices(self) -> bool:
        """Turn notices into messages; true when there may be more."""
        rows = await self._reader.read(outbox.notices, NOTICES)
        if rows:
            await self._put(await self._messages(rows), rows[-1].id)
        return len(rows) == NOTICES

    async def _messages(self, rows: list[NoticeRow]) -> list[Message]:
        """A message for each target that wants it. Beyond what may wait, the oldest are only counted."""
        by_target: dict[int, list[NoticeRow]] = {}
        for row in rows:
            by_job = tuple(filter(None, row.events.split(",")))
            for each in self.targets.values():
                if each.user == row.user and is_wanted(row.kind, each.words, by_job) and not self._is_locked(row.user):
                    by_target.setdefault(each.id, []).append(row)
        kept = {target: wanted[-outbox.UNSENT_KEPT :] for target, wanted in by_target.items()}
        jobs = sorted({row.job for wanted in kept.values() for row in wanted})
        known = await self._reader.read(reads.jobs, jobs)
        attempts = await self._reader.read(reads.attempts, jobs)
        messages = []
        for target, wanted in by_target.items():
            if len(wanted) > len(kept[target]):
                messages.append(Message(target, MORE, "", str(len(wanted) - len(kept[target]))))
            for row in kept[target]:
                messages.append(self._message(target, facts_of(row, known.get(row.job), attempts.get(row.job, []))))
        return messages

    def _message(self, target: int, facts: Facts) -> Message:
        subject = text.subject(facts, self.targets[target].lang)
        return Message(
            target, facts.kind, subject, msgspec.json.encode(facts).decode(), facts.job or None, facts.attempt or None
        )

    async def _put(self, messages: list[Message], last_notice: int = 0) -> None:
        messages = [message for message in messages if message.target in self.targets]
        await self._change(outbox.put, messages, last_notice, now_ms(), {line.sending for line in self._lines.values()})
        for message in messages:
            if (line := self._lines.get(message.target)) is not None:
                line.waits, line.due_ms = True, 0

    # -- idle and free GPUs -----------------------------------------------------------------------------------------

    async def _look_at_gpus(self) -> None:
        cluster, now = self._engine.cluster, now_ms()
        messages = []
        for idle in self._idle.look(cluster, now, int(cluster.number("notify.idle_min") * 60_000)):
            messages += await self._idle_messages(idle)
        if any(GPU_FREE in target.words for target in self.targets.values()):
            messages += self._free_messages(now)
        if messages:
            await self._put(messages)

    async def _idle_messages(self, idle: Idle) -> list[Message]:
        job, attempt = idle.active.job.id, idle.active.attempt
        row = (await self._reader.read(reads.jobs, [job])).get(job)
        if row is None or (not idle.was_seen_working and await self._reader.read(outbox.was_told, IDLE, job, attempt)):
            return []
        by_job = row.decoded().notify
        if NONE in by_job or self._is_locked(row.user):
            return []
        facts = idle_facts(idle, row, now_ms())
        return [
            self._message(target.id, facts)
            for target in self.targets.values()
            if target.user == row.user and is_wanted(IDLE, target.words, by_job)
        ]

    def _free_messages(self, now: int) -> list[Message]:
        """Messages about GPUs that became free: at once, or after the pause if they still are."""
        cluster = self._engine.cluster
        found = self._free.look(cluster, now, int(cluster.number("notify.free_s") * 1000))
        messages = []
        for target in self.targets.values():
            line = self._lines[target.id]
            is_asked = GPU_FREE in target.words and not self._is_locked(target.user)
            line.owed = (line.owed & self._free.free) | set(found) if is_asked else set()
            if line.owed and now - line.free_sent_ms >= FREE_PAUSE_MS:
                messages.append(self._message(target.id, Facts(GPU_FREE, where=tuple(sorted(line.owed)))))
                line.free_sent_ms, line.owed = now, set()
        return messages

    # -- sending ----------------------------------------------------------------------------------------------------

    async def _deliver(self, target: TargetRow, line: _Line) -> None:
        """Send what waits for a target, one after the other, until nothing is left or one message fails."""
        try:
            while self._lines.get(target.id) is line and self.is_enabled:
                line.waits = False  # before looking: what comes while we look sets it again
                message = await self._reader.read(outbox.next_message, target.id, now_ms())
                if message is None:
                    soonest = await self._reader.read(outbox.soonest, target.id)
                    if soonest is not None and not line.waits:
                        line.waits, line.due_ms = True, soonest
                    return
                line.waits, line.sending = True, message.id
                if not await self._send(target, line, message):
                    return
        except Exception as error:
            _log.error("a message to target %s could not be handled: %s", target.id, type(error).__name__)
            line.paused_ms = now_ms() + int(LOOK_S * 1000)
        finally:
            line.task, line.sending = None, 0
            self._wake.set()

    async def _send(self, target: TargetRow, line: _Line, message: MessageRow) -> bool:
        subject, body = await self._text(target, message)
        async with self._slots:
            try:
                mood = text.MOODS.get(message.kind, "info")
                error = await self.outgoing.send(target.url, subject, body, mood=mood, message=message.id)
            except NoSender as problem:
                error = problem.said
        now = now_ms()
        if error is None:
            await self._change(outbox.sent, message.id, now)
            if line.failures > 1:
                await self._change(outbox.hurry, target.id, now)
            line.failures = 0
            return True
        line.failures += 1
        pause_ms = self._pause_ms(line.failures)
        line.paused_ms = now + pause_ms
        again = now + max(pause_ms, self._pause_ms(message.tries + 1))
        failed = {
            "tries": message.tries + 1,
            "error": error.as_text(),
            "subject": subject,
            "body": body,
            "next_ms": again if again - message.created_ms < GIVE_UP_MS else None,
        }
        await self._change(outbox.settle, message.id, failed)
        return False

    def _pause_ms(self, failures: int) -> int:
        return int(1000 * self._engine.cluster.number("notify.retry_s") * FACTORS[min(failures, len(FACTORS)) - 1])

    async def _text(self, target: TargetRow, message: MessageRow) -> tuple[str, str]:
        """Subject and body; those of the first try, if there was one."""
        if message.body is not None:
            return message.subject, message.body
        if message.kind == MORE:
            facts = Facts(MORE, count=int(message.facts))
        else:
            facts = msgspec.json.decode(message.facts, type=Facts)
        lines = await log_lines(self._logs, facts, int(self._engine.cluster.number("notify.log_lines")))
        return text.subject(facts, target.lang), text.body(facts, target.lang, lines)

    def _sent_late(self, message: int) -> None:
        """It was sent after all: do not send it again."""
        task = asyncio.create_task(self._change(outbox.sent, message, now_ms()))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
