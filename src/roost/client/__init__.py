"""The Python client: talk to a Roost server from a program.

    from roost.client import Roost

    roost = Roost()
    job = roost.submit(["python", "train.py"], gpus=2)
    roost.wait([job])

Standard library only. Names are imported on first use: the command line starts a thousand times a day.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from roost.client.client import Roost
    from roost.client.errors import ApiError, BadReport, RoostError, ServerUnreachable, StartFailed
    from roost.client.reporting import report

__all__ = ["ApiError", "BadReport", "Roost", "RoostError", "ServerUnreachable", "StartFailed", "report"]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = {"Roost": "client", "report": "reporting"}.get(name, "errors")
    return getattr(__import__(f"{__name__}.{module}", fromlist=(name,)), name)
