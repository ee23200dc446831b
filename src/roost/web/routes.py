"""The routes of the pages before a login. Their forms are read and checked by the gate before a route is called."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from roost.api import cookies
from roost.api.entrance import give, new_session, origin
from roost.api.forms import Form
from roost.api.jobs import caller, service
from roost.core.errors import BadRequest, NotFound, NotKnown, NotPermitted, RoostError, TooFast
from roost.server.identity.people import FIRST, LOGIN
from roost.web import pages
from roost.web.layout import FOREVER, View, stylesheet
from roost.web.places import own_path
from roost.web.said import said

router = APIRouter(include_in_schema=False)


@router.get("/style/{name}")
async def style(name: str) -> Response:
    """The stylesheet. Its name changes with it, so that it may be kept for ever."""
    known, sheet = stylesheet()
    if name != known:
        raise NotFound("there is no such stylesheet")
    return Response(sheet, media_type="text/css; charset=utf-8", headers={"Cache-Control": FOREVER})


@router.get("/login")
async def login(request: Request) -> Response:
    """Ask for name and password."""
    view = View(request)
    if view.caller is not None:
        return RedirectResponse(view.next, 303)
    return view.page(view.words("login"), pages.login(view, "", None, view.next))


@router.post("/login")
async def log_in(request: Request) -> Response:
    """Begin a session and go where it was meant to go."""
    form: Form = request.state.form
    user, back_to = form.get("user", "").strip(), own_path(form.get("next"))
    try:
        name = await service(request).login.by_password(user, form.get("password", ""), origin(request))
    except (NotKnown, NotPermitted, TooFast, BadRequest) as error:
        return _not_in(View(request), user, back_to, error)
    return await _in(request, name, "password", back_to)


def _not_in(view: View, user: str, back_to: str, error: RoostError) -> Response:
    t, status = view.words, error.status
    if isinstance(error, TooFast):
        text = t("wait").format(error.after_s)
    elif isinstance(error, NotPermitted):
        text = t("locked")
    else:
        text, status = t("wrong"), 401
    answer = view.page(t("login"), pages.login(view, user[:100], text, back_to), status=status)
    if isinstance(error, TooFast):
        answer.headers["Retry-After"] = str(error.after_s)
    return answer


async def _in(request: Request, user: str, via: str, back_to: str) -> Response:
    row, secret = await new_session(request, user, via)
    answer = RedirectResponse(back_to, 303)
    give(request, answer, row, secret)
    cookies.take(answer, cookies.FORM, View(request).scheme)
    return answer


@router.get("/welcome/{code}")
async def welcome(request: Request, code: str) -> Response:
    """What a one-time link is for. Programs look at links before people do: this does not use it up."""
    view, link = View(request), service(request).people.link(code)
    return view.page(view.words("welcome"), pages.welcome(view, _welcome_path(code), link, "", None))


@router.post("/welcome/{code}")
async def use_link(request: Request, code: str) -> Response:
    """Use a one-time link."""
    form: Form = request.state.form
    here, name = service(request), form.get("name", "").strip()
    link = here.people.link(code)
    view = View(request)
    problem, status = (view.words("differ"), 400) if _differ(link.purpose, form) else (None, 200)
    if problem is None:
        try:
            user = await here.login.by_link(code, name or None, form.get("new"), origin(request))
            return await _in(request, user, "link", "/")
        except (BadRequest, TooFast) as error:
            problem, status = said(error.message, view.words.language), error.status
    return view.page(
        view.words("welcome"),
        pages.welcome(view, _welcome_path(code), link, name if link.purpose == FIRST else "", problem),
        status=status,
    )


def _differ(purpose: str, form: Form) -> bool:
    return purpose != LOGIN and form.get("new") != form.get("again")


def _welcome_path(code: str) -> str:
    return f"/welcome/{code}"


@router.post("/logout")
async def log_out(request: Request) -> Response:
    """End the session."""
    await service(request).people.end_session(caller(request))
    answer = RedirectResponse("/login", 303)
    cookies.take(answer, cookies.SESSION, View(request).scheme)
    return answer
