"""Messages on a terminal: in the language of its locale, or of ROOST_LANG."""

import os

from roost.messages.catalog import Language, language_of
from roost.messages.message import Message, hint_of, message_of, render


def terminal_language() -> Language:
    """The language that this process speaks to its terminal."""
    return language_of(os.environ)


def say(code: str, /, **params: object) -> str:
    """The sentence of that code for the terminal: `say("submit.queued", jobs=3)`."""
    return render(Message(code, **params), terminal_language())


def with_hint(text: str, params: dict[str, object]) -> tuple[str, str | None]:
    """The sentence of a code for the terminal, and its hint. A text that is not a code is returned unchanged."""
    message, language = message_of(text, params), terminal_language()
    hint = hint_of(message)
    return render(message, language), render(hint, language) if hint is not None else None
