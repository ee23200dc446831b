"""TLS to a server. Its certificate is always checked, and errors are explained.

Imported only for an https address: `ssl` takes longer to load than most verbs to run.
"""

import os
import socket
import ssl

from roost.client.errors import ServerUnreachable
from roost.messages.terminal import say


def open_tls(address: str, host: str, port: int, timeout_s: float) -> ssl.SSLSocket:
    """Connect, and check the certificate. OSError if nothing answers, ServerUnreachable for a bad certificate."""
    context = _context()
    plain = socket.create_connection((host, port), timeout_s)
    try:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return context.wrap_socket(plain, server_hostname=host)
    except ssl.SSLCertVerificationError as error:
        plain.close()
        said = error.verify_message.rstrip(".")
        raise ServerUnreachable("cli.certificate", _hint(said), address=address, why=said) from None
    except ssl.SSLError as error:
        plain.close()
        if error.reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
            plain_address = address.replace("https://", "http://", 1)
            raise ServerUnreachable("cli.no_tls", address=address, plain_address=plain_address) from None
        raise ServerUnreachable("cli.tls_failed", address=address, why=_words(error)) from None
    except BaseException:
        plain.close()
        raise


def speaks_tls(host: str, port: int, timeout_s: float) -> bool:
    """Whether the other side speaks TLS. Sends no data and trusts nothing else it says."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with socket.create_connection((host, port), timeout_s) as plain, context.wrap_socket(plain):
            return True
    except OSError:
        return False


def _context() -> ssl.SSLContext:
    """The system's authorities, or those of `ROOST_CA_FILE` alone."""
    own = os.environ.get("ROOST_CA_FILE") or None
    try:
        context = ssl.create_default_context(cafile=own)
    except (OSError, ssl.SSLError) as error:
        said = error if not isinstance(error, ssl.SSLError) else say("cli.no_pem")
        raise ServerUnreachable("cli.ca_file", path=own, why=said) from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _hint(said: str) -> str:
    if "mismatch" in said:
        return say("cli.certificate_name")
    if "expired" in said:
        return say("cli.certificate_expired")
    return say("cli.certificate_unknown")


def _words(error: ssl.SSLError) -> str:
    return (error.reason or str(error)).replace("_", " ").lower()
