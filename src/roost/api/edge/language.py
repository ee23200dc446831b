"""The language that a request is answered in: `Accept-Language`, which the dashboard sets to the language of its pages."""

from starlette.types import Scope

from roost.messages import Language, languages_accepted


def language_for(scope: Scope) -> Language:
    """The reader's language."""
    accepted = next((value for name, value in scope["headers"] if name == b"accept-language"), b"")
    return languages_accepted(accepted.decode("latin-1")) if accepted else "en"
