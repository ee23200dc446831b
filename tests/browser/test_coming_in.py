"""Coming in: the first administrator, the login, a session that ends, a server that goes away and comes back."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, Page, expect
from tests.browser.site import PASSWORD, Site


def test_the_first_administrator_comes_by_the_link_that_the_server_prints(chrome: Browser) -> None:
    site = Site(chrome)
    try:
        link = site.box.http("POST", "/administrator/link", {}).json["url"]
        page = site.window()
        page.goto(link)
        page.get_by_label("User name").fill("ada")
        page.get_by_label("New password").fill(PASSWORD)
        page.get_by_label("Repeat password").fill(PASSWORD)
        page.get_by_role("button", name="Become administrator").click()
        expect(page).to_have_url(f"{site.url}/")
        expect(page.get_by_role("link", name="Users")).to_be_visible()
        expect(page.locator("main")).to_contain_text("roost run")  # an empty cluster says what to do first
        assert site.box.json("users")["users"][0]["admin"]
        site.end()
    finally:
        site.close()


def test_a_wrong_password_and_then_the_right_one(site: Site) -> None:
    site.allow("status of 401")
    page = site.window()
    page.goto("/jobs?state=running")
    page.get_by_label("User").fill("ben")
    page.get_by_label("Password").fill("not this one")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_contain_text("wrong")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page).to_have_url(f"{site.url}/jobs?state=running")
    expect(page.get_by_role("link", name="Me", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="Users")).to_have_count(0)  # ben is no administrator


def test_who_logs_out_is_out(site: Site) -> None:
    page = site.window("ben", anew=True)
    page.get_by_role("button", name="Log out").click()
    expect(page).to_have_url(f"{site.url}/login")
    page.goto("/jobs")
    expect(page.get_by_role("button", name="Log in")).to_be_visible()


def test_a_session_that_ends_asks_for_the_password_and_loses_nothing(site: Site) -> None:
    site.allow("status of 401")
    page = site.window("ada", anew=True)
    page.goto("/submit")
    command = page.get_by_role("textbox", name="Command", exact=True)
    command.fill("echo half typed")
    end_session(page)
    again = page.get_by_role("dialog", name="Log in again")
    again.get_by_label("Password").fill("not this one")
    again.get_by_role("button", name="Log in").click()
    expect(again.get_by_role("alert")).to_contain_text("Wrong")
    again.get_by_label("Password").fill(PASSWORD)
    again.get_by_role("button", name="Log in").click()
    expect(again).to_have_count(0)
    expect(command).to_have_value("echo half typed")
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page).to_have_url(re.compile(r"/jobs/\d+$"))
    job = int(page.url.rpartition("/")[2])
    expect(page.get_by_test_id("job-state")).to_contain_text("succeeded")  # what happens is told again, too
    assert site.box.job(job)["user"] == "ada"


def end_session(page: Page) -> None:
    """End the session behind the page's back, as its time would."""
    page.evaluate(
        """async () => {
          const me = await (await fetch('/api/v1/me')).json();
          const headers = {'Roost-CSRF': me.csrf, 'Content-Type': 'application/json'};
          await fetch('/api/v1/logout', {method: 'POST', headers, body: '{}'});
        }"""
    )
    expect(page.get_by_role("dialog", name="Log in again")).to_be_visible()


def test_the_page_goes_on_by_itself_when_the_server_was_killed_and_is_back(site: Site) -> None:
    site.allow("net::ERR_")  # it is away for a while
    page = site.window("ada")
    job = site.box.submit("--name", "survivor", "--gpus", "1", "sleep 600")
    expect(page.get_by_role("link", name="survivor").first).to_be_visible()
    site.box.kill_server()
    expect(page.get_by_text("Reconnecting")).to_be_visible()
    site.restart()
    expect(page.get_by_text("Reconnecting")).to_have_count(0)
    later = site.box.submit("--name", "after the restart", "--gpus", "1", "sleep 600")
    expect(page.get_by_role("link", name="after the restart").first).to_be_visible()
    site.box.do("kill", job, later)
    ended = page.get_by_role("row").filter(has=page.get_by_role("link", name="survivor"))
    expect(ended).to_contain_text("killed")
