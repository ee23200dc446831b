"""The pages before a login, and what one does there: coming in, one-time links, two languages; password and tokens."""

from __future__ import annotations

import re

import pytest
from tests.contract.browser import GOOD, Browser, add_user
from tests.contract.conftest import Api

from roost.server.identity.people import FIRST, LOGIN, PASSWORD


async def test_who_is_not_logged_in_is_led_to_the_login_and_back(api: Api) -> None:
    await add_user(api, "ana")
    browser = Browser(api)
    seen = await browser.get("/jobs?state=failed")
    assert (seen.status, seen.header("location")) == (303, "/login?next=%2Fjobs%3Fstate%3Dfailed")
    page = await browser.get(seen.header("location"))
    assert 'name="next" value="/jobs?state=failed"' in page.text
    inside = await browser.login("ana", next="/jobs?state=failed")
    assert (inside.status, inside.header("location")) == (303, "/jobs?state=failed")
    assert (await browser.get("/jobs")).status == 200
    assert (await browser.get("/login?next=/me")).header("location") == "/me"


async def test_the_api_stays_json_for_who_is_not_known(api: Api) -> None:
    seen = await Browser(api).get("/api/v1/jobs")
    assert (seen.status, seen.json["error"]["code"], seen.header("www-authenticate")) == (401, "not_known", "Bearer")


async def test_a_wrong_password_and_a_wrong_name_look_the_same(api: Api) -> None:
    await add_user(api, "ana")
    browser = Browser(api)
    wrong, unknown = await browser.login("ana", "not this one"), await browser.login("eve", "not this one")
    assert wrong.status == unknown.status == 401
    assert wrong.text.replace("ana", "eve") == unknown.text
    assert "wrong user name or password" in wrong.text and browser.session not in browser.jar


async def test_a_one_time_link_is_not_used_up_by_looking_at_it(api: Api) -> None:
    people = api.server.people
    await people.add(people.itself.who, ["ana"], "none")
    code = await people.new_link(people.itself.who, "ana", PASSWORD)
    for _ in range(3):
        seen = await Browser(api).get(f"/welcome/{code}")
        assert seen.status == 200 and "<strong>ana</strong>" in seen.text
    browser = Browser(api)
    differs = await browser.send(f"/welcome/{code}", f"/welcome/{code}", new=GOOD, again="x")
    assert differs.status == 400 and "differ" in differs.text
    weak = await browser.send(f"/welcome/{code}", f"/welcome/{code}", new="password12", again="password12")
    assert weak.status == 400 and "too weak" in weak.text
    done = await browser.send(f"/welcome/{code}", f"/welcome/{code}", new=GOOD, again=GOOD)
    assert (done.status, done.header("location")) == (303, "/")
    assert (await browser.get("/")).status == 200
    assert (await Browser(api).get(f"/welcome/{code}")).status == 404


async def test_a_link_to_log_in_needs_a_confirmation_and_works_once(api: Api) -> None:
    await add_user(api, "ana")
    people = api.server.people
    code = await people.new_link(people.itself.who, "ana", LOGIN)
    browser = Browser(api)
    assert "Log in as ana" in (await browser.get(f"/welcome/{code}")).text
    assert (await browser.send(f"/welcome/{code}", f"/welcome/{code}")).status == 303
    assert (await browser.get("/api/v1/me")).json["user"] == "ana"
    assert (await Browser(api).get(f"/welcome/{code}")).status == 404


async def test_the_first_administrator_comes_by_a_link(api: Api) -> None:
    people = api.server.people
    code = await people.new_link(people.itself.who, None, FIRST)
    browser = Browser(api)
    no_name = await browser.send(f"/welcome/{code}", f"/welcome/{code}", name="", new=GOOD, again=GOOD)
    assert no_name.status == 400
    odd = await browser.send(f"/welcome/{code}", f"/welcome/{code}", name="<b>", new=GOOD, again=GOOD)
    assert odd.status == 400 and "<b>" not in odd.text
    done = await browser.send(f"/welcome/{code}", f"/welcome/{code}", name="ada", new=GOOD, again=GOOD)
    assert done.status == 303 and people.accounts["ada"].is_admin
    assert done.header("location") == "/" and (await browser.get("/api/v1/me")).json["admin"] is True


async def test_a_new_password_ends_the_other_browsers(api: Api) -> None:
    await add_user(api, "ana")
    one, other = await Browser(api).logged_in("ana"), await Browser(api).logged_in("ana")
    better = "seven plain otters"
    bad = await one.change("POST", "/api/v1/me/password", {"old": "wrong wrong", "new": better})
    assert bad.status == 403 and "old password is wrong" in bad.text
    assert (await one.change("POST", "/api/v1/me/password", {"new": better})).status == 403
    assert (await one.change("POST", "/api/v1/me/password", {"old": GOOD, "new": better})).status == 200
    assert (await one.get("/me")).status == 200
    assert (await other.get("/me")).status == 303
    assert (await Browser(api).login("ana", GOOD)).status == 401
    assert (await Browser(api).login("ana", better)).status == 303


async def test_tokens_are_made_shown_once_used_and_revoked(api: Api) -> None:
    await add_user(api, "ana")
    browser = await Browser(api).logged_in("ana")
    made = await browser.change("POST", "/api/v1/tokens", {"label": "laptop", "lives_s": 30 * 86_400})
    secret = made.json["token"]
    me = await Browser(api).get("/api/v1/me", authorization=f"Bearer {secret}")
    assert me.json["user"] == "ana"
    listed = await browser.get("/api/v1/tokens")
    assert secret not in listed.text and [row["label"] for row in listed.json["tokens"]] == ["laptop"]
    (token,) = api.server.people.tokens.values()
    assert token.expires_ms is not None and token.expires_ms - token.created_ms == 30 * 86_400_000
    assert (await browser.change("DELETE", f"/api/v1/tokens/{token.id}")).status == 200
    assert (await Browser(api).get("/api/v1/me", authorization=f"Bearer {secret}")).status == 401


ODD = [("", None), ("x" * 101, None), ("a\nb", None), ("a", 0), ("a", -1), ("a", 10**10), ("a", "30")]


@pytest.mark.parametrize(("label", "lives_s"), ODD)
async def test_a_token_that_makes_no_sense_is_not_made(api: Api, label: str, lives_s: int | str | None) -> None:
    await add_user(api, "ana")
    browser = await Browser(api).logged_in("ana")
    assert (await browser.change("POST", "/api/v1/tokens", {"label": label, "lives_s": lives_s})).status == 400
    assert not api.server.people.tokens


async def test_nobody_revokes_what_is_anothers(api: Api) -> None:
    await add_user(api, "ana")
    await add_user(api, "bob")
    ana, bob = await Browser(api).logged_in("ana"), await Browser(api).logged_in("bob")
    await ana.change("POST", "/api/v1/tokens", {"label": "laptop"})
    (token,) = api.server.people.tokens.values()
    assert (await bob.change("DELETE", f"/api/v1/tokens/{token.id}")).status in (403, 404)
    assert token.digest in api.server.people.tokens


async def test_logging_out_ends_the_session_here_and_there(api: Api) -> None:
    await add_user(api, "ana")
    browser = await Browser(api).logged_in("ana")
    kept = browser.jar[browser.session]
    assert (await browser.send("/nothing", "/logout")).header("location") == "/login"
    assert browser.session not in browser.jar
    assert (await browser.get("/", cookie=f"{browser.session}={kept}")).status == 303


async def test_the_language_is_asked_for_remembered_or_the_browsers(api: Api) -> None:
    browser = Browser(api)
    assert 'lang="en"' in (await browser.get("/login")).text
    assert "登录" in (await browser.get("/login", accept_language="fr, zh-TW;q=0.8, en;q=0.7")).text
    assert "Log in" in (await browser.get("/login", accept_language="en, zh;q=0.5")).text
    assert "登录" in (await browser.get("/login?lang=zh", accept_language="en")).text
    assert "登录" in (await browser.get("/login", accept_language="en")).text
    assert "Log in" in (await browser.get("/login?lang=en")).text
    odd = await browser.get("/login?lang=%22%3E%3Cscript%3E", accept_language="zz;q=x,,;q=")
    assert odd.status == 200 and "<script" not in odd.text


async def test_the_api_answers_in_the_language_of_the_request_whatever_the_cookie_says(api: Api) -> None:
    await add_user(api, "ana")
    browser = await Browser(api).logged_in("ana")
    await browser.get("/login?lang=en")
    assert "没有任务 7" in (await browser.get("/api/v1/jobs/7", accept_language="zh")).text
    assert "there is no job 7" in (await browser.get("/api/v1/jobs/7", accept_language="en")).text


async def test_the_stylesheet_is_kept_and_nothing_else_is(api: Api) -> None:
    browser = Browser(api)
    page = await browser.get("/login")
    found = re.search(r'href="(/style/[0-9a-f]+\.css)"', page.text)
    assert found is not None
    sheet = await browser.get(found[1])
    assert sheet.header("content-type") == "text/css; charset=utf-8" and "immutable" in sheet.header("cache-control")
    assert "http" not in sheet.text and "prefers-color-scheme: dark" in sheet.text
    assert page.header("cache-control") == "no-store"
    assert (await browser.get("/style/old.css")).status == 404
    assert "<script" not in page.text and "style=" not in page.text


async def test_pages_that_are_not_there_say_so_as_a_page(api: Api) -> None:
    seen = await Browser(api).get("/nothing/<b>")
    assert seen.status == 404 and seen.header("content-type").startswith("text/html") and "<b>" not in seen.text
    assert (await Browser(api).ask("DELETE", "/login")).status == 405


async def test_a_user_without_a_unix_account_is_told_so(api: Api) -> None:
    await add_user(api, "ana")
    browser = await Browser(api).logged_in("ana")
    assert (await browser.get("/api/v1/me")).json["runs_as"] is None


async def test_the_account_page_is_gone(api: Api) -> None:
    await add_user(api, "ana")
    assert (await (await Browser(api).logged_in("ana")).get("/account")).status == 404
