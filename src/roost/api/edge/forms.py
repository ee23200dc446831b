"""Forms of pages: small, plain, and made by a page of ours.

A form of a logged-in user carries the secret of their session. Before a login there is none, so the form carries the
signature of a cookie that only our page set, made with a key that lives as long as this server: a page of another site
can neither read the cookie nor sign one, so it cannot log a browser in as another user.
"""

import hashlib
import hmac
import secrets
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response

from roost.api.edge import cookies
from roost.api.edge.request_body import read_body
from roost.core.errors import BadRequest, NotPermitted

FIELD, KIND = "csrf", "application/x-www-form-urlencoded"
MAX_FORM, MAX_FIELDS = 64 << 10, 20
Form = dict[str, str]
SIGNER = "roost.signer"
"""Where the application puts its signer into the scope of a request."""


class Signer:
    """Signs the cookie of forms that are filled in before a login."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def sign(self, cookie: str) -> str:
        """What the form carries beside that cookie."""
        return hmac.new(self._key, cookie.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


async def check_form(request: Request, secret: str | None, scheme: str) -> Form:
    """The fields of a form, when a page of ours made it; `secret` is the session's, None before a login."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != KIND:
        raise BadRequest("request.not_a_form")
    fields = _fields(await read_body(request, MAX_FORM))
    cookie = cookies.read(request.headers.get("cookie", "").encode("latin-1"), cookies.FORM, scheme)
    if secret is None and cookie:
        secret = signer(request).sign(cookie)
    given = fields.pop(FIELD, "")
    if not secret or not hmac.compare_digest(given.encode(), secret.encode()):
        raise NotPermitted("request.old_form")
    return fields


def _fields(data: bytes) -> Form:
    try:
        pairs = parse_qsl(
            data.decode("ascii"), keep_blank_values=True, strict_parsing=True, errors="strict", max_num_fields=MAX_FIELDS
        )
    except ValueError:
        raise BadRequest("request.not_a_form") from None
    if len(dict(pairs)) != len(pairs):
        raise BadRequest("request.field_twice")
    return dict(pairs)


def fresh_token(request: Request, scheme: str) -> tuple[str, str]:
    """Cookie and field for a form that is filled in before a login."""
    known = cookies.read(request.headers.get("cookie", "").encode("latin-1"), cookies.FORM, scheme)
    cookie = known or secrets.token_urlsafe(24)
    return cookie, signer(request).sign(cookie)


def keep(answer: Response, cookie: str, scheme: str) -> None:
    """Send the cookie of such a form."""
    cookies.put(answer, cookies.FORM, cookie, scheme)


def signer(request: Request) -> Signer:
    """The signer of this server."""
    found: Signer = request.scope[SIGNER]
    return found
