"""What administrators do in the browser: GPUs, users, settings, the notice, scheduling."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect
from tests.browser.site import PASSWORD, Site

SETTING = "ls.recent_h"


def row(page: Page, name: str) -> Locator:
    """The row that begins with it."""
    return page.get_by_role("row", name=re.compile(rf"^{name}\b"))


def test_a_gpu_is_drained_and_opened_again_on_every_screen(site: Site) -> None:
    page, other = site.window("ada"), site.window("ben")
    page.goto("/nodes")
    other.goto("/nodes")
    seen = row(other, "3")
    expect(seen).to_contain_text("free")
    expect(seen.get_by_role("button")).to_have_count(0)  # ben only looks
    row(page, "3").get_by_role("button", name="Edit GPU").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Drain", exact=True).click()
    expect(seen).to_contain_text("drained")
    assert site.box.gpu(3)["state"] == "drained"
    dialog.get_by_role("button", name="Undrain", exact=True).click()
    expect(seen).to_contain_text("free")
    assert site.box.gpu_comes_to(3, "free")


def test_a_gpu_gets_slots_and_a_name(site: Site) -> None:
    page = site.window("ada")
    page.goto("/nodes")
    row(page, "2").get_by_role("button", name="Edit GPU").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Slots").fill("0")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_visible()  # no such number
    dialog.get_by_label("Slots").fill("7")
    dialog.get_by_label("Alias").fill("jay")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_have_count(0)
    expect(row(page, "2")).to_contain_text("jay")
    assert (site.box.gpu(2)["slots"], site.box.gpu(2)["alias"]) == (7, "jay")


def test_a_locked_user_is_out_at_once(site: Site) -> None:
    site.allow("status of 401", "status of 403")
    site.user("cleo")
    ada, cleo = site.window("ada"), site.window("cleo")
    cleo.goto("/submit")
    cleo.get_by_role("textbox", name="Command", exact=True).fill("echo mine")
    ada.goto("/users")
    row(ada, "cleo").get_by_role("button", name="Lock cleo").click()
    ada.get_by_role("dialog", name="Lock cleo?").get_by_role("button", name="Lock").click()
    out = cleo.get_by_role("dialog", name="Log in again")
    expect(out).to_contain_text("An administrator locked your account")
    expect(row(ada, "cleo")).to_contain_text("locked")
    out.get_by_label("Password").fill(PASSWORD)
    out.get_by_role("button", name="Log in").click()
    expect(out.get_by_role("alert")).to_be_visible()  # the right password does not help
    row(ada, "cleo").get_by_role("button", name="Unlock cleo").click()
    expect(row(ada, "cleo")).not_to_contain_text("locked")
    out.get_by_role("button", name="Log in").click()
    expect(out).to_have_count(0)
    expect(cleo.get_by_role("textbox", name="Command", exact=True)).to_have_value("echo mine")


def test_a_user_is_added_and_the_link_is_shown_once(site: Site) -> None:
    ada = site.window("ada")
    ada.goto("/users")
    ada.get_by_role("button", name="Add users").click()
    dialog = ada.get_by_role("dialog", name="Add users")
    dialog.get_by_label("Names").fill("dora\nemil none")
    dialog.get_by_label("No UNIX account").check()
    dialog.get_by_role("button", name="Add 2").click()
    links = ada.get_by_role("dialog", name="One-time links")
    link = links.get_by_role("listitem").filter(has_text="dora").locator("code").inner_text()
    assert link.startswith(f"{site.url}/")
    links.get_by_role("button", name="I saved them").click()
    expect(row(ada, "dora")).to_be_visible()
    expect(row(ada, "emil")).to_be_visible()
    assert link not in ada.content()

    dora = site.window()
    dora.goto(link)
    dora.get_by_label("New password").fill(PASSWORD)
    dora.get_by_label("Repeat password").fill(PASSWORD)
    dora.get_by_role("button", name="Set password").click()
    expect(dora).to_have_url(f"{site.url}/")
    expect(dora.get_by_role("link", name="Me", exact=True)).to_be_visible()

    site.allow("status of 4")
    thief = site.window()
    thief.goto(link)
    expect(thief.get_by_label("New password")).to_have_count(0)  # it is used up


def test_a_quota_is_set_where_it_stands(site: Site) -> None:
    site.user("fred")
    ada = site.window("ada")
    ada.goto("/users")
    row(ada, "fred").get_by_role("button", name="GPU limit of fred").click()
    field = row(ada, "fred").get_by_role("textbox", name="GPU limit of fred")
    field.fill("many")
    field.press("Enter")
    expect(row(ada, "fred").get_by_role("alert")).to_be_visible()
    field.fill("2")
    field.press("Enter")
    expect(row(ada, "fred").get_by_role("button", name="GPU limit of fred: 2")).to_be_visible()
    assert next(user for user in site.box.json("users")["users"] if user["user"] == "fred")["max_gpus"] == 2


def test_a_setting_is_changed_and_seen_elsewhere(site: Site) -> None:
    ada, ben = site.window("ada"), site.window("ben")
    for page in (ada, ben):
        page.goto("/settings")
        page.get_by_role("searchbox").fill(SETTING)
    field = ada.get_by_role("textbox", name=SETTING)
    was = field.input_value()
    field.fill("-3")
    field.press("Enter")
    expect(ada.get_by_role("alert").filter(has_text="at least")).to_be_visible()
    field.fill("11")
    field.press("Enter")
    expect(ben.get_by_label(SETTING)).to_have_text("11")  # without asking again
    assert setting(site) == 11
    ada.get_by_role("button", name=f"reset to default: {SETTING}").click()
    expect(field).to_have_value(was)
    expect(ben.get_by_label(SETTING)).to_have_text(was)
    ada.goto("/audit")
    done = ada.get_by_role("row").filter(has_text="changed a setting").filter(has_text=SETTING)
    expect(done.first).to_contain_text("ada")


def setting(site: Site) -> object:
    """Its value, as the server has it."""
    answer = site.box.http("GET", "/settings").json["settings"]
    return next(one["value"] for one in answer if one["key"] == SETTING)


def test_the_notice_is_set_in_a_page_seen_by_all_and_can_be_put_away(site: Site) -> None:
    ada, ben = site.window("ada"), site.window("ben")
    text = "The box <b>rests</b> on Sunday."
    ada.goto("/settings")
    ada.get_by_role("textbox", name="Notice").fill(text)
    expect(ada.get_by_test_id("notice-preview")).to_contain_text(text)
    ada.get_by_role("button", name="Publish").click()
    notice = ben.get_by_role("complementary", name="Notice from ada")
    expect(notice).to_contain_text(text)
    notice.get_by_role("button", name="Close").click()
    expect(notice).to_have_count(0)
    ben.reload()
    expect(ben.locator("main").get_by_role("heading").first).to_be_visible()
    expect(notice).to_have_count(0)
    shown = ada.get_by_role("complementary", name="Notice from ada")
    expect(shown).to_be_visible()
    ada.get_by_role("button", name="Remove").click()
    expect(shown).to_have_count(0)


def test_scheduling_is_paused_and_all_are_told(site: Site) -> None:
    ada, ben = site.window("ada"), site.window("ben")
    ada.goto("/settings")
    ada.get_by_role("button", name="Pause", exact=True).click()
    ada.get_by_role("dialog").get_by_role("button", name="Pause", exact=True).click()
    told = ben.get_by_text("Scheduling is paused")
    expect(told).to_be_visible()
    ada.get_by_role("complementary").get_by_role("button", name="Resume").click()
    expect(told).to_have_count(0)


def test_ordinary_users_see_that_a_page_is_for_administrators(site: Site) -> None:
    page = site.window("ben")
    for path in ("/users", "/users/ada", "/audit"):
        page.goto(path)
        expect(page.locator("main")).to_contain_text("This page is for administrators.")
