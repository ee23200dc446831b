"""Certificates for tests, made on the spot: nothing secret lies in the repository."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

HERE = ("DNS:localhost", "IP:127.0.0.1", "IP:::1")


class Pair(NamedTuple):
    """The files of a certificate that signs itself, and of its key."""

    certificate: Path
    key: Path


def make(directory: Path, name: str = "server", names: tuple[str, ...] = HERE) -> Pair:
    """A new pair under that name, in place of an earlier one; it speaks for these names."""
    if shutil.which("openssl") is None:
        pytest.skip("NOT TESTED: TLS needs the program openssl to make certificates")
    directory.mkdir(exist_ok=True)
    pair = Pair(directory / f"{name}.pem", directory / f"{name}.key")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    command += ["-subj", f"/CN={name}", "-addext", f"subjectAltName={','.join(names)}"]
    command += ["-keyout", str(pair.key), "-out", str(pair.certificate)]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    pair.key.chmod(0o600)
    return pair
