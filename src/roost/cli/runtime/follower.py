"""A job's output as it is written, byte for byte, through restarts of the server. What run and log -f share."""

import os
import sys
import time
from binascii import a2b_base64

from roost.cli.parse.options import Json, Mapping
from roost.cli.runtime.reconnect import persist
from roost.cli.text.output import clean
from roost.client.client import Roost
from roost.client.errors import ServerUnreachable
from roost.client.follow import Follow


class Follower:
    """Follows one job to its end. `descriptors` says where each stream goes; what is not in it is left out.

    Knows how far it is in each stream, so that nothing is printed twice.
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
        """Copy output to stdout and stderr until the job has ended; how it ended."""
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
        """The end of the job, not only of an attempt; None when there is more to follow."""
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
        # The server says where its next byte is; where it does not, nothing was left out.
        self._offsets[name] = item.get("offset", (self._offsets[name] or 0) + len(data))


class Waiting:
    """Says why a job waits, once for every change, and only when it waits long enough to be worth a line."""

    def __init__(self, job: int, patience_s: float) -> None:
        self._job = job
        self._patience_s = patience_s
        self._text = ""
        self._said = ""
        self._due: float | None = None

    def hear(self, item: Json) -> None:
        """The job's state and reasons as the server tells them."""
        reasons = item.get("reasons") or []
        state = item.get("state") or "queued"
        self._text = f"{state}: {reasons[0]['text']}" if reasons else state
        if item.get("retry"):
            self._text = f"{state}: {item['retry'].removeprefix('queued again: ')}"
        if len(reasons) > 1:
            self._text += f"; more: roost why {self._job}"
        if state not in ("held", "queued") or self._text == self._said:
            self._due = None
        elif self._due is None:
            self._due = time.monotonic() + (0 if self._said else self._patience_s)

    def due_in_s(self) -> float | None:
        """How long until it is time to say something; None when there is nothing to say."""
        return None if self._due is None else max(self._due - time.monotonic(), 0.001)

    def say(self) -> None:
        """Say it, if it is time."""
        if self._due is not None and time.monotonic() >= self._due:
            print(f"roost: job {self._job} is {clean(self._text)}", file=sys.stderr, flush=True)
            self._said = self._text
            self._due = None

    def forget(self) -> None:
        """It runs."""
        self._due = None


def write_all(descriptor: int, data: bytes) -> None:
    """All of it, at once, past every buffer."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:
            import select

            select.select([], [descriptor], [])
