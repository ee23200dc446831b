"""What a hostile page, a guesser or a stranger tries, called in this process: each attempt is refused."""

from __future__ import annotations

import time
from html import escape
from typing import Any
from urllib.parse import quote

import pytest
from tests.contract.browser import FORM, GOOD, JSON, Browser, add_user
from tests.contract.conftest import Api

from roost.api.app import TABLE
from roost.api.edge.authentication import Right
from roost.core.errors import NotKnown, TooFast
from roost.server.identity import passwords
from roost.server.identity.people import FIRST, PASSWORD
from roost.server.identity.throttle import FORGET_S, PAIR, Throttle, block
from roost.web.places import own_path

SUBMIT = b'{"jobs": [{"command": ["true"]}]}'
XSS = "<script>alert(1)</script>\"'&<img src=x onerror=alert(1)>"


async def csrf_of(browser: Browser) -> str:
    """The session's own secret."""
    return str((await browser.get("/api/v1/me")).json["csrf"])


# -- another site's page makes the browser ask ----------------------------------------------------------------------

FOREIGN: list[dict[str, str]] = [
    {},
    {"roost_csrf": ""},
    {"roost_csrf": "guessed"},
    {"roost_csrf": "RIGHT", "origin": "https://evil.example"},
    {"roost_csrf": "RIGHT", "origin": "http://roost.test.evil.example"},
    {"roost_csrf": "RIGHT", "origin": "http://evil.example/roost.test"},
    {"roost_csrf": "RIGHT", "origin": "http://roost.test:81"},
    {"roost_csrf": "RIGHT", "origin": "null"},
    {"roost_csrf": "RIGHT", "origin": "file://roost.test"},
    {"roost_csrf": "RIGHT", "sec_fetch_site": "cross-site"},
    {"roost_csrf": "RIGHT", "sec_fetch_site": "same-site"},
]


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
async def test_a_session_alone_changes_nothing(api: Api, headers: dict[str, str]) -> None:
    await add_user(api, "ana")
    browser = await Browser(api).logged_in("ana")
    right = await csrf_of(browser)
    said = {name: value.replace("RIGHT", right) for name, value in headers.items()}
    seen = await browser.ask("PUT", "/api/v1/defaults", b'{"gpus": 1}', content_type=JSON, **said)
    assert (seen.status, seen.json["error"]["code"]) == (403, "not_permitted")
    own = {"roost_csrf": right, "origin": "http://roost.test", "sec_fetch_site": "same-origin"}
    assert (await browser.ask("PUT", "/api/v1/defaults", b'{"gpus": 1}', content_type=JSON, **own)).status == 200


@pytest.mark.parametrize("kind", [FORM, "text/plain", "multipart/form-data; boundary=x", "application/jsonp", ""])
async def test_the_api_takes_no_body_that_a_form_could_send(api: Api, kind: str) -> None:
    await add_user(api, "ana")
    browser = await Browser(api).logged_in("ana")
    right = await csrf_of(browser)
    named = {"content_type": kind} if kind else {}
    seen = await browser.ask("PUT", "/api/v1/defaults", b'{"gpus": 1}', roost_csrf=right, **named)
    assert (seen.status, seen.json["error"]["code"]) == (400, "bad_request")
    stranger = await Browser(api).ask("POST", "/api/v1/login", b'{"user": "ana", "password": "x"}', **named)
    assert stranger.status == 400


async def test_the_api_does_not_take_the_field_of_a_form_for_the_header(api: Api) -> None:
    await add_user(api, "ana")
    browser = await Browser(api).logged_in("ana")
    right = await csrf_of(browser)
    for path in ("/api/v1/logout", "/api/v1/me/link", f"/api/v1/logout?csrf={right}", f"/api/v1/logout?roost-csrf={right}"):
        assert (await browser.post(path, {"csrf": right})).status == 403
    assert (await browser.get("/api/v1/me")).status == 200


CHANGES: dict[str, Any] = {
    "POST /api/v1/me/password": {"old": GOOD, "new": "a long new password"},
    "POST /api/v1/tokens": {"label": "x"},
    "DELETE /api/v1/tokens/1": None,
}


@pytest.mark.parametrize("route", sorted(CHANGES))
@pytest.mark.parametrize("secret", ["", "guessed", "OTHER"])
async def test_nobody_elses_page_changes_a_password_or_tokens(api: Api, route: str, secret: str) -> None:
    await add_user(api, "ana")
    await add_user(api, "eve")
    browser, eve = await Browser(api).logged_in("ana"), await Browser(api).logged_in("eve")
    method, _, path = route.partition(" ")
    wrong = secret.replace("OTHER", await csrf_of(eve))
    assert (await browser.change(method, path, CHANGES[route], roost_csrf=wrong)).status == 403
    assert (await browser.change(method, path, CHANGES[route], origin="http://evil.example")).status == 403
    assert not api.server.people.tokens and (await Browser(api).login("ana", GOOD)).status == 303


@pytest.mark.parametrize("secret", ["", "guessed", "OTHER"])
async def test_a_form_of_another_page_is_not_taken(api: Api, secret: str) -> None:
    await add_user(api, "ana")
    await add_user(api, "eve")
    browser, eve = await Browser(api).logged_in("ana"), await Browser(api).logged_in("eve")
    assert (await browser.post("/logout", {"csrf": secret.replace("OTHER", await csrf_of(eve))})).status == 403
    own = {"csrf": await csrf_of(browser)}
    assert (await browser.post("/logout", own, origin="http://evil.example")).status == 403
    assert (await browser.get("/me")).status == 200


async def test_a_page_takes_no_other_body_than_a_form(api: Api) -> None:
    await add_user(api, "ana")
    browser = await Browser(api).logged_in("ana")
    right = await csrf_of(browser)
    for kind in ("text/plain", JSON, "multipart/form-data; boundary=x"):
        assert (await browser.ask("POST", "/logout", f"csrf={right}".encode(), content_type=kind)).status == 400
    header_only = await browser.ask("POST", "/logout", b"a=b", content_type=FORM, roost_csrf=right)
    assert header_only.status == 403
    for data in (b"csrf=a&csrf=" + right.encode(), b"csrf=%ff", b"&".join(b"a%d=" % n for n in range(30)), b"\xff", b"csrf"):
        assert (await browser.ask("POST", "/logout", data, content_type=FORM)).status in (400, 403)
    assert (await browser.ask("POST", "/logout", b"csrf=" + b"x" * 70_000, content_type=FORM)).status == 413


async def test_nobody_is_logged_in_as_another_by_a_foreign_page(api: Api) -> None:
    """Login CSRF: the attacker's name and password, sent by the victim's browser."""
    await add_user(api, "eve")
    attacker, victim = Browser(api), Browser(api)
    theirs = (await attacker.get("/login")).token()
    fields = {"user": "eve", "password": GOOD}
    assert (await victim.post("/login", fields)).status == 403
    assert (await victim.post("/login", {**fields, "csrf": theirs})).status == 403
    await victim.get("/login")  # has a cookie of its own now
    assert (await victim.post("/login", {**fields, "csrf": theirs})).status == 403
    mine = (await victim.get("/login")).token()
    assert (await victim.post("/login", {**fields, "csrf": mine}, origin="http://evil.example")).status == 403
    assert (await victim.post("/login", {**fields, "csrf": mine}, sec_fetch_site="cross-site")).status == 403
    planted = f"roost_form=planted; {'; '.join(f'{k}={v}' for k, v in victim.jar.items())}"
    assert (await victim.post("/login", {**fields, "csrf": theirs}, cookie=planted)).status == 403
    assert victim.session not in victim.jar
    assert (await victim.post("/login", {**fields, "csrf": mine})).status == 303


async def test_a_one_time_link_is_not_used_by_a_foreign_page(api: Api) -> None:
    people = api.server.people
    await people.add(people.itself.who, ["ana"], "none")
    code = await people.new_link(people.itself.who, "ana", PASSWORD)
    fields = {"new": GOOD, "again": GOOD}
    assert (await Browser(api).post(f"/welcome/{code}", fields)).status == 403
    assert people.link(code).user == "ana"


# -- sessions -------------------------------------------------------------------------------------------------------


async def test_a_login_never_takes_over_a_session_that_was_there(api: Api) -> None:
    """Session fixation: the victim logs in with the attacker's cookie in their browser."""
    await add_user(api, "ana")
    await add_user(api, "eve")
    eve = await Browser(api).logged_in("eve")
    victim = Browser(api)
    victim.jar[victim.session] = planted = eve.jar[eve.session]
    page = await victim.get("/login", cookie="")
    done = await victim.post("/login", {"csrf": page.token(), "user": "ana", "password": GOOD})
    assert done.status == 303 and victim.jar[victim.session] != planted
    assert (await victim.get("/api/v1/me")).json["user"] == "ana"
    assert (await eve.get("/")).status == 303, "the session that was brought along has ended"


async def test_a_made_up_cookie_never_becomes_a_session(api: Api) -> None:
    await add_user(api, "ana")
    browser = Browser(api)
    browser.jar[browser.session] = "chosen-by-the-attacker"
    await browser.logged_in("ana")
    assert browser.jar[browser.session] != "chosen-by-the-attacker"
    assert (await Browser(api).get("/", cookie="roost_session=chosen-by-the-attacker")).status == 303


async def test_two_cookies_of_one_name_are_none(api: Api) -> None:
    await add_user(api, "ana")
    browser = await Browser(api).logged_in("ana")
    mine = browser.jar[browser.session]
    for jar in (f"roost_session={mine}; roost_session=planted", f"roost_session=planted; roost_session={mine}"):
        assert (await browser.get("/", cookie=jar)).status == 303


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_the_flags_of_the_cookies(api: Api, scheme: str) -> None:
    await add_user(api, "ana")
    browser = Browser(api, scheme)
    lines = {**(await browser.get("/login?lang=zh")).cookies(), **(await browser.login("ana")).cookies()}
    prefix = "__Host-" if scheme == "https" else ""
    assert {f"{prefix}roost_session", f"{prefix}roost_form", f"{prefix}roost_lang"} == set(lines)
    for line in lines.values():
        assert "HttpOnly" in line and "SameSite=lax" in line and "Path=/" in line and "Domain" not in line
        assert ("Secure" in line) == (scheme == "https")
    data = b'{"user": "ana", "password": "%s"}' % GOOD.encode()
    line = (await Browser(api, scheme).ask("POST", "/api/v1/login", data, content_type=JSON)).header("set-cookie")
    assert line.startswith(f"{prefix}roost_session=") and "HttpOnly" in line and ("Secure" in line) == (scheme == "https")


async def test_a_cookie_of_plain_http_is_none_over_tls(api: Api) -> None:
    await add_user(api, "ana")
    plain = await Browser(api).logged_in("ana")
    tls = Browser(api, "https")
    assert (await tls.get("/", cookie=f"roost_session={plain.jar['roost_session']}")).status == 303


async def test_a_token_is_not_taken_from_the_address_or_a_cookie(api: Api) -> None:
    await add_user(api, "ana")
    browser = await Browser(api).logged_in("ana")
    made = await browser.ask(
        "POST", "/api/v1/tokens", b'{"label": "x"}', content_type=JSON, roost_csrf=await csrf_of(browser)
    )
    token, stranger = made.json["token"], Browser(api)
    for name in ("token", "access_token", "authorization", "roost_session", "api_key"):
        assert (await stranger.get(f"/api/v1/me?{name}={token}")).status == 401
    assert (await stranger.get("/api/v1/me", cookie=f"roost_session={token}")).status == 401
    for word in (f"Basic {token}", f"Token {token}", token, "Bearer", "Bearer ", f"Bearer {token}x", f"Bearer {token[:-1]}"):
        assert (await stranger.get("/api/v1/me", authorization=word)).status == 401
    assert (await stranger.get("/api/v1/me", authorization=f"bearer {token}")).status == 200


# -- where a browser is sent ----------------------------------------------------------------------------------------

TRICKS = [
    "//evil.example",
    "///evil.example",
    "https://evil.example",
    "http:evil.example",
    "https:/evil.example",
    "javascript:alert(1)",
    "data:text/html,x",
    "\\\\evil.example",
    "/\\evil.example",
    "/\\/evil.example",
    "\\/evil.example",
    "/\t/evil.example",
    "/\n/evil.example",
    "\t//evil.example",
    " //evil.example",
    "/%09/evil.example",
    "/%2f/evil.example",
    "/%5cevil.example",
    "/.//evil.example",
    "/me/..//evil.example",
    "evil.example",
    "@evil.example",
    "/me\r\nSet-Cookie: a=b",
    "/me\0",
    "/логин",
    "/login?next=/login",
    "/logout",
    "/welcome/abc",
    "/" + "a" * 600,
    "",
]


@pytest.mark.parametrize("asked", TRICKS)
async def test_a_login_leads_nowhere_else(api: Api, asked: str) -> None:
    await add_user(api, "ana")
    assert own_path(asked) == "/"
    browser = Browser(api)
    assert 'name="next" value="/"' in (await browser.get(f"/login?next={quote(asked)}")).text
    assert (await browser.login("ana", next=asked)).header("location") == "/"
    assert (await browser.get(f"/login?next={quote(asked)}")).header("location") == "/"


@pytest.mark.parametrize("path", ["/", "/me", "/submit?clone=7", "/jobs/7", "/jobs?user=ana&state=failed"])
def test_a_path_of_ours_is_kept(path: str) -> None:
    assert own_path(path) == path


async def test_no_answer_redirects_to_the_header_host(api: Api) -> None:
    for path in ("/api/v1/jobs/", "/login/", "/me/", "//login", "/api/v1//jobs"):
        seen = await Browser(api).get(path, host="evil.example")
        assert seen.status == 404 or seen.header("location").startswith("/login")


@pytest.mark.parametrize(
    "host", ["", "a b", "a/b", "evil@roost.test", "roost.test:port", "a\tb", "x" * 400, "<script>", "a,b"]
)
async def test_a_host_that_makes_no_sense_is_refused(api: Api, host: str) -> None:
    assert (await Browser(api).get("/login", host=host)).status == 400


# -- what is shown --------------------------------------------------------------------------------------------------


async def test_what_somebody_typed_is_text_on_every_page(api: Api) -> None:
    await add_user(api, "ana")
    browser = await Browser(api).logged_in("ana")
    stranger = Browser(api)
    pages = [await stranger.get(f"/login?next={quote(XSS)}"), await Browser(api).login(XSS, XSS, next=XSS)]
    pages += [await browser.get(path) for path in (f"/{quote(XSS)}", f"/welcome/{quote(XSS)}", f"/login?lang={quote(XSS)}")]
    people = api.server.people
    code = await people.new_link(people.itself.who, None, FIRST)
    pages.append(await stranger.send(f"/welcome/{code}", f"/welcome/{code}", name=XSS, new=GOOD, again=GOOD))
    for seen in pages:
        assert "<script" not in seen.text and "<img" not in seen.text and "onerror=alert(1)>" not in seen.text
    assert escape(XSS[:100]) in pages[1].text


async def test_names_commands_and_notices_are_json_and_never_a_page(api: Api) -> None:
    await add_user(api, "ana", is_admin=True)
    people = api.server.people
    await people.set_notice(people.itself.who, XSS)
    job = await api.submit(gpus=1, name=XSS, user="ana", command=[XSS], labels=["a<b"])
    browser = await Browser(api).logged_in("ana")
    await browser.change("POST", "/api/v1/tokens", {"label": XSS})
    for path in (
        "/api/v1/jobs",
        f"/api/v1/jobs/{job}",
        f"/api/v1/jobs/{job}/spec",
        "/api/v1/tokens",
        "/api/v1/notice",
        "/api/v1/gpus",
    ):
        seen = await browser.get(path)
        assert seen.status == 200 and seen.header("content-type") == "application/json"
        assert seen.header("x-content-type-options") == "nosniff" and "<script>alert(1)" in seen.text
    for path in ("/", f"/jobs/{job}", "/me"):
        assert XSS not in (await browser.get(path)).text


async def test_a_user_name_with_markup_is_no_name(api: Api) -> None:
    for name in (XSS, "<b>", 'a"b', "a'b", "a&b"):
        seen = await api.call("POST", "/users", {"names": [name]})
        assert seen.status == 400


async def test_every_answer_has_the_headers_that_keep_it_safe(api: Api) -> None:
    await add_user(api, "ana")
    for scheme in ("http", "https"):
        browser = await Browser(api, scheme).logged_in("ana")
        answers = [await browser.get(path) for path in ("/", "/me", "/api/v1/me", "/nothing", "/api/v1/nothing", "/login")]
        answers.append(await browser.ask("PUT", "/api/v1/defaults"))
        answers.append(await browser.get("/login", host="<"))
        answers.append(await Browser(api, scheme).get("/api/v1/me"))
        for seen in answers:
            assert seen.header("x-content-type-options") == "nosniff"
            assert seen.header("x-frame-options") == "DENY"
            assert seen.header("referrer-policy") == "same-origin"
            assert seen.header("cache-control") == ("no-cache" if "etag" in dict(seen.headers) else "no-store")
            assert "default-src 'none'" in seen.header("content-security-policy")
            assert "unsafe" not in seen.header("content-security-policy")
            assert ("strict-transport-security" in dict(seen.headers)) == (scheme == "https")


async def test_an_internal_error_tells_nothing_and_is_as_safe(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(caller: Any) -> Any:
        raise ValueError("/secret/path")

    monkeypatch.setattr(api.server.status, "status", broken)
    browser = await _with_token(api)
    sent: list[Any] = []
    app = browser.app
    scope = _scope("/api/v1/status", browser.jar.pop("token"))

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    with pytest.raises(ValueError, match="secret"):
        await app(scope, receive, send)
    assert sent[0]["status"] == 500 and (b"x-frame-options", b"DENY") in sent[0]["headers"]
    assert b"secret" not in sent[1]["body"]


async def _with_token(api: Api) -> Browser:
    await add_user(api, "ana")
    people = api.server.people
    _, secret = await people.new_token((await _caller(api, "ana")), "x", None)
    browser = Browser(api)
    browser.jar["token"] = secret
    return browser


async def _caller(api: Api, name: str) -> Any:
    people = api.server.people
    _, secret = await people.new_session(name, "", "test")
    return people.by_session(secret, "")


def _scope(path: str, token: str) -> dict[str, Any]:
    return {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "scheme": "http",
        "query_string": b"",
        "headers": [(b"host", b"roost.test"), (b"authorization", f"Bearer {token}".encode())],
        "client": ("192.0.2.1", 1),
        "server": ("roost.test", 80),
    }


# -- strangers ------------------------------------------------------------------------------------------------------


async def test_a_stranger_gets_nothing_but_what_is_public(api: Api) -> None:
    browser = Browser(api)
    for name, right in TABLE.rights.items():
        method, _, path = name.partition(" ")
        for part in ("{job}", "{sweep}", "{token}"):
            path = path.replace(part, "1")
        path = path.replace("{name}", "ana").replace("{code}", "abc")
        seen = await browser.ask(method, path)
        if right is Right.PUBLIC:
            assert seen.status != 303 and "log in first" not in seen.text
        elif path.startswith("/api/"):
            assert (name, seen.status) == (name, 401)
        else:
            assert (name, seen.status, seen.header("location")[:6]) == (name, 303, "/login")


@pytest.mark.parametrize("header", ["x_http_method_override", "x_method_override", "x_http_method"])
async def test_a_header_does_not_change_the_method(api: Api, header: str) -> None:
    await add_user(api, "ana")
    browser = await Browser(api).logged_in("ana")
    seen = await browser.ask("GET", "/api/v1/defaults", b"", **{header: "PUT"})
    assert (seen.status, seen.json["defaults"]) == (200, {})
    assert (await browser.ask("GET", "/api/v1/logout", b"", **{header: "POST"})).status == 405
    assert (await browser.get("/api/v1/me")).status == 200


@pytest.mark.parametrize("name", [b"authorization", b"host", b"content-type", b"roost-csrf", b"origin"])
async def test_a_header_that_decides_comes_once(api: Api, name: bytes) -> None:
    sent: list[Any] = []
    scope = _scope("/api/v1/me", "x")
    scope["headers"] = [(b"host", b"roost.test"), (name, b"roost.test"), (name, b"other")]

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await Browser(api).app(scope, receive, send)
    assert sent[0]["status"] == 400


async def test_who_asks_too_often_is_told_to_wait_and_others_are_not(api: Api) -> None:
    await add_user(api, "ana")
    await add_user(api, "bob")
    ana, bob = await Browser(api).logged_in("ana"), await Browser(api).logged_in("bob")
    await api.call("PUT", "/settings", {"http.rate": 1, "http.burst": 3})
    ana.app = bob.app  # one gate for both
    seen = [await ana.get("/api/v1/me") for _ in range(5)]
    assert [one.status for one in seen] == [200, 200, 200, 429, 429]
    assert int(seen[-1].header("retry-after")) >= 1
    assert (await bob.get("/api/v1/me")).status == 200
    assert (await ana.get("/me")).status == 429


async def test_only_a_trusted_proxy_says_who_asks_and_how(api: Api) -> None:
    await add_user(api, "ana")
    said = {"x_forwarded_for": "198.51.100.1", "x_forwarded_proto": "https", "x_forwarded_host": "roost.lab"}
    data = b'{"user": "ana", "password": "%s"}' % GOOD.encode()
    stranger = await Browser(api).ask("POST", "/api/v1/login", data, content_type=JSON, **said)
    assert "Secure" not in stranger.header("set-cookie") and "strict-transport-security" not in dict(stranger.headers)
    assert (await Browser(api).post("/login", {}, origin="https://roost.lab", **said)).status == 403
    await api.call("PUT", "/settings", {"http.proxies": "192.0.2.0/24"})
    proxied = await Browser(api).ask(
        "POST", "/api/v1/login", data, content_type=JSON, origin="https://roost.lab", sec_fetch_site="same-origin", **said
    )
    assert proxied.status == 200 and proxied.header("set-cookie").startswith("__Host-roost_session=")
    evil = await Browser(api).ask("POST", "/api/v1/login", data, content_type=JSON, origin="http://roost.test", **said)
    assert evil.status == 403
    addresses = {row["address"] for row in (await api.get("/audit?action=login"))["audit"]}
    assert addresses == {"192.0.2.1", "198.51.100.1"}


# -- guessing -------------------------------------------------------------------------------------------------------


async def guess(api: Api, user: str, address: str, times: int) -> list[int]:
    """Wrong passwords; how they were answered."""
    browser = Browser(api, address=address)
    data = b'{"user": "%s", "password": "wrong wrong"}' % user.encode()
    return [(await browser.ask("POST", "/api/v1/login", data, content_type=JSON)).status for _ in range(times)]


@pytest.fixture
def quick(api: Api, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Hashes that cost nothing and a clock that stands, for tests that try many; the hashes that were looked at."""
    api.server.login.now_s = lambda: 1000.0
    tried: list[str] = []
    nobody = passwords.hashed("nobody")

    def is_right(password: str, known: str | None) -> bool:
        tried.append(known or nobody)
        return password == GOOD and known is not None

    monkeypatch.setattr("roost.server.identity.login.is_right", is_right)
    return tried


async def test_guessing_is_slowed_for_the_guesser_and_not_for_the_victim(api: Api, quick: list[str]) -> None:
    await add_user(api, "ana")
    assert await guess(api, "ana", "198.51.100.7", PAIR.free + 2) == [401] * PAIR.free + [429] * 2
    seen = await Browser(api, address="198.51.100.7").login("ana")
    assert seen.status == 429 and int(seen.header("retry-after")) >= 1 and "too many wrong passwords" in seen.text
    assert (await Browser(api, address="203.0.113.9").login("ana")).status == 303
    data = b'{"user": "ana", "password": "%s"}' % GOOD.encode()
    api.headers["content-type"] = JSON
    assert (await api.call("POST", "/login", data)).status == 200, "the UNIX socket is another place"


async def test_one_address_that_tries_many_accounts_is_slowed(api: Api, quick: list[str]) -> None:
    statuses = [(await guess(api, f"user{n}", "198.51.100.7", 1))[0] for n in range(22)]
    assert statuses == [401] * 20 + [429] * 2
    assert await guess(api, "user50", "198.51.100.8", 1) == [401]


async def test_many_tries_at_once_gain_nothing(api: Api, quick: list[str]) -> None:
    import asyncio

    await add_user(api, "ana")
    quick.clear()
    found = await asyncio.gather(*(guess(api, "ana", "198.51.100.7", 1) for _ in range(40)))
    assert len(quick) <= PAIR.free + 1 and [429] in found


async def test_an_unknown_name_takes_the_same_way(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    await add_user(api, "ana")
    checked: list[bool] = []
    real = passwords._hasher().verify

    class Counting:
        def verify(self, *arguments: Any) -> bool:
            checked.append(True)
            return bool(real(*arguments))

    passwords._hash_of_none()
    monkeypatch.setattr(passwords, "_hasher", Counting)
    for user in ("ana", "nobody.at.all"):
        began = len(checked)
        with pytest.raises(NotKnown):
            await api.server.login.by_password(user, "wrong wrong", "192.0.2.1")
        assert len(checked) == began + 1


def test_an_account_under_attack_from_everywhere_stays_open_to_where_its_owner_was() -> None:
    throttle, now = Throttle(), 1000.0
    assert throttle.begin("ana", "203.0.113.9", now) == 0
    throttle.succeeded("ana", "203.0.113.9")
    for n in range(400):
        throttle.begin("ana", f"198.51.{n // 250}.{n % 250}", now + n / 10)
    now += 40
    assert 0 < throttle.begin("ana", "192.0.2.55", now) <= 30
    assert throttle.begin("ana", "203.0.113.9", now) == 0
    assert throttle.begin("ana", "192.0.2.55", now, is_known=True) == 0
    assert throttle.begin("bob", "192.0.2.55", now) == 0


def test_pauses_grow_and_are_forgotten() -> None:
    throttle, now, pauses = Throttle(), 0.0, []
    for _ in range(20):
        while (wait := throttle.begin("ana", "a", now)) > 0:
            pauses.append(round(wait))
            now += wait
    assert pauses[:5] == [1, 2, 4, 8, 16] and max(pauses) == 300
    assert throttle.begin("ana", "a", now + FORGET_S + 301) == 0
    assert throttle.begin("ana", "a", now + FORGET_S + 301) == 0


def test_a_person_has_a_block_of_ipv6_and_one_address_of_ipv4() -> None:
    assert block("2001:db8:1:2:3:4:5:6") == block("2001:db8:1:2:ffff::1") != block("2001:db8:1:3::1")
    assert block("::ffff:192.0.2.1") == block("192.0.2.1") == "192.0.2.1"
    assert block("fe80::1%eth0") == block("fe80::2") and block("uid 7") == "uid 7"


def test_remembering_is_bounded() -> None:
    throttle = Throttle()
    for n in range(25_000):
        throttle.begin(f"u{n}", f"a{n}", 1.0)
        throttle.succeeded(f"v{n}", f"a{n}")
    assert len(throttle._tried) <= 20_000 and len(throttle._good) <= 20_000


async def test_a_crowd_at_the_entrance_from_one_address_leaves_room_for_others(api: Api) -> None:
    import asyncio
    import threading

    go = threading.Event()
    login = api.server.login

    class Slow:
        at_once = 1

        def is_on(self) -> bool:
            return True

        def is_right(self, user: str, password: str) -> bool:
            go.wait(20)
            return False

    from roost.server.identity.login import Login

    api.server.login = Login(api.server.people, Slow())
    tries = [asyncio.create_task(api.server.login.by_password(f"u{n}", "x", "198.51.100.7")) for n in range(15)]
    deadline = time.monotonic() + 10
    while sum(task.done() for task in tries) < 5 and time.monotonic() < deadline:
        await asyncio.sleep(0.01)
    assert sum(isinstance(task.exception(), TooFast) for task in tries if task.done()) == 5
    other = asyncio.create_task(api.server.login.by_password("bob", "x", "203.0.113.9"))
    await asyncio.sleep(0.05)
    assert not other.done()
    go.set()
    with pytest.raises(NotKnown):
        await other
    await asyncio.gather(*tries, return_exceptions=True)
    api.server.login = login


def test_who_guesses_behind_a_proxy_locks_out_nobody_who_has_logged_in_from_there() -> None:
    throttle, proxy = Throttle(), "192.0.2.1"
    assert throttle.begin("ana", proxy, 0.0) == 0
    throttle.succeeded("ana", proxy)
    for tried in range(60):
        throttle.begin(f"name{tried}", proxy, float(tried))
    assert throttle.begin("new", proxy, 60.0) > 0  # strangers from there wait
    assert throttle.begin("ana", proxy, 60.0) == 0
    pauses = [throttle.begin("ana", proxy, 61.0) for _ in range(10)]
    assert pauses[-1] > 0  # their own account is still guarded


def test_logging_in_oneself_buys_no_guesses_at_others() -> None:
    """A try that was not counted, because one is known there, is not taken off when it was right."""
    throttle, there = Throttle(), "192.0.2.1"
    throttle.begin("eve", there, 0.0)
    throttle.succeeded("eve", there)
    waits = []
    for tried in range(40):
        waits.append(throttle.begin(f"name{tried}", there, 0.0))
        throttle.begin("eve", there, 0.0)
        throttle.succeeded("eve", there)
    assert [wait > 0 for wait in waits] == [False] * 20 + [True] * 20


async def test_a_dry_run_is_bounded(api: Api) -> None:
    jobs = [{"command": ["true"]}] * 1001
    answer = await api.call("POST", "/jobs", {"jobs": jobs, "dry_run": True})
    assert answer.status == 400 and "at most 1,000" in answer.json["error"]["message"]
    assert (await api.call("POST", "/jobs", {"jobs": jobs[:1000], "dry_run": True})).status == 200
