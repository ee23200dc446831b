"""Answers as JSON: a message in them becomes a sentence of the reader's language here, and nowhere before."""

from collections.abc import Callable
from typing import Any

import msgspec

from roost.messages import LANGUAGES, Language, Message, render


def _encoder(language: Language) -> msgspec.json.Encoder:
    def rendered(value: Any) -> str:
        if isinstance(value, Message):
            return render(value, language)
        raise NotImplementedError(f"no JSON for {type(value).__name__}")

    return msgspec.json.Encoder(enc_hook=rendered)


ENCODERS = {language: _encoder(language) for language in LANGUAGES}
_ENCODE: dict[Language, Callable[[Any], bytes]] = {language: one.encode for language, one in ENCODERS.items()}


def encode(value: Any, language: Language = "en") -> bytes:
    """An answer as its reader gets it."""
    return _ENCODE[language](value)


def schema_of_message(kind: type) -> dict[str, Any]:
    """For the schemas of answers: a message is read as a text."""
    if kind is Message:
        return {"type": "string"}
    raise NotImplementedError(f"no schema for {kind.__name__}")
