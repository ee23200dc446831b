"""Certificate and key from files: checked, loaded, and loaded again when they were renewed.

Knows files and OpenSSL; listens nowhere.
"""

import os
import ssl
import stat


class BadCertificate(Exception):
    """Certificate or key cannot be used: why, and what to do."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class Identity:
    """What this server shows to those who connect. `renew` changes it for connections to come."""

    def __init__(self, certificate: str, key: str | None) -> None:
        self._certificate, self._key = certificate, key or certificate
        self.context = _loaded(_fresh(), self._certificate, self._key)

    def renew(self) -> None:
        """Read both files again. Raises `BadCertificate` and leaves all as it was when they do not fit."""
        _loaded(_fresh(), self._certificate, self._key)  # tried on one that nobody uses: a failure leaves half of it behind
        _loaded(self.context, self._certificate, self._key)

    def warning(self) -> str | None:
        """What is unwise about the files."""
        if os.stat(self._key).st_mode & (stat.S_IROTH | stat.S_IWOTH):
            return f"everybody on this machine may read the key {self._key}: chmod o-rwx {self._key}"
        return None


def _fresh() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


def _loaded(context: ssl.SSLContext, certificate: str, key: str) -> ssl.SSLContext:
    if "-----BEGIN CERTIFICATE-----" not in _text(certificate):
        raise BadCertificate(f"{certificate} holds no certificate in PEM form", "--tls-cert takes the chain, ours first")
    secret = _text(key)
    if "PRIVATE KEY-----" not in secret:
        raise BadCertificate(f"{key} holds no private key in PEM form", "--tls-key names the file of the key")
    if "ENCRYPTED" in secret:
        raise BadCertificate(f"the key {key} has a passphrase", f"take it off: openssl pkey -in {key} -out FILE")
    try:
        context.load_cert_chain(certificate, key)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise BadCertificate(
                f"the key {key} does not belong to the certificate {certificate}", "name both files of one renewal"
            ) from None
        why = error.reason or "OpenSSL cannot read it"
        raise BadCertificate(
            f"cannot use {certificate} with {key}: {why.replace('_', ' ').lower()}", f"openssl x509 -in {certificate} -text"
        ) from None
    return context


def _text(path: str) -> str:
    try:
        with open(path, encoding="latin-1") as file:
            return file.read(1 << 20)
    except OSError as error:
        raise BadCertificate(
            f"cannot read {path}: {error.strerror}", "--tls-cert and --tls-key name files; --tls-cert off: no TLS"
        ) from None
