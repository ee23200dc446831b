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


def __getattr__(name: str) -> object:
    if name == "Roost":
        from roost.client.client import Roost

        return Roost
    if name == "report":
        from roost.client.reporting import report

        return report
    if name in __all__:
        from roost.client import errors

        return getattr(errors, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
