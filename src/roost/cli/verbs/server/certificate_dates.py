"""When a certificate expires, with the standard library alone: the validity is looked up in its DER encoding."""

import ssl
from datetime import UTC, datetime

from roost.messages.terminal import say

_SEQUENCE, _UTC_TIME, _GENERALIZED_TIME = 0x30, 0x17, 0x18
_FORMATS = {_UTC_TIME: "%y%m%d%H%M%SZ", _GENERALIZED_TIME: "%Y%m%d%H%M%SZ"}


def expiry(path: str) -> float:
    """The end of the first certificate of a PEM file, in seconds since 1970. OSError or ValueError if there is none."""
    with open(path, encoding="latin-1") as file:
        text = file.read(1 << 20)
    begin, end = text.find("-----BEGIN CERTIFICATE-----"), text.find("-----END CERTIFICATE-----")
    if begin < 0 or end < begin:
        raise ValueError("no PEM certificate")
    return _not_after(ssl.PEM_cert_to_DER_cert(text[begin : end + len("-----END CERTIFICATE-----")]))


def _not_after(der: bytes) -> float:
    """`Validity ::= SEQUENCE { notBefore Time, notAfter Time }`, a SEQUENCE of exactly two times."""
    for at in range(len(der) - 4):
        if der[at] == _SEQUENCE and der[at + 2] in _FORMATS:
            second = at + 4 + der[at + 3]
            if second + 2 < len(der) and der[second] in _FORMATS and at + 2 + der[at + 1] == second + 2 + der[second + 1]:
                text = der[second + 2 : second + 2 + der[second + 1]].decode("ascii")
                return datetime.strptime(text, _FORMATS[der[second]]).replace(tzinfo=UTC).timestamp()
    raise ValueError(say("cli.no_validity"))
