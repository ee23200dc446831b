"""The server options of `up` and `install`, and the server's arguments for them."""

from roost.cli.parse import values
from roost.cli.parse.options import MANY, ONE, Args, Option

SIM = Option("--sim", "simulated GPUs, like 4x24G; off: use the real ones", ONE, "[NAME:]NxSIZE", values.simulated)
LISTENING = (
    Option("--host", "address to listen on, may be repeated (default 127.0.0.1)", MANY, "HOST", values.items),
    Option("--port", "port to listen on (default 7667, or a free one)", ONE, "PORT", values.port),
    Option("--tls-cert", "certificate chain for HTTPS, a PEM file; off: plain HTTP", ONE, "FILE", values.file_or_off),
    Option("--tls-key", "its private key, unless in the same file", ONE, "FILE", values.file),
)
_TOLD = ("sim", "host", "port", "tls_cert", "tls_key")


def server_arguments(args: Args) -> tuple[str, ...]:
    """The server's arguments. The server remembers options that are not given."""
    found: list[str] = []
    for name in _TOLD:
        value = getattr(args, name)
        for each in value if isinstance(value, list) else [] if value is None else [value]:
            found += ["--" + name.replace("_", "-"), str(each)]
    return tuple(found)
