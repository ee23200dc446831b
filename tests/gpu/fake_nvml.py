"""NVIDIA GPUs that are not there, whole and in MIG slices, behind the real bindings: a `libnvidia-ml.so.1` of our own."""

from __future__ import annotations

import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("fake_nvml.c")


def fake_nvml(directory: Path, cards: str) -> dict[str, str]:
    """Build it there; the environment in which a program finds `cards`, like `0,2`: a whole one, and one in two slices."""
    library = directory / "libnvidia-ml.so.1"
    subprocess.run(["cc", "-shared", "-fPIC", "-w", "-o", library, SOURCE, "-nostdlib"], check=True, capture_output=True)
    return {
        "LD_LIBRARY_PATH": str(directory),
        "FAKE_NVML": cards,
        "FAKE_NVML_PROCESSES": str(directory / "processes"),
    }
