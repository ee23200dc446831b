"""The routes of the pages. Their forms are read and checked by the gate before a route is called."""

from __future__ import annotations

from datetime import UTC, datetime

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from roost.api import cookies
from roost.api.entrance import give, new_session, origin
from roost.api.forms import Form
from roost.api.jobs import caller, service
from roost.core.errors import BadRequest, NotFound, NotKnown, NotPermitted, RoostError, TooFast
from roost.server.clock import now_ms
from roost.server.people import FIRST, LOGIN, NOBODYS
from roost.store.listing import Cut
from roost.store.rows import Filter
from roost.web import pages
from roost.web.layout import FOREVER, View, stylesheet
from roost.web.places import own_path

router = APIRouter(include_in_schema=False)
JOBS_SHOWN = 12
DAY_S = 86_400
_DONE = {"password": "password done", "revoked": "revoked"}


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
    return view.page(view.words("login"), pages.login(view, "", None, view.next), class_="narrow")


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
    answer = view.page(t("login"), pages.login(view, user[:100], text, back_to), status=status, class_="narrow")
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
    return view.page(view.words("welcome"), pages.welcome(view, _welcome_path(code), link, "", None), class_="narrow")


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
            problem, status = error.message, error.status
    return view.page(
        view.words("welcome"),
        pages.welcome(view, _welcome_path(code), link, name if link.purpose == FIRST else "", problem),
        status=status,
        class_="narrow",
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


@router.get("/")
async def home(request: Request) -> Response:
    """Who you are, what everybody is to see, the GPUs, your latest jobs."""
    view, who, here = View(request), caller(request), service(request)
    recent = now_ms() - int(here.cluster.number("ls.recent_h") * 3_600_000)
    found = await here.page(Filter(users=(who.name,), ended_since_ms=recent), Cut(JOBS_SHOWN))
    gpus = here.veil(who).gpus(await here.gpus())["gpus"]
    runs_as = None if who.account == NOBODYS else who.account or here.people.own.name
    body = pages.home(view, who, runs_as, await here.notice(), gpus, found["jobs"])
    return view.page(view.words("home"), body)


@router.get("/account")
async def account(request: Request) -> Response:
    """Password and tokens."""
    about = _about(request)
    about.done = _DONE.get(request.query_params.get("done", ""))
    return _account(request, about)


@router.post("/account/password")
async def set_password(request: Request) -> Response:
    """A new password."""
    form: Form = request.state.form
    about = _about(request)
    try:
        if form.get("new") != form.get("again"):
            raise BadRequest(View(request).words("differ"))
        await service(request).login.change_password(caller(request), form.get("old"), form.get("new", ""))
    except (BadRequest, NotPermitted, TooFast) as error:
        about.problem, about.problem_at = error.message, "password"
        return _account(request, about, error.status)
    return RedirectResponse("/account?done=password", 303)


@router.post("/account/tokens")
async def new_token(request: Request) -> Response:
    """A token, shown this once."""
    form: Form = request.state.form
    label, about = form.get("label", "").strip(), None
    try:
        _, secret = await service(request).people.new_token(caller(request), label, _lives_s(form.get("days", "")))
    except BadRequest as error:
        about = _about(request)
        about.problem, about.problem_at = error.message, "tokens"
        return _account(request, about, error.status)
    about = _about(request)
    about.made = (label, secret)
    return _account(request, about)


def _lives_s(days: str) -> int | None:
    if not days.strip():
        return None
    if not (days.isascii() and days.isdigit() and 1 <= int(days[:6]) <= 10_000):
        raise BadRequest(f"not a number of days from 1 to 10,000: {days[:20]!r}")
    return int(days) * DAY_S


@router.post("/account/tokens/{token}/revoke")
async def revoke(request: Request, token: int) -> Response:
    """End a token."""
    await service(request).people.revoke(caller(request), token)
    return RedirectResponse("/account?done=revoked", 303)


def _about(request: Request) -> pages.Account:
    who, people = caller(request), service(request).people
    row = people.accounts.get(who.name)
    own = sorted((token for token in people.tokens.values() if token.user == who.name), key=lambda token: token.id)
    return pages.Account(row is not None and row.password is not None, own)


def _account(request: Request, about: pages.Account, status: int = 200) -> Response:
    view = View(request)
    return view.page(view.words("account"), pages.account(view, caller(request), about, _day), status=status)


def _day(at_ms: int | None) -> str:
    return "" if at_ms is None else datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d")
