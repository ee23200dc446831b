"""What stands on the pages before a login, and on one that refuses: values in, markup out. Asks nobody anything."""

from typing import Any

from roost.server.identity.people import FIRST, LOGIN
from roost.store.rows import LinkRow
from roost.web.html import Html, element
from roost.web.layout import View, button, field, filled, said

Json = dict[str, Any]


def code(text: str) -> Html:
    """Something to type."""
    return element("code", text)


def login(view: View, user: str, problem: str | None, back_to: str) -> Html:
    """Name and password."""
    t = view.words
    return element(
        "section",
        element("h1", t("login")),
        element("p", t("login lead"), class_="lead"),
        said(problem),
        view.form(
            "/login",
            element("input", type="hidden", name="next", value=back_to),
            field(t("user"), "user", value=user or None, autocomplete="username", required=True, autofocus=not user),
            field(
                t("password"), "password", "password", autocomplete="current-password", required=True, autofocus=bool(user)
            ),
            button(t("login")),
            is_before=True,
        ),
        element("p", filled(t("no password"), code("roost web")), class_="quiet"),
    )


def welcome(view: View, action: str, link: LinkRow, name: str, problem: str | None) -> Html:
    """What a one-time link is for, and what it asks for. Looking at it does not use it up."""
    t = view.words
    user = link.user or ""
    kind = {FIRST: "first", LOGIN: "login"}.get(link.purpose, "password")
    fields: list[Html] = []
    if link.purpose == FIRST:
        fields.append(field(t("name"), "name", value=name or None, autocomplete="username", required=True, autofocus=True))
    if link.purpose != LOGIN:
        fields += _new_password(view)
    label = {"first": t("make admin"), "login": t("go on as").format(user)}.get(kind, t("set password"))
    return element(
        "section",
        element("h1", t("welcome")),
        element("p", filled(t(f"link {kind}"), element("strong", user)), class_="lead"),
        said(problem),
        view.form(action, *fields, button(label), is_before=True),
    )


def _new_password(view: View) -> list[Html]:
    t = view.words
    more: Json = {"autocomplete": "new-password", "required": True, "minlength": 10, "maxlength": 1024}
    return [
        field(t("new password"), "new", "password", t("password rule"), **more),
        field(t("again"), "again", "password", **more),
    ]


def refusal(view: View, title: str, message: str, hint: str | None) -> Html:
    """What did not work, and what to do."""
    return element(
        "section",
        element("h1", title),
        element("p", message, class_="lead"),
        element("p", hint, class_="quiet") if hint else None,
        element("p", element("a", view.words("back"), href="/")),
    )
