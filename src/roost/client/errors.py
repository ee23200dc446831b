"""What can go wrong between a client and a server.

RoostError
├── ServerUnreachable    nobody answers at that address, or it stopped answering
├── StartFailed          a server was to be started and did not come up
├── BadReport            what a job was to say of itself makes no sense, or nobody knows which job
└── ApiError             the server answered no: status, code, message, hint, index, host_key

Each knows its exit code, so that the command line need not translate.
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
_OVER_QUOTA = "over_quota"  # of the 429s the one that waiting alone does not help


class RoostError(Exception):
    """A failure with one line for people, what to do next, and the exit code it means."""

    exit_code = EXIT_FAILED
    code = "error"
    """What the API would call it."""

    def __init__(self, message: str, hint: str | None = None, *, exit_code: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if exit_code is not None:
            self.exit_code = exit_code

    def as_json(self) -> dict[str, dict[str, object]]:
        """The error in the shape of the API."""
        return {"error": {"code": self.code, "message": self.message, "hint": self.hint}}


class ServerUnreachable(RoostError):
    """Nobody answers. `sent` is true when a request may have reached the server all the same."""

    exit_code = EXIT_UNREACHABLE
    code = "unreachable"

    def __init__(self, message: str, hint: str | None = None, *, sent: bool = False) -> None:
        super().__init__(message, hint)
        self.sent = sent


class StartFailed(RoostError):
    """A server was started and ended before it answered, or never answered."""

    exit_code = EXIT_UNREACHABLE
    code = "start_failed"


class BadReport(RoostError):
    """A report that was not even sent."""

    exit_code = EXIT_USAGE
    code = "bad_request"


class ApiError(RoostError):
    """The server's own no. `index` is the position of the bad job in a list of jobs, `host_key` what a node showed."""

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
