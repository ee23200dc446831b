"""The form in the browser: nothing that was typed is lost, nothing is queued twice, and what is shown is what is asked."""

from __future__ import annotations

import re
import shlex

from playwright.sync_api import Page, expect
from tests.browser.site import Site


def form(site: Site, path: str = "/submit") -> Page:
    """Ada at the form, which is filled."""
    page = site.window("ada")
    page.goto(path)
    page.get_by_role("heading", name="What to run").wait_for()
    return page


def test_what_is_typed_is_there_after_a_reload_and_gone_when_it_is_submitted(site: Site) -> None:
    page = form(site)
    command = page.get_by_role("textbox", name="Command", exact=True)
    command.fill("echo half of")
    page.get_by_label("GPUs", exact=True).fill("0")
    page.goto("/jobs")
    page.goto("/submit")
    expect(command).to_have_value("echo half of")
    page.reload()
    expect(command).to_have_value("echo half of")
    page.get_by_role("button", name="Submit", exact=True).click()
    page.wait_for_url(re.compile(r"/jobs/\d+$"))
    page.goto("/submit")
    expect(command).to_have_value("")


def test_who_presses_twice_queues_once(site: Site) -> None:
    page = form(site)
    page.get_by_role("textbox", name="Command", exact=True).fill("echo once")
    page.get_by_label("Name", exact=True).fill("once")
    page.get_by_label("GPUs", exact=True).fill("0")
    page.get_by_role("button", name="Submit", exact=True).dblclick()
    page.wait_for_url(re.compile(r"/jobs/\d+$"))
    assert [job["name"] for job in site.box.json("ls", "--all")["jobs"]].count("once") == 1


def test_a_script_with_variables_is_run_and_its_copy_is_the_same(site: Site) -> None:
    page = form(site)
    page.get_by_role("button", name="Script", exact=True).click()
    page.get_by_label("Script", exact=True).fill('#!/bin/sh\necho "$1 and $BIRD"\n')
    page.get_by_label("Arguments", exact=True).fill("'two words'")
    page.get_by_label("GPUs", exact=True).fill("0")
    page.locator("summary", has_text="Environment variables").click()
    page.get_by_label("Environment variables", exact=True).fill("BIRD=a grey heron")
    for _ in range(2):
        page.get_by_role("button", name="Submit", exact=True).click()
        page.wait_for_url(re.compile(r"/jobs/\d+$"))
        job = int(page.url.rpartition("/")[2])
        site.box.ends(job, "succeeded")
        assert site.box.do("log", job).strip() == "two words and a grey heron"
        page.goto(f"/submit?clone={job}")
        expect(page.get_by_label("Script", exact=True)).to_have_value(re.compile("BIRD"))


def test_the_line_that_is_shown_asks_for_the_same(site: Site) -> None:
    page = form(site)
    page.get_by_role("textbox", name="Command", exact=True).fill("echo 'it is' $HOME; sleep 0")
    page.get_by_label("Name", exact=True).fill("it's <b>")
    page.get_by_label("GPU memory", exact=True).fill("1.5G")
    page.get_by_label("Time limit", exact=True).fill("1h30m")
    for summary in page.locator("summary").all():
        summary.click()
    page.get_by_label("Labels", exact=True).fill("a, b c")
    page.get_by_label("Priority", exact=True).fill("3")
    page.get_by_label("Retries after failure", exact=True).fill("2")
    page.get_by_label("Preemptible").check()
    page.get_by_label("Merge standard error into standard output").check()
    page.get_by_role("checkbox", name=re.compile("^Hold ")).check()
    page.get_by_label("failure", exact=True).check()
    typed = shlex.split(page.get_by_test_id("command-line").inner_text())
    page.get_by_role("button", name="Submit", exact=True).click()
    page.wait_for_url(re.compile(r"/jobs/\d+$"))
    here, there = int(page.url.rpartition("/")[2]), site.box.submit(*typed[2:])

    def asked(job: int) -> dict[str, object]:
        spec = site.box.http("GET", f"/jobs/{job}/spec").json["spec"]
        return {key: value for key, value in spec.items() if key not in ("cwd", "umask")}

    assert asked(here) == asked(there) and asked(here)["time_limit_s"] == 5400


def test_a_line_that_cannot_be_queued_is_marked_and_nothing_is(site: Site) -> None:
    site.allow("413")
    page = form(site)
    before = len(site.box.json("ls", "--all")["jobs"])
    page.get_by_role("button", name="Many commands").click()
    page.get_by_label("Commands, one per line").fill(f"echo 1\necho {'x' * 140_000}\n# no\necho 3")
    page.get_by_label("GPUs", exact=True).fill("0")
    preview = page.get_by_test_id("preview")
    expect(preview.get_by_role("row")).to_have_count(4)
    expect(preview.get_by_role("row").nth(2)).to_contain_text("an argument of the command has 140,000 bytes")
    expect(preview.get_by_role("row").nth(3)).to_contain_text("starts now")
    expect(page.get_by_role("button", name="Submit 3 jobs")).to_be_disabled()
    assert len(site.box.json("ls", "--all")["jobs"]) == before
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_many_lines_are_what_submit_from_makes_of_them(site: Site) -> None:
    """Options before the command, of a line and of the form; JSON; one line that is wrong, and then is not."""
    for n in range(3):
        site.box.submit("--name", f"keeps {n}", "sleep 600")  # of four GPUs one is free: what is checked is what was asked
    page = form(site)
    page.get_by_role("button", name="Many commands").click()
    good = (
        '--name one -l x echo 1\n-g 2 --mem 8G -- echo $HOME && echo 2\n{"command": ["echo", "a b"], "max_util": 50}\n# no\n'
    )
    lines = page.get_by_label("Commands, one per line")
    lines.fill(good + "-g many echo 4")
    page.get_by_label("GPU memory", exact=True).fill("4G")
    preview = page.get_by_test_id("preview")
    expect(preview.get_by_role("row").nth(4)).to_contain_text("--gpus")
    expect(page.get_by_role("button", name="Submit 4 jobs")).to_be_disabled()
    lines.fill(good)
    expect(preview.get_by_role("row")).to_have_count(4)
    expect(preview.get_by_role("row").nth(1)).to_contain_text("echo 1")
    expect(preview.get_by_role("row").nth(2)).to_contain_text("echo $HOME && echo 2")
    page.get_by_role("button", name="Submit 3 jobs").click()
    page.wait_for_url("**/jobs?ids=*")
    ids = [int(word) for word in site.box.do("ls", "-q", page.url.partition("ids=")[2]).split()]
    there = site.box.work / "jobs.txt"
    there.write_text(good)
    typed = [int(word) for word in site.box.do("submit", "--mem", "4G", "--from", str(there)).split()]

    def asked(job: int) -> dict[str, object]:
        spec = site.box.http("GET", f"/jobs/{job}/spec").json["spec"]
        return {key: value for key, value in spec.items() if key not in ("cwd", "umask")}

    assert [asked(job) for job in sorted(ids)] == [asked(job) for job in sorted(typed)]
    site.box.do("kill", "all")


def test_what_would_start_now_is_taken_with_a_click(site: Site) -> None:
    for n in range(3):
        site.box.submit("--name", f"keeps {n}", "sleep 600")
    page = form(site)
    page.get_by_role("textbox", name="Command", exact=True).fill("echo wide")
    page.get_by_label("GPUs", exact=True).fill("2")
    forecast = page.get_by_test_id("forecast")
    expect(forecast).to_contain_text("needs 2 free GPUs")
    forecast.get_by_role("listitem").filter(has_text="with 1 GPU instead of 2").get_by_role("button", name="Use").click()
    expect(page.get_by_label("GPUs", exact=True)).to_have_value("1")
    expect(forecast).to_contain_text("Would start now")
    site.box.do("kill", "all")
