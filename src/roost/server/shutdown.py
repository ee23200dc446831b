"""The end of a server: asked for, then announced to those who hold a connection for long."""

from collections.abc import Callable


class Shutdown:
    """Whether the server leaves, and who must know."""

    def __init__(self) -> None:
        self.has_begun = False
        self.on_asked: set[Callable[[], None]] = set()
        """Called when the server is asked to leave."""
        self.on_begin: set[Callable[[], None]] = set()
        """Called when it leaves: connections that are held for long end then."""

    def ask(self) -> None:
        """Have the server leave."""
        for tell in list(self.on_asked):
            tell()

    def begin(self) -> None:
        """It leaves now."""
        self.has_begun = True
        for tell in list(self.on_begin):
            tell()
