"""Messages on a terminal: in the language of its locale, or of ROOST_LANG."""

import os

from roost.messages.catalog import Language, language_of
from roost.messages.message import Message, render


def terminal_language() -> Language:
    """The language that this process speaks to its terminal."""
    return language_of(os.environ)


def say(code: str, /, **params: object) -> str:
    """The sentence of that code for the terminal: `say("submit.queued", jobs=3)`."""
    return render(Message(code, **params), terminal_language())
