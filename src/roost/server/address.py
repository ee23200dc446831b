"""Where a server is found: its URL and its UNIX socket, known once it listens."""


class Address:
    """Filled in by the listener; empty before."""

    def __init__(self) -> None:
        self.url = ""
        self.socket = ""

    def link(self, code: str) -> str:
        """The address of a one-time link."""
        return f"{self.url}/welcome/{code}"
