"""Jobs in the browser: submit, watch, follow the log, end, run again; many at once."""

from __future__ import annotations

import re
from functools import partial

from playwright.sync_api import Dialog, Locator, Page, Route, expect
from tests.box import until
from tests.browser.site import Site

WAITS = "for n in 1 2 3; do echo line $n; done; while [ ! -e {go} ]; do sleep 0.1; done; echo at last"

DRAWN = "(it) => it.getContext('2d').getImageData(0, 0, it.width, it.height).data.some((one) => one > 0)"


def submit(page: Page, command: str, name: str) -> int:
    """Through the form; the id of the job, whose page is then shown."""
    page.goto("/submit")
    page.get_by_role("textbox", name="Command", exact=True).fill(command)
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page).to_have_url(re.compile(r"/jobs/\d+$"))
    return int(page.url.rpartition("/")[2])


def row(page: Page, name: str) -> Locator:
    """The row of that job."""
    return page.get_by_role("row", name=re.compile(name))


def press(page: Page, action: str) -> None:
    """The button, and the same word in the dialog that asks whether one is sure."""
    page.get_by_role("button", name=action, exact=True).click()
    page.get_by_role("dialog", name=re.compile(f"^{action}:")).get_by_role("button", name=action, exact=True).click()


def test_a_job_is_submitted_starts_writes_and_ends_under_ones_eyes(site: Site) -> None:
    page, watcher = site.window("ada"), site.window("ben")
    watcher.goto("/jobs")
    job = submit(page, WAITS.format(go=site.box.file("go")), "heron")
    state, log = page.get_by_test_id("job-state"), page.get_by_test_id("log")
    expect(state).to_contain_text("running")
    expect(log).to_contain_text("line 3")
    expect(page.get_by_test_id("log-state")).to_have_text("following")
    expect(log).not_to_contain_text("at last")
    expect(row(watcher, "heron")).to_contain_text("running")  # on another's screen too
    site.box.file("go").write_text("")
    expect(log).to_contain_text("at last")
    expect(state).to_contain_text("succeeded")
    expect(page.get_by_test_id("log-state")).to_have_text("complete")
    expect(row(watcher, "heron")).to_contain_text("succeeded")
    assert site.box.state(job) == "succeeded"


def test_what_would_happen_is_said_before_it_is_submitted(site: Site) -> None:
    site.allow("status of 422")  # one of them can never run
    before = _jobs(site)
    page = site.window("ada")
    page.goto("/submit")
    forecast = page.get_by_test_id("forecast")
    page.get_by_role("textbox", name="Command", exact=True).fill("python train.py")
    expect(forecast).to_contain_text("Would start now")
    expect(page.get_by_test_id("command-line")).to_contain_text("python train.py")
    page.get_by_label("GPUs", exact=True).fill("5")
    expect(forecast).to_contain_text("Can never run")
    assert _jobs(site) == before  # nothing was queued


def _jobs(site: Site) -> list[int]:
    """Every job there is, whatever became of it."""
    return [int(job["id"]) for job in site.box.json("ls", "--all")["jobs"]]


def test_a_job_is_ended_and_run_again(site: Site) -> None:
    page = site.window("ada")
    job = submit(page, "sleep 600", "egret")
    state = page.get_by_test_id("job-state")
    expect(state).to_contain_text("running")
    press(page, "Kill")
    expect(state).to_contain_text("killed")
    site.box.ends(job, "killed")
    page.get_by_role("button", name="Rerun", exact=True).click()
    expect(state).to_contain_text("running")
    expect(page.get_by_role("region", name="Attempts")).to_contain_text("2")
    assert site.box.comes_to(job, "running")["attempts"][-1]["attempt"] == 2
    press(page, "Kill")
    expect(state).to_contain_text("killed")


def test_a_job_is_cloned_into_the_form(site: Site) -> None:
    job = site.box.submit("--hold", "--name", "stork", "--mem", "3G", "--label", "birds", "echo cloned")
    page = site.window("ada")
    page.goto(f"/jobs/{job}")
    page.get_by_role("button", name="Clone", exact=True).click()
    expect(page.get_by_role("textbox", name="Command", exact=True)).to_have_value("echo cloned")
    expect(page.get_by_label("Name", exact=True)).to_have_value("stork")
    expect(page.get_by_label("GPU memory", exact=True)).to_have_value(re.compile("3"))
    site.box.do("kill", job)


def test_the_plots_of_a_job_that_ran_show_what_its_gpu_did(site: Site) -> None:
    job = site.box.submit(
        "--mem", "9G", "--name", "pelican", "--", "roost", "sim-job", "--mem", "6G", "--util", "80", "--seconds", "5"
    )
    site.box.ends(job, "succeeded")
    page = site.window("ada")
    page.goto(f"/jobs/{job}")
    life = page.get_by_role("region", name="Usage")
    for name in ("GPU utilization", "GPU memory"):
        canvas = life.get_by_role("img", name=name).locator("canvas")
        expect(canvas).to_be_visible()
        until(f"{name} is drawn", partial(canvas.evaluate, DRAWN))
    use = page.get_by_role("region", name="Requested vs. used")
    expect(use).to_contain_text(re.compile(r"[4-8]\d %"))  # the mean of 80, and of nothing while it began
    expect(use).to_contain_text("6 GiB")
    expect(use).to_contain_text("9 GiB")


def test_a_long_log_is_read_from_its_end_from_its_start_and_searched(site: Site) -> None:
    job = site.box.submit("--gpus", "0", "--name", "scribe", "seq -f 'row %.0f of many' 300000")
    site.box.ends(job, "succeeded")
    page = site.window("ada")
    page.goto(f"/jobs/{job}")
    log = page.get_by_test_id("log")
    expect(log).to_contain_text("row 300000 of many")
    assert log.evaluate("(it) => it.querySelectorAll('*').length") < 5_000  # what is not seen is not there
    search = page.get_by_role("searchbox", name="Search the log")
    search.fill("row 299990 ")
    search.press("Enter")
    expect(log.locator(".here")).to_have_text("row 299990 of many")
    page.get_by_role("button", name="Jump to start").click()
    expect(log).to_contain_text("row 1 of many")
    expect(log).not_to_contain_text("row 300000 of many")
    with page.expect_download() as kept:
        page.get_by_role("link", name="Download all of stdout").click()
    assert kept.value.path().read_text().count("\n") == 300_000


def test_twenty_lines_are_pasted_checked_and_queued_at_once(site: Site) -> None:
    page = site.window("ada")
    page.goto("/submit")
    page.get_by_role("button", name="Many commands").click()
    lines = ["# a comment", "", *(f"echo point {n}" for n in range(20))]
    field = page.get_by_label("Commands, one per line")
    page.get_by_label("GPUs", exact=True).fill("0")
    field.fill("\n".join(lines))
    expect(page.get_by_test_id("forecast")).to_contain_text("20 jobs")
    expect(page.get_by_test_id("preview").get_by_role("row")).to_have_count(21)  # with its head
    page.get_by_role("button", name="Submit 20 jobs").click()
    expect(page).to_have_url(re.compile(r"/jobs(\?|$)"))
    expect(row(page, "echo point 19")).to_be_visible()
    jobs = site.box.json("ls", "--all", "--user", "ada", "--limit", "100")["jobs"]
    assert sum("echo point" in job["command_line"] for job in jobs) == 20


def test_many_jobs_are_selected_and_ended_at_once(site: Site) -> None:
    page = site.window("ada")
    ids = [site.box.submit("--hold", "--label", "flock", "--name", f"gull {n}", "true") for n in range(4)]
    page.goto("/jobs?label=flock")
    for n in range(3):
        row(page, f"gull {n}").get_by_role("checkbox").check()
    expect(page.get_by_test_id("selection")).to_contain_text("3 selected")
    press(page, "Kill")
    for n in range(3):
        expect(row(page, f"gull {n}")).to_contain_text("killed")
    assert [site.box.state(job) for job in ids] == ["killed"] * 3 + ["held"]
    site.box.do("kill", ids[3])


def test_a_search_finds_one_among_many(site: Site) -> None:
    page = site.window("ben")
    ids = [site.box.submit("--hold", "--name", name, "true") for name in ("needle", "hay")]
    page.goto("/jobs")
    expect(row(page, "hay")).to_be_visible()
    page.get_by_role("searchbox", name=re.compile("^Search by ID")).fill("needl")
    expect(row(page, "hay")).to_have_count(0)
    expect(row(page, "needle")).to_be_visible()
    expect(page).to_have_url(f"{site.url}/jobs?search=needl")
    page.reload()  # the address says it all
    expect(row(page, "needle")).to_be_visible()
    expect(row(page, "hay")).to_have_count(0)
    site.box.do("kill", *ids)


def test_rows_that_are_selected_while_a_search_is_under_way_stay_selected_if_they_match(site: Site) -> None:
    page = site.window("ada")
    ids = [site.box.submit("--hold", "--name", name, "true") for name in ("sieve in", "sieve out")]
    page.goto("/jobs")
    expect(row(page, "sieve out")).to_be_visible()
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route(re.compile("[?&]search="), hold)
    page.get_by_role("searchbox", name=re.compile("^Search by ID")).fill("sieve in")
    until("the search is under way", lambda: page.evaluate("1") and held)
    for name in ("sieve in", "sieve out"):
        row(page, name).get_by_role("checkbox").check()
    held[0].continue_()
    expect(row(page, "sieve out")).to_have_count(0)
    expect(row(page, "sieve in").get_by_role("checkbox")).to_be_checked()
    expect(page.get_by_test_id("selection")).to_contain_text("1 selected")
    page.unroute_all(behavior="ignoreErrors")
    site.box.do("kill", *ids)


def test_a_name_with_markup_is_a_name(site: Site) -> None:
    page = site.window("ada")
    said: list[str] = []

    def heard(dialog: Dialog) -> None:
        said.append(dialog.message)
        dialog.dismiss()

    page.on("dialog", heard)
    name = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    job = site.box.submit("--hold", "--name", name, "--desc", name, "--label", "<i>l</i>", "echo '<b>'")
    for path in ("/", "/jobs", f"/jobs/{job}"):
        page.goto(path)
        expect(page.get_by_text(name).first).to_be_visible()
        expect(page.locator("main img, main i, main script")).to_have_count(0)
    assert not said
    site.box.do("kill", job)


def test_what_one_may_not_is_not_offered_and_not_done(site: Site) -> None:
    job = site.box.submit("--name", "not bens", "--label", "fenced", "sleep 600")
    page = site.window("ben")
    page.goto(f"/jobs/{job}")
    kill = page.get_by_role("button", name="Kill", exact=True)
    expect(kill).to_have_attribute("title", re.compile("Only the owner"))
    kill.click(force=True)  # it says why, and does nothing
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("region", name="Log")).to_contain_text("owner")  # the log is not shown to them
    page.goto("/jobs?label=fenced")
    row(page, "not bens").get_by_role("checkbox").check()
    expect(kill).to_have_attribute("aria-disabled", "true")
    assert site.box.state(job) == "running"
    site.box.do("kill", job)
