"""What people are told of a run's end: a code of the server's catalogue `attempt` and its parameters, as one text."""

from __future__ import annotations

import json


def said(code: str, **params: str) -> str:
    """The message as the server reads it; a text of no code is shown as it stands."""
    clean = {name: text.encode("utf-8", "replace").decode() for name, text in params.items()}
    return json.dumps({"code": code, "params": clean}, separators=(",", ":"))
