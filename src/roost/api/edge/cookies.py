"""Cookies: their names, how they are read, and the flags that each is set with. Nothing else writes one.

Over TLS the names begin with `__Host-`: a browser then takes them from this very host alone, so that neither a
neighbouring site of the same domain nor somebody in between can plant one.
"""

from starlette.responses import Response

SESSION, FORM, LANGUAGE = "roost_session", "roost_form", "roost_lang"


def name_of(cookie: str, scheme: str) -> str:
    """The name that cookie has in a browser."""
    return f"__Host-{cookie}" if scheme == "https" else cookie


def read(header: bytes, cookie: str, scheme: str) -> str | None:
    """Its value. None when there is none, or several that differ: one of them was planted."""
    name = name_of(cookie, scheme)
    pairs = (part.strip().partition("=") for part in header.decode("latin-1").split(";"))
    found = {value for key, _, value in pairs if key == name and value}
    return found.pop() if len(found) == 1 else None


def put(answer: Response, cookie: str, value: str, scheme: str, lives_s: int | None = None) -> None:
    """Set it: out of reach of scripts, and not sent along when another site makes the browser change something."""
    answer.set_cookie(
        name_of(cookie, scheme), value, max_age=lives_s, path="/", secure=scheme == "https", httponly=True, samesite="lax"
    )


def take(answer: Response, cookie: str, scheme: str) -> None:
    """Take it away."""
    answer.delete_cookie(name_of(cookie, scheme), path="/", secure=scheme == "https", httponly=True, samesite="lax")
