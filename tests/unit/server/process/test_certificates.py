"""Certificate files: what is wrong with them is said, and a renewal that does not fit changes nothing."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest
from tests.certificates import Pair, make

from roost.server.process.certificates import BadCertificate, Identity
from roost.server.process.listener import place_of


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return make(tmp_path)


def shown(identity: Identity, trusted: Path) -> bool:
    """Whether a handshake with that identity convinces somebody who trusts this certificate alone."""
    client = ssl.create_default_context(cafile=str(trusted))
    to_us, to_them = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client.wrap_bio(to_us, to_them, server_hostname="localhost"),
        identity.context.wrap_bio(to_them, to_us, server_side=True),
    ]
    for _ in range(5):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLCertVerificationError:
                return False
    return True


def test_a_pair_is_loaded_and_old_protocols_are_not_spoken(pair: Pair) -> None:
    identity = Identity(str(pair.certificate), str(pair.key))
    assert shown(identity, pair.certificate)
    assert identity.context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert identity.warning() is None


def test_both_in_one_file(pair: Pair, tmp_path: Path) -> None:
    both = tmp_path / "both.pem"
    both.write_text(pair.key.read_text() + pair.certificate.read_text())
    both.chmod(0o600)
    assert shown(Identity(str(both), None), pair.certificate)


def test_a_key_that_everybody_may_read(pair: Pair) -> None:
    pair.key.chmod(0o644)
    warning = Identity(str(pair.certificate), str(pair.key)).warning()
    assert warning is not None
    assert f"everybody on this machine may read the key {pair.key}" in warning


def refused(certificate: Path, key: Path | None) -> str:
    with pytest.raises(BadCertificate) as caught:
        Identity(str(certificate), str(key) if key else None)
    assert caught.value.hint
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_is_wrong_is_said(pair: Pair, tmp_path: Path) -> None:
    other = make(tmp_path, "other")
    assert refused(tmp_path / "none.pem", pair.key) == f"cannot read {tmp_path / 'none.pem'}: No such file or directory"
    assert "Is a directory" in refused(tmp_path, pair.key)
    assert refused(pair.certificate, tmp_path / "none.key").endswith("none.key: No such file or directory")
    assert (
        refused(pair.certificate, other.key) == f"the key {other.key} does not belong to the certificate {pair.certificate}"
    )
    assert refused(pair.certificate, None) == f"{pair.certificate} holds no private key in PEM form"
    assert refused(pair.key, pair.key) == f"{pair.key} holds no certificate in PEM form"
    broken = tmp_path / "broken.pem"
    broken.write_text("-----BEGIN CERTIFICATE-----\nbm90IG9uZQ==\n-----END CERTIFICATE-----\n")
    assert refused(broken, pair.key).startswith(f"cannot use {broken} with {pair.key}: ")


def test_a_key_with_a_passphrase_is_not_asked_for(pair: Pair, tmp_path: Path) -> None:
    locked = tmp_path / "locked.key"
    command = ["openssl", "pkey", "-in", str(pair.key), "-aes256", "-passout", "pass:x", "-out", str(locked)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    assert refused(pair.certificate, locked) == f"the key {locked} has a passphrase"


def test_a_renewal_is_shown_and_one_that_does_not_fit_is_not(pair: Pair, tmp_path: Path) -> None:
    old = tmp_path / "old.pem"
    shutil.copy(pair.certificate, old)
    identity = Identity(str(pair.certificate), str(pair.key))
    make(tmp_path)  # in place
    assert shown(identity, old)
    identity.renew()
    assert shown(identity, pair.certificate)
    assert not shown(identity, old)
    shutil.copy(old, pair.certificate)  # the key is not its own
    with pytest.raises(BadCertificate, match="does not belong"):
        identity.renew()
    assert not shown(identity, old)


def test_what_up_was_told_is_a_place(pair: Pair) -> None:
    assert place_of({})[:2] == (["127.0.0.1"], None)
    assert place_of({"host": "0.0.0.0", "port": 80})[:2] == (["0.0.0.0"], 80)  # as earlier releases kept it
    assert place_of({"host": ["::", "0.0.0.0"]}).scheme == "http"
    assert place_of({"tls_cert": str(pair.certificate), "tls_key": str(pair.key)}).scheme == "https"
    with pytest.raises(BadCertificate, match="--tls-key is of no use without --tls-cert"):
        place_of({"tls_key": str(pair.key)})
