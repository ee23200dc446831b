"""A job's output and states, as they come."""

from roost.client import jsontext
from roost.client.http import Connection
from roost.client.jsontext import Iterator, Json
from roost.client.server_api import api_error


class Follow:
    """A stream of what happens to a job, over a connection of its own.

    Items, in order: `{"state", "reasons"}` while it waits, `{"stream": "out"|"err", "data": base64}`, at last
    `{"end": {"state", "outcome", "exit_code"}}`.
    """

    def __init__(self, address: str, path: str, token: str | None = None) -> None:
        self._connection = Connection(address, token=token)
        self._response = self._connection.request("GET", path)
        if self._response.status >= 400:
            body = self._response.read()
            self.close()
            raise api_error(self._response.status, body)

    def next(self, timeout_s: float | None = None) -> "Json | None":
        """The next item, None at the end of the stream. Raises TimeoutError when none came in time."""
        self._connection.wait_s(timeout_s)
        line: bytes | None = b""
        while line == b"":
            line = self._response.line()
        if line is None:
            return None
        item: Json = jsontext.loads(line.decode("utf-8"))
        return item

    def close(self) -> None:
        """Stop following."""
        self._connection.close()

    def __iter__(self) -> "Iterator[Json]":
        while (item := self.next()) is not None:
            yield item
