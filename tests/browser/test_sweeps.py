"""Sweeps in the browser: made in the form, looked at point by point, the failed ones run again, the best one found."""

from __future__ import annotations

import re

from playwright.sync_api import expect
from tests.browser.site import Site


def test_a_sweep_is_made_in_the_form_and_what_failed_is_run_again(site: Site) -> None:
    page = site.window("ada")
    page.goto("/submit")
    page.get_by_role("button", name="Sweep", exact=True).click()
    mended = site.box.file("mended")
    page.get_by_role("textbox", name="Command", exact=True).fill(f"[ {{n}} != 2 ] || [ -e {mended} ]")
    page.get_by_label("Name", exact=True).fill("ladder")
    page.get_by_label("GPUs", exact=True).fill("0")
    page.get_by_label("Parameter name").first.fill("n")
    page.get_by_label("Values").first.fill("1..3")
    expect(page.get_by_test_id("preview").get_by_role("row")).to_have_count(4)  # with its head
    page.get_by_role("button", name="Submit 3 jobs").click()
    expect(page).to_have_url(re.compile(r"/sweeps/\d+$"))
    expect(page.get_by_role("heading", name="ladder", level=1)).to_be_visible()
    progress = page.get_by_role("region", name="Progress")
    expect(progress).to_contain_text("3 of 3 ended")
    expect(progress).to_contain_text("Failed 1")
    expect(page.get_by_role("row").filter(has_text="failed")).to_have_count(1)
    mended.write_text("")
    page.get_by_role("button", name="Rerun failed").click()
    page.get_by_role("dialog").get_by_role("button", name="Rerun", exact=True).click()
    expect(page.get_by_role("row").filter(has_text="succeeded")).to_have_count(3)
    expect(page.get_by_role("button", name="Rerun failed")).to_be_disabled()
    page.goto("/sweeps")
    expect(page.get_by_role("row", name=re.compile("ladder"))).to_contain_text("3 of 3")


def test_the_best_point_is_said(site: Site) -> None:
    sweep = int(
        site.box.do("sweep", "-q", "-g", 0, "--name", "slope", "-p", "x=3,1,2", "roost report loss=0.{x} accuracy=0.{x}")
    )
    page = site.window("ben")
    page.goto(f"/sweeps/{sweep}")
    best = page.get_by_test_id("best")
    page.get_by_label("Best by").select_option("loss")
    expect(page.get_by_text("3 of 3 ended")).to_be_visible()
    expect(best).to_contain_text("x=1")
    page.get_by_label("Goal").select_option("maximize")
    expect(best).to_contain_text("x=3")
    expect(page.get_by_role("button", name="Kill all")).to_be_disabled()  # all have ended, and it is another user's
