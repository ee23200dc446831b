"""What stands on the pages before a login, and on one that refuses: values in, markup out. Pure."""

from typing import Any

from roost.server.identity.passwords import MAX_LENGTH, MIN_LENGTH
from roost.server.identity.people import FIRST, LOGIN
from roost.store.rows import LinkRow
from roost.web.html import Html, element
from roost.web.layout import View, button, field, filled, problem_line

Json = dict[str, Any]


def code(text: str) -> Html:
    """Something to type."""
    return element("code", text)


def login(view: View, user: str, problem: str | None, back_to: str) -> Html:
    """Name and password."""
    say = view.say
    return element(
        "section",
        element("h1", say("page.login")),
        element("p", say("page.login_lead"), class_="lead"),
        problem_line(problem),
        view.form(
            "/login",
            element("input", type="hidden", name="next", value=back_to),
            field(say("page.user"), "user", value=user or None, autocomplete="username", required=True, autofocus=not user),
            field(
                say("page.password"),
                "password",
                "password",
                autocomplete="current-password",
                required=True,
                autofocus=bool(user),
            ),
            button(say("page.login")),
            is_before=True,
        ),
        element("p", filled(say("page.no_password"), command=code("roost web")), class_="quiet"),
    )


def welcome(view: View, action: str, link: LinkRow, name: str, problem: str | None) -> Html:
    """What a one-time link is for, and what it asks for. Looking at it does not use it up."""
    say = view.say
    user = link.user or ""
    kind = {FIRST: "first", LOGIN: "login"}.get(link.purpose, "password")
    fields: list[Html] = []
    if link.purpose == FIRST:
        fields.append(
            field(say("page.user"), "name", value=name or None, autocomplete="username", required=True, autofocus=True)
        )
    if link.purpose != LOGIN:
        fields += _new_password(view)
    label = {"first": say("page.become_admin"), "login": say("page.login_as", user=user)}.get(kind, say("page.set_password"))
    return element(
        "section",
        element("h1", say("page.welcome")),
        element("p", filled(say(f"page.link_{kind}"), user=element("strong", user)), class_="lead"),
        problem_line(problem),
        view.form(action, *fields, button(label), is_before=True),
    )


def _new_password(view: View) -> list[Html]:
    say = view.say
    more: Json = {"autocomplete": "new-password", "required": True, "minlength": MIN_LENGTH, "maxlength": MAX_LENGTH}
    return [
        field(say("page.new_password"), "new", "password", say("page.password_rule", least=MIN_LENGTH), **more),
        field(say("page.repeat_password"), "again", "password", **more),
    ]


def refusal(view: View, title: str, message: str, hint: str | None) -> Html:
    """What did not work, and what to do."""
    return element(
        "section",
        element("h1", title),
        element("p", message, class_="lead"),
        element("p", hint, class_="quiet") if hint else None,
        element("p", element("a", view.say("page.back"), href="/")),
    )
