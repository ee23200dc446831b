"""What stands on each page: values in, markup out. Asks nobody anything."""

from __future__ import annotations

from typing import Any

from roost.server.people import FIRST, LOGIN, Caller
from roost.store.rows import LinkRow, TokenRow
from roost.web.html import Html, element, join
from roost.web.layout import View, button, field, filled, said

Json = dict[str, Any]
MAX_COMMAND = 120


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


def home(view: View, caller: Caller, runs_as: str | None, notice: Json | None, gpus: list[Json], jobs: list[Json]) -> Html:
    """Who you are, and what there is."""
    t = view.words
    who = filled(t("logged in as"), element("strong", caller.name))
    rank = element("span", t("administrator"), class_="mark") if caller.is_admin else None
    account = filled(t("runs as"), code(runs_as)) if runs_as else t("runs as nobody")
    return join(
        _notice(view, notice),
        element("p", join(who, " ", rank, " · ", account), class_="who"),
        _gpus(view, gpus),
        _jobs(view, jobs),
        element("p", filled(t("hint"), join(code("roost --help"), " · ", code("roost top"))), class_="quiet"),
    )


def _notice(view: View, notice: Json | None) -> Html | None:
    if notice is None:
        return None
    by = view.words("notice").format(notice["by"])
    return element("aside", element("small", by), element("p", notice["text"]), class_="notice")


def _gpus(view: View, gpus: list[Json]) -> Html:
    t = view.words
    free = sum(gpu["state"] == "free" for gpu in gpus)
    count = element("small", filled(t("gpus free"), str(free), str(len(gpus)))) if gpus else None
    cards = [_gpu(view, gpu) for gpu in gpus]
    body = element("div", *cards, class_="cards") if cards else element("p", t("no gpus"), class_="quiet")
    return element("section", element("h2", t("gpus"), " ", count), body)


def _gpu(view: View, gpu: Json) -> Html:
    t = view.words
    used, total = gpu["mem_used_mib"], gpu["mem_mib"]
    users = sorted({job["user"] for job in gpu["jobs"]} | {proc["user"] for proc in gpu["procs"] if proc["user"]})
    memory = f"{_gib(used)} / {_gib(total)} GiB"
    return element(
        "div",
        element("b", gpu["alias"] or f"{gpu['node']}:{gpu['index']}"),
        element("span", t.state(gpu["state"]), class_="state " + _tone(gpu["state"])),
        element("small", gpu["model"]),
        element("meter", memory, min=0, max=total or 1, value=used or 0, aria_label=t("memory")),
        element("small", memory, class_="figures"),
        element("small", t("used by"), " ", ", ".join(users)) if users else None,
        class_="card",
    )


def _gib(mib: int | None) -> str:
    return "–" if mib is None else f"{mib / 1024:.1f}"


def _tone(state: str) -> str:
    good, busy = ("free", "succeeded"), ("used", "running", "starting")
    bad = ("fault", "failed", "cannot_start", "out_of_memory", "timed_out", "lost", "unreachable")
    return "good" if state in good else "busy" if state in busy else "bad" if state in bad else "calm"


def _jobs(view: View, jobs: list[Json]) -> Html:
    t = view.words
    if not jobs:
        body = element("p", filled(t("no jobs"), code("roost submit -g 1 python train.py")), class_="quiet")
    else:
        body = _table([t("job"), t("job name"), t("state"), t("command")], [_job(view, job) for job in jobs])
    return element("section", element("h2", t("your jobs")), body)


def _job(view: View, job: Json) -> list[Html | str]:
    state, line = job["outcome"] or job["state"], job["command_line"]
    short = line if len(line) <= MAX_COMMAND else line[: MAX_COMMAND - 1] + "…"
    shown = element("span", view.words.state(state), class_="state " + _tone(state))
    return [str(job["id"]), job["name"], shown, code(short)]


def _table(heads: list[str], rows: list[list[Html | str]]) -> Html:
    top = element("thead", element("tr", *(element("th", head) for head in heads)))
    lines = [
        element("tr", *(element("td", cell, data_label=head) for head, cell in zip(heads, row, strict=True))) for row in rows
    ]
    return element("table", top, element("tbody", *lines))


class Account:
    """What the account page shows: what has just happened on it, above what is always there."""

    def __init__(self, has_password: bool, tokens: list[TokenRow], done: str | None = None) -> None:
        self.has_password, self.tokens, self.done = has_password, tokens, done
        self.problem: str | None = None
        self.problem_at = ""
        self.made: tuple[str, str] | None = None
        """Label and secret of the token that was just made."""


def account(view: View, caller: Caller, about: Account, day: Any) -> Html:
    """Password and tokens. `day` words a moment."""
    t = view.words
    return join(
        element("h1", t("account")),
        element("p", filled(t("logged in as"), element("strong", caller.name)), class_="who"),
        said(t(about.done) if about.done else None, "good"),
        _password(view, about),
        _tokens(view, about, day),
    )


def _password(view: View, about: Account) -> Html:
    t = view.words
    old = field(t("old password"), "old", "password", autocomplete="current-password", required=True)
    form = view.form(
        "/account/password", old if about.has_password else None, *_new_password(view), button(t("set password"))
    )
    title = t("change password" if about.has_password else "choose password")
    return element("section", element("h2", title), said(about.problem if about.problem_at == "password" else None), form)


def _tokens(view: View, about: Account, day: Any) -> Html:
    t = view.words
    made = None
    if about.made is not None:
        label, secret = about.made
        words = element("p", filled(t("token done"), element("strong", label)))
        made = element("div", words, element("pre", code(secret)), class_="said good", role="status")
    heads = [t("label"), t("made"), t("used"), t("expires"), ""]
    rows = [_token(view, row, day) for row in about.tokens]
    return element(
        "section",
        element("h2", t("tokens")),
        element("p", filled(t("tokens lead"), code("roost login")), class_="lead"),
        made,
        said(about.problem if about.problem_at == "tokens" else None),
        _table(heads, rows) if rows else element("p", t("no tokens"), class_="quiet"),
        view.form(
            "/account/tokens",
            field(t("label"), "label", maxlength=100, required=True, autocomplete="off"),
            field(t("days"), "days", "number", min=1, max=10_000, autocomplete="off"),
            button(t("new token")),
        ),
    )


def _token(view: View, row: TokenRow, day: Any) -> list[Html | str]:
    never = view.words("never")
    end = view.form(f"/account/tokens/{row.id}/revoke", element("button", view.words("revoke"), class_="plain"))
    return [row.label, day(row.created_ms), day(row.used_ms) or never, day(row.expires_ms) or never, end]


def refusal(view: View, title: str, message: str, hint: str | None) -> Html:
    """What did not work, and what to do."""
    return element(
        "section",
        element("h1", title),
        element("p", message, class_="lead"),
        element("p", hint, class_="quiet") if hint else None,
        element("p", element("a", view.words("back"), href="/")),
    )
