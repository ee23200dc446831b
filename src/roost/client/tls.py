"""TLS towards a server: its certificate is checked, always; what does not fit is said in words.

Imported only for an https address: `ssl` takes longer to load than most verbs to run.
"""

import os
import socket
import ssl

from roost.client.errors import ServerUnreachable


def open_tls(address: str, host: str, port: int, timeout_s: float) -> ssl.SSLSocket:
    """A connection to a server that has proved its name. OSError when nobody is there, ServerUnreachable when it has not."""
    context = _context()
    plain = socket.create_connection((host, port), timeout_s)
    try:
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return context.wrap_socket(plain, server_hostname=host)
    except ssl.SSLCertVerificationError as error:
        plain.close()
        said = error.verify_message.rstrip(".")
        raise ServerUnreachable(f"the certificate of {address} is not to be trusted: {said}", _hint(said)) from None
    except ssl.SSLError as error:
        plain.close()
        if error.reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
            hint = f"perhaps without TLS: ROOST_SERVER={address.replace('https://', 'http://', 1)}"
            raise ServerUnreachable(f"what answers at {address} does not speak TLS", hint) from None
        raise ServerUnreachable(f"no TLS with {address}: {_words(error)}") from None
    except BaseException:
        plain.close()
        raise


def speaks_tls(host: str, port: int, timeout_s: float) -> bool:
    """Whether TLS is spoken there, whoever it is. Tells it nothing, and believes it nothing else."""
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
        said = error.strerror if not isinstance(error, ssl.SSLError) else "it holds no certificate in PEM form"
        raise ServerUnreachable(
            f"cannot use ROOST_CA_FILE {own}: {said}", "it names a file of certificates to trust"
        ) from None
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def _hint(said: str) -> str:
    if "mismatch" in said:
        return "name the server as its certificate does: ROOST_SERVER=https://NAME:PORT"
    if "expired" in said:
        return "its administrator must renew it"
    return "ROOST_CA_FILE=FILE names the authority, or the very certificate, that you trust"


def _words(error: ssl.SSLError) -> str:
    return (error.reason or str(error)).replace("_", " ").lower()
