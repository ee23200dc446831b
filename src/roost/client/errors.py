"""What can go wrong between a client and a server.

RoostError
├── ServerUnreachable    no server answers at that address, or it stopped answering
├── StartFailed          a server could not be started
├── BadReport            invalid results, or no job to report them for
└── ApiError             the server refused a request: status, code, message, hint, index, host_key

Each has the exit code that the command line returns.
"""

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_UNREACHABLE = 69
EXIT_INTERNAL = 70
EXIT_TRY_LATER = 75
EXIT_NOT_PERMITTED = 77
EXIT_TIMED_OUT = 124
EXIT_CANNOT_LAUNCH = 125
EXIT_INTERRUPTED = 130

_EXIT_OF_STATUS = {
    401: EXIT_NOT_PERMITTED,
    403: EXIT_NOT_PERMITTED,
    409: EXIT_FAILED,
    429: EXIT_TRY_LATER,
    501: EXIT_UNREACHABLE,
    503: EXIT_TRY_LATER,
    507: EXIT_TRY_LATER,
}
_OVER_QUOTA = "over_quota"  # the only 429 that does not go away by waiting


def sentence(code: str, /, **params: object) -> str:
    """The sentence of that code in the terminal's language. The catalogues are imported for it, not before."""
    from roost.messages.terminal import say

    return say(code, **params)


def why(error: OSError) -> str:
    """What the system said, in the terminal's language where the catalogue has it."""
    from errno import errorcode
    from os import strerror

    said = error.strerror or str(error)
    if type(error).__name__ == "gaierror":
        return sentence("cli.host_unknown")
    if error.errno is None or said != strerror(error.errno):
        return sentence("cli.timed_out") if isinstance(error, TimeoutError) else said
    found = sentence(code := f"cli.os_{errorcode.get(error.errno, '').lower()}")
    return said if found == code else found


class RoostError(Exception):
    """A failure: a message, a hint and an exit code.

    `message` is a code of the catalogue `cli`, whose parameters follow by name, or a text such as an answer of the server.
    """

    exit_code = EXIT_FAILED
    code = "error"
    """What the API would call it."""

    def __init__(self, message: str, hint: str | None = None, *, exit_code: int | None = None, **params: object) -> None:
        self.said = (message, params) if message.startswith("cli.") else None
        """The code and its parameters, for a reader in another language."""
        if self.said is not None:
            from roost.messages.terminal import with_hint

            said = {name: why(value) if isinstance(value, OSError) else value for name, value in params.items()}
            message, advice = with_hint(message, said)
            hint = hint or advice
        super().__init__(message)
        self.message = message
        self.hint = hint
        if exit_code is not None:
            self.exit_code = exit_code

    def as_json(self) -> dict[str, dict[str, object]]:
        """The error in the shape of the API."""
        return {"error": {"code": self.code, "message": self.message, "hint": self.hint}}


class ServerUnreachable(RoostError):
    """No server answers. `sent` is true if a request may still have reached it."""

    exit_code = EXIT_UNREACHABLE
    code = "unreachable"

    def __init__(self, message: str, hint: str | None = None, *, sent: bool = False, **params: object) -> None:
        super().__init__(message, hint, exit_code=None, **params)
        self.sent = sent


class StartFailed(RoostError):
    """A new server ended before it answered, or never answered."""

    exit_code = EXIT_UNREACHABLE
    code = "start_failed"


class BadReport(RoostError):
    """A report that was refused before it was sent."""

    exit_code = EXIT_USAGE
    code = "bad_request"


class ApiError(RoostError):
    """An error that the server answered. `index` is the position of the bad job in a list, `host_key` a node's host key."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        hint: str | None = None,
        index: int | None = None,
        host_key: str | None = None,
    ) -> None:
        super().__init__(message, hint)
        self.host_key = host_key
        self.status = status
        self.code = code
        self.index = index
        otherwise = EXIT_USAGE if 400 <= status < 500 else EXIT_INTERNAL
        self.exit_code = EXIT_USAGE if code == _OVER_QUOTA else _EXIT_OF_STATUS.get(status, otherwise)

    def as_json(self) -> dict[str, dict[str, object]]:
        found = super().as_json()
        more = {"index": self.index, "host_key": self.host_key}
        found["error"] |= {name: value for name, value in more.items() if value is not None}
        return found
