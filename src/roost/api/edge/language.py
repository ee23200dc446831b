"""The language that a request is answered in: the one chosen on the pages (a cookie), else `Accept-Language`."""

from starlette.types import Scope

from roost.api.edge import cookies
from roost.api.edge.authentication import scheme_of
from roost.messages import LANGUAGES, Language, languages_accepted


def language_for(scope: Scope) -> Language:
    """The reader's language."""
    accepted, jar = "", b""
    for name, value in scope["headers"]:
        if name == b"accept-language":
            accepted = value.decode("latin-1")
        elif name == b"cookie":
            jar = value
    if jar:
        kept = cookies.read(jar, cookies.LANGUAGE, scheme_of(scope))
        for language in LANGUAGES:
            if kept == language:
                return language
    return languages_accepted(accepted) if accepted else "en"
