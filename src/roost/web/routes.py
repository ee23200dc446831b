"""The routes of the pages before a login. Their forms are read and checked before a route is called."""

from starlette.responses import RedirectResponse, Response

from roost.api.calls import Call
from roost.api.edge import cookies
from roost.api.edge.authentication import Right
from roost.api.edge.forms import Form
from roost.api.route_table import Routes
from roost.api.routes.login import begin_session, end_session
from roost.core.errors import BadRequest, NotFound, NotKnown, NotPermitted, RoostError, TooFast
from roost.server.identity.people import FIRST, LOGIN
from roost.web import pages
from roost.web.layout import FOREVER, View, stylesheet
from roost.web.places import own_path

routes = Routes("pages", prefix="")


@routes.get("/style/{name}", Right.PUBLIC)
async def style(call: Call, name: str) -> Response:
    """The stylesheet. Its name changes with it, so that it may be kept for ever."""
    known, sheet = stylesheet()
    if name != known:
        raise NotFound("page.no_stylesheet")
    return Response(sheet, media_type="text/css; charset=utf-8", headers={"Cache-Control": FOREVER})


@routes.get("/login", Right.PUBLIC)
async def login(call: Call) -> Response:
    """Ask for name and password."""
    view = View(call.request)
    if view.caller is not None:
        return RedirectResponse(view.next, 303)
    return view.page(view.say("page.login"), pages.login(view, "", None, view.next))


@routes.post("/login", Right.PUBLIC)
async def log_in(call: Call) -> Response:
    """Begin a session and continue to the page that was asked for."""
    form = call.form
    user, back_to = form.get("user", "").strip(), own_path(form.get("next"))
    try:
        name = await call.server.login.by_password(user, form.get("password", ""), call.origin)
    except (NotKnown, NotPermitted, TooFast, BadRequest) as error:
        return _not_in(View(call.request), user, back_to, error)
    return await _in(call, name, "password", back_to)


def _not_in(view: View, user: str, back_to: str, error: RoostError) -> Response:
    if isinstance(error, TooFast | NotPermitted):
        text, status = "; ".join(view.say(part) for part in (error.said, error.advice) if part is not None), error.status
    else:
        text, status = view.say("login.wrong"), 401
    answer = view.page(view.say("page.login"), pages.login(view, user[:100], text, back_to), status=status)
    if isinstance(error, TooFast):
        answer.headers["Retry-After"] = str(error.after_s)
    return answer


async def _in(call: Call, user: str, via: str, back_to: str, parent: str | None = None) -> Response:
    await begin_session(call, user, via, parent)
    answer = RedirectResponse(back_to, 303)
    cookies.take(answer, cookies.FORM, call.scheme)
    return answer


@routes.get("/welcome/{code}", Right.PUBLIC)
async def welcome(call: Call, code: str) -> Response:
    """What a one-time link is for. Programs look at links before people do: this does not use it up."""
    view, link = View(call.request), call.server.people.link(code)
    return view.page(view.say("page.welcome"), pages.welcome(view, _welcome_path(code), link, "", None))


@routes.post("/welcome/{code}", Right.PUBLIC)
async def use_link(call: Call, code: str) -> Response:
    """Use a one-time link."""
    form = call.form
    here, name = call.server, form.get("name", "").strip()
    link = here.people.link(code)
    view = View(call.request)
    problem, status = (view.say("page.differ"), 400) if _differ(link.purpose, form) else (None, 200)
    if problem is None:
        try:
            user, parent = await here.login.by_link(code, name or None, form.get("new"), call.origin)
            return await _in(call, user, "link", "/", parent)
        except (BadRequest, TooFast) as error:
            problem, status = view.say(error.said), error.status
    return view.page(
        view.say("page.welcome"),
        pages.welcome(view, _welcome_path(code), link, name if link.purpose == FIRST else "", problem),
        status=status,
    )


def _differ(purpose: str, form: Form) -> bool:
    return purpose != LOGIN and form.get("new") != form.get("again")


def _welcome_path(code: str) -> str:
    return f"/welcome/{code}"


@routes.post("/logout", Right.USER)
async def log_out(call: Call) -> Response:
    """End the session."""
    await end_session(call)
    return RedirectResponse("/login", 303)
