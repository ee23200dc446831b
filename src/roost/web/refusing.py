"""A refusal as a browser is to see it: the way to the login for a caller who is not known, else a page with the reason."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import Scope

from roost.core.errors import NotFound, NotKnown, RoostError, TooFast
from roost.web import pages
from roost.web.layout import View
from roost.web.places import login_path

_PUBLIC = ("/login", "/welcome/")


def page(scope: Scope, error: RoostError) -> Response:
    """The answer."""
    if isinstance(error, NotKnown) and not str(scope["path"]).startswith(_PUBLIC):
        is_asked = scope["method"] == "GET"
        query = scope["query_string"].decode("latin-1")
        return RedirectResponse(login_path(scope["path"], query) if is_asked else "/login", 303)
    view = View(Request(scope))
    title = view.say("page.not_found" if isinstance(error, NotFound) else "page.refused")
    hint = view.say(error.advice) if error.advice is not None else None
    answer = view.page(title, pages.refusal(view, title, view.say(error.said), hint), status=error.status)
    if isinstance(error, TooFast):
        answer.headers["Retry-After"] = str(error.after_s)
    return answer
