"""Follow a job's output, byte for byte, across restarts of the server. Shared by run and log -f."""

import os
import time
from binascii import a2b_base64

from roost.cli.parse.options import Json, Mapping
from roost.cli.runtime.reconnect import persist
from roost.cli.text.output import announce, clean
from roost.client.client import Roost
from roost.client.errors import ServerUnreachable
from roost.client.follow import Follow


class Follower:
    """Follows one job to its end. `descriptors` maps each stream to a file descriptor; other streams are skipped.

    It keeps an offset for each stream, so nothing is printed twice.
    """

    def __init__(
        self,
        roost: "Roost",
        job: int,
        *,
        attempt: int | None = None,
        lines: int | None = None,
        descriptors: "Mapping[str, int] | None" = None,
        patience_s: float = 1.0,
    ) -> None:
        self._roost = roost
        self._job = job
        self._attempt = attempt
        self._since: int | None = None
        self._lines = lines
        self._descriptors = {"out": 1, "err": 2} if descriptors is None else descriptors
        self._offsets: dict[str, int | None] = {"out": None, "err": None}
        self._why = Waiting(job, patience_s)

    def to_the_end(self) -> Json:
        """Copy output to stdout and stderr until the job ends; return how it ended."""
        stream = self._open()
        while True:
            try:
                end = self._copy(stream)
                if end is not None and (end := self._settled(end)) is not None:
                    return end
            except ServerUnreachable:
                pass
            finally:
                stream.close()
            stream = persist(self._open)

    def _settled(self, end: Json) -> Json | None:
        """The end of the job; None if only an attempt ended and another follows."""
        if end.get("state", "ended") == "ended" or self._attempt is not None:
            return end
        (job,) = self._roost.wait([self._job], 1.0)
        return job if job["state"] == "ended" else None

    def _open(self) -> "Follow":
        return self._roost.follow(
            self._job,
            attempt=self._attempt,
            from_attempt=self._since if self._attempt is None else None,
            offset_out=self._offsets["out"],
            offset_err=self._offsets["err"],
            lines=self._lines,
        )

    def _copy(self, stream: "Follow") -> Json | None:
        """Until the end of the job, or None at the end of the stream."""
        while True:
            try:
                item = stream.next(self._why.due_in_s())
            except TimeoutError:
                self._why.say()
                continue
            if item is None:
                return None
            if "data" in item:
                self._why.forget()
                self._take(item)
            elif "end" in item:
                end: Json = item["end"]
                return end
            else:
                self._why.hear(item)

    def _take(self, item: Json) -> None:
        name = item["stream"]
        data = a2b_base64(item["data"])
        if item.get("attempt") != self._since:  # a further attempt begins its own output
            self._since = item.get("attempt")
            self._offsets = dict.fromkeys(self._offsets)
        if name in self._descriptors:
            write_all(self._descriptors[name], data)
        # The server sends the offset of its next byte unless nothing was skipped.
        self._offsets[name] = item.get("offset", (self._offsets[name] or 0) + len(data))


class Waiting:
    """Prints why a job waits, once for every change, and only if it waits longer than `patience_s`."""

    def __init__(self, job: int, patience_s: float) -> None:
        self._job = job
        self._patience_s = patience_s
        self._now = ("queued", "", False)
        self._said: tuple[str, str, bool] | None = None
        self._due: float | None = None

    def hear(self, item: Json) -> None:
        """Note the job's state and reasons from the server."""
        reasons = item.get("reasons") or []
        state = item.get("state") or "queued"
        why = (item.get("retry") or "").removeprefix("queued again: ") or (reasons[0]["text"] if reasons else "")
        self._now = (state, why, len(reasons) > 1)
        if state not in ("held", "queued") or self._now == self._said:
            self._due = None
        elif self._due is None:
            self._due = time.monotonic() + (0 if self._said else self._patience_s)

    def due_in_s(self) -> float | None:
        """Seconds until a line is due; None if there is none."""
        return None if self._due is None else max(self._due - time.monotonic(), 0.001)

    def say(self) -> None:
        """Print the line if it is due."""
        if self._due is not None and time.monotonic() >= self._due:
            from roost.messages.terminal import say

            state, why, has_more = self._now
            text = say("cli.state_why" if why else "shown.state", state=state, why=clean(why))
            announce(
                "cli.job_state", job=self._job, text=say("cli.job_more", text=text, job=self._job) if has_more else text
            )
            self._said = self._now
            self._due = None

    def forget(self) -> None:
        """The job runs: there is nothing to explain."""
        self._due = None


def write_all(descriptor: int, data: bytes) -> None:
    """Write all of it, unbuffered."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:
            import select

            select.select([], [descriptor], [])
