"""What administrators do in the browser: GPUs, users, settings, the notice."""

from __future__ import annotations

import re

from playwright.sync_api import expect
from tests.browser.site import Site


def test_a_gpu_is_drained_and_opened_again_on_every_screen(site: Site) -> None:
    page, other = site.window("ada"), site.window("ben")
    page.goto("/nodes")
    other.goto("/nodes")
    row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="3", exact=True))
    row.get_by_role("button").click()
    page.get_by_role("dialog").get_by_role("button", name="Drain", exact=True).click()
    assert site.box.gpu_comes_to(3, "drained")
    seen = other.get_by_role("row").filter(has=other.get_by_role("rowheader", name="3", exact=True))
    expect(seen).to_contain_text("drained")
    expect(seen.get_by_role("button")).to_have_count(0)  # ben only looks
    site.box.do("undrain", f"{site.box.gpu(3)['node']}:3")
    expect(seen).to_contain_text("free")
    expect(row).to_contain_text("free")


def test_a_locked_user_is_out_at_once(site: Site) -> None:
    ada, ben = site.window("ada"), site.window("ben")
    ben.goto("/submit")
    ada.goto("/users")
    ada.get_by_role("row", name=re.compile("^ben")).get_by_role("button", name=re.compile("^Lock")).click()
    ada.get_by_role("dialog").get_by_role("button", name=re.compile("^Lock")).click()
    expect(ben.get_by_role("dialog")).to_contain_text("locked")
    ada.get_by_role("row", name=re.compile("^ben")).get_by_role("button", name=re.compile("^Unlock")).click()
    expect(ada.get_by_role("row", name=re.compile("^ben"))).not_to_contain_text("locked")
    assert not next(user for user in site.box.json("users")["users"] if user["user"] == "ben")["locked"]


def test_a_setting_is_changed_and_seen_elsewhere(site: Site) -> None:
    ada, ben = site.window("ada"), site.window("ben")
    ben.goto("/settings")
    ada.goto("/settings")
    assert site.box.do("set", "ls.recent_h", "11") is not None
    for page in (ada, ben):
        page.locator("[data-search]").fill("ls.recent_h")
        expect(page.locator("main")).to_contain_text("ls.recent_h")
    expect(ada.get_by_label(re.compile(r"ls\.recent_h"))).to_have_value("11")


def test_the_notice_is_seen_by_all_and_can_be_put_away(site: Site) -> None:
    page = site.window("ben")
    site.box.do("notice", "The box <b>rests</b> on Sunday.")
    notice = page.get_by_role("complementary").filter(has_text="The box <b>rests</b> on Sunday.")
    expect(notice).to_be_visible()
    notice.get_by_role("button", name="Close").click()
    expect(notice).to_have_count(0)
    page.reload()
    page.locator("main h1, main h2").first.wait_for(state="attached")
    expect(notice).to_have_count(0)
    site.box.do("notice", "--clear")


def test_whoever_is_no_administrator_is_told_so(site: Site) -> None:
    page = site.window("ben")
    for path in ("/users", "/audit"):
        page.goto(path)
        expect(page.locator("main")).to_contain_text("administrators")
