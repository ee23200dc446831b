"""What these pages share: the frame, the stylesheet, the language. A page is markup in, an answer out."""

import hashlib
import re
from functools import cache
from importlib import resources
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response

from roost.api.edge import cookies, forms
from roost.api.edge.authentication import scheme_of
from roost.messages import LANGUAGES, Language, Message, languages_accepted, render
from roost.server.identity.people import Caller
from roost.web.html import Html, element, join
from roost.web.places import own_path

FOREVER = "public, max-age=31536000, immutable"
YEAR_S = 31_536_000
_BIRD = "M6 23h20M11 23v3M21 23v3M9 19.5c0-5.5 3.5-9.5 8-9.5 3 0 4.5 1.5 5 3.5l2.5 1.2-2.7 1c-.6 2.3-2.6 3.8-5.3 3.8z"


@cache
def stylesheet() -> tuple[str, bytes]:
    """The name of the stylesheet, which changes with it, and the sheet."""
    sheet = resources.files("roost.web").joinpath("style.css").read_bytes()
    return f"{hashlib.sha256(sheet).hexdigest()[:16]}.css", sheet


class View:
    """One request for a page: its language, the caller, and what its forms must carry."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self.scheme = scheme_of(request.scope)
        self._asked = request.query_params.get("lang")
        jar = request.headers.get("cookie", "").encode("latin-1")
        remembered = cookies.read(jar, cookies.LANGUAGE, self.scheme)
        self.language = _language(self._asked, remembered, request.headers.get("accept-language", ""))
        found: Caller | None = request.scope.get("state", {}).get("caller")
        self.caller = found if found is not None and found.csrf is not None else None
        self.next = own_path(request.query_params.get("next"))
        self._cookie: str | None = None

    def say(self, message: str | Message, /, **params: object) -> str:
        """A message, or the one of a code, in the language of the page."""
        return render(message if isinstance(message, Message) else Message(message, **params), self.language)

    def form(self, action: str, *children: Html | str | None, class_: str | None = None, is_before: bool = False) -> Html:
        """A form that is taken back: with the session's secret in it, or before a login with one of its own."""
        return element("form", self._secret(is_before), *children, method="post", action=action, class_=class_)

    def _secret(self, is_before: bool) -> Html:
        if self.caller is not None and not is_before:
            value = self.caller.csrf
        else:
            self._cookie, value = forms.fresh_token(self._request, self.scheme)
        return element("input", type="hidden", name=forms.FIELD, value=value)

    def page(self, title: str, *body: Html | None, status: int = 200) -> Response:
        """The whole page."""
        answer = Response(self._document(title, join(*body)), status, media_type="text/html; charset=utf-8")
        if self._cookie is not None:
            forms.keep(answer, self._cookie, self.scheme)
        if self._asked == self.language:
            cookies.put(answer, cookies.LANGUAGE, self.language, self.scheme, YEAR_S)
        return answer

    def _document(self, title: str, body: Html) -> str:
        head = element(
            "head",
            element("meta", charset="utf-8"),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element("meta", name="color-scheme", content="light dark"),
            element("title", f"{title} · Roost"),
            element("link", rel="stylesheet", href=f"/style/{stylesheet()[0]}"),
        )
        frame = element("body", self._header(), element("main", body))
        return "<!doctype html>\n" + element("html", head, frame, lang="zh-CN" if self.language == "zh" else "en")

    def _header(self) -> Html:
        is_chinese = self.language == "zh"
        other = urlencode({"lang": "en" if is_chinese else "zh"} | ({"next": self.next} if self.next != "/" else {}))
        name_of_other = self.say("page.other_language")
        language = element("a", name_of_other, href=f"?{other}", lang="en" if is_chinese else "zh-CN", class_="quiet")
        links: list[Html] = []
        if self.caller is not None:
            links = [element("a", self.say("page.home"), href="/")]
            links.append(self.form("/logout", element("button", self.say("page.logout"), class_="plain"), class_="inline"))
        name = element("a", _logo(), "Roost", href="/", class_="name")
        return element("header", name, element("nav", *links, language))


def _language(asked: str | None, remembered: str | None, accepted: str) -> Language:
    """The language asked for, else the one of last time, else what the browser prefers."""
    for language in LANGUAGES:
        if language == (asked if asked in LANGUAGES else remembered):
            return language
    return languages_accepted(accepted)


def _logo() -> Html:
    """The bird on its perch, as the dashboard has it: drawn here, so that it needs no other file."""
    line: dict[str, str] = {"fill": "none", "stroke": "#fff", "stroke_width": "2.4", "stroke_linecap": "round"}
    return element(
        "svg",
        element("rect", width=32, height=32, rx=8, fill="#2f6f62"),
        element("path", d=_BIRD, stroke_linejoin="round", **line),
        element("circle", cx="18.6", cy="13.6", r="1.2", fill="#fff"),
        viewBox="0 0 32 32",
        width=28,
        height=28,
        aria_hidden="true",
    )


def field(label: str, name: str, kind: str = "text", note: str | None = None, **more: str | int | bool | None) -> Html:
    """A field of a form with what it is for."""
    small = element("small", note) if note else None
    return element("label", element("span", label), element("input", type=kind, name=name, **more), small)


def button(label: str) -> Html:
    """The button that sends a form."""
    return element("button", label, type="submit")


def problem_line(text: str | None) -> Html | None:
    """One line about what did not work."""
    return element("p", text, class_="problem", role="alert") if text else None


def filled(text: str, **parts: Html | str) -> Html:
    """A sentence that still has `{name}` in it, filled with markup or text."""
    pieces = re.split(r"{(\w+)}", text)
    return join(*(parts[piece] if at % 2 else piece for at, piece in enumerate(pieces)))
