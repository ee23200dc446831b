"""Which GPUs a daemon claims: the words for it. Imported by `attach`, so nothing else is here."""

from __future__ import annotations

import os

EACH = "each"
"""Each run its own GPUs, while it runs."""
STANDING = "standing"
"""Every GPU of the machine as soon as it can be had, for good."""
UNDER = "under"
"""Beside the claims of the daemon that serves the machine: no proof is asked, but the run holds its GPUs too."""
NONE = "none"
"""Nothing at all."""
MODES = (EACH, STANDING, UNDER, NONE)


def default_mode() -> str:
    """Root serves all users of the machine and keeps its GPUs; other servers claim only the GPUs they use."""
    return STANDING if os.geteuid() == 0 else EACH
