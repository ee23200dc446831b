"""Jobs in the browser: submit, watch, follow the log, end, run again; many at once."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect
from tests.browser.site import Site

LOOP = "for n in 1 2 3; do echo line $n; sleep 0.2; done; while [ ! -e go ]; do sleep 0.1; done; echo at last"


def submit(page: Page, command: str, name: str = "") -> int:
    """Through the form; the id of the job, whose page is then shown."""
    page.goto("/submit")
    page.get_by_label("Command", exact=True).fill(command)
    if name:
        page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("button", name="Submit", exact=True).click()
    page.wait_for_url(re.compile(r"/jobs/\d+$"))
    return int(page.url.rpartition("/")[2])


def test_a_job_is_submitted_starts_writes_and_ends_under_ones_eyes(site: Site) -> None:
    page = site.window("ada")
    watcher = site.window("ben")
    watcher.goto("/jobs")
    home = site.box.json("users")["users"]
    assert home
    job = submit(page, f"cd {site.box.work}; {LOOP}", "heron")
    head = page.locator("main")
    expect(head).to_contain_text("running")
    log = page.get_by_test_id("log")
    expect(log).to_contain_text("line 3")
    expect(log).not_to_contain_text("at last")
    row = watcher.get_by_role("row", name=re.compile("heron"))
    expect(row).to_contain_text("running")  # on another's screen too
    site.box.file("go").write_text("")
    expect(log).to_contain_text("at last")
    expect(head).to_contain_text("succeeded")
    expect(row).to_contain_text("succeeded")
    assert site.box.state(job) == "succeeded"


def test_a_job_is_ended_and_run_again(site: Site) -> None:
    page = site.window("ada")
    job = submit(page, "sleep 600", "egret")
    expect(page.locator("main")).to_contain_text("running")
    page.get_by_role("button", name="Kill", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name=re.compile("Kill")).click()
    expect(page.locator("main")).to_contain_text("killed")
    site.box.ends(job, "killed")
    page.get_by_role("button", name=re.compile("Run again|Rerun")).click()
    again = site.box.comes_to(job, "running")
    assert again["attempts"][-1]["attempt"] == 2 or again["state"] == "running"
    expect(page.locator("main")).to_contain_text("running")
    site.box.do("kill", job)


def test_twenty_lines_are_pasted_checked_and_queued_at_once(site: Site) -> None:
    page = site.window("ada")
    page.goto("/submit")
    page.get_by_role("button", name="Many lines").click()
    lines = "\n".join(["# a comment", "", *(f"echo point {n}" for n in range(20))])
    page.get_by_label("Commands, one on each line").fill(lines)
    expect(page.get_by_test_id("foresee")).to_contain_text("20 jobs")
    page.get_by_role("button", name="Submit 20 jobs").click()
    page.wait_for_url(re.compile(r"/jobs"))
    expect(page.get_by_role("row", name=re.compile("echo point 19"))).to_be_visible()
    jobs = site.box.json("ls", "--all", "--user", "ada", "--limit", "50")["jobs"]
    assert sum("echo point" in job["command_line"] for job in jobs) == 20


def test_many_jobs_are_selected_and_ended_at_once(site: Site) -> None:
    page = site.window("ada")
    ids = [site.box.submit("--hold", "--label", "flock", "--name", f"gull {n}", "true") for n in range(3)]
    page.goto("/jobs?label=flock")
    for n in range(3):
        page.get_by_role("row", name=re.compile(f"gull {n}")).get_by_role("checkbox").check()
    page.get_by_role("button", name="Kill", exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name=re.compile("Kill")).click()
    for n, job in enumerate(ids):
        expect(page.get_by_role("row", name=re.compile(f"gull {n}"))).to_contain_text("killed")
        assert site.box.state(job) == "killed"


def test_a_search_finds_one_among_many(site: Site) -> None:
    page = site.window("ben")
    site.box.submit("--hold", "--name", "needle", "true")
    site.box.submit("--hold", "--name", "hay", "true")
    page.goto("/jobs")
    expect(page.get_by_role("row", name=re.compile("hay"))).to_be_visible()
    page.locator("[data-search]").fill("needl")
    expect(page.get_by_role("row", name=re.compile("hay"))).to_have_count(0)
    expect(page.get_by_role("row", name=re.compile("needle"))).to_be_visible()
    assert "search=needl" in page.url


def test_a_name_with_markup_is_a_name(site: Site) -> None:
    page = site.window("ada")
    name = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    job = site.box.submit("--hold", "--name", name, "--desc", name, "echo '<b>'")
    for path in ("/", "/jobs", f"/jobs/{job}"):
        page.goto(path)
        expect(page.get_by_text(name).first).to_be_visible()
    assert page.locator("main img").count() == 0
    site.box.do("kill", job)


def test_what_one_may_not_is_not_offered_and_not_done(site: Site) -> None:
    job = site.box.submit("--name", "not bens", "sleep 600")
    page = site.window("ben")
    page.goto(f"/jobs/{job}")
    expect(page.get_by_role("button", name="Kill", exact=True)).to_be_disabled()
    expect(page.locator("main")).to_contain_text("owner")  # the log is not shown to him
    site.box.do("kill", job)
