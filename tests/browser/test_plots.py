"""Every plot draws what it is given later: new samples, another span of time. Read from the pixels of its canvas."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, Route, expect
from tests.box import Json, until
from tests.browser.site import Site, is_still

SPAN_S = {"hour": 3600, "day": 86_400, "week": 604_800, "month": 2_592_000, "year": 31_536_000}
POINTS = 40
_PICTURES = """() => Object.fromEntries([...document.querySelectorAll('[role=img]:has(canvas)')]
  .map((box, n) => [`${n} ${box.getAttribute('aria-label')}`, box.querySelector('canvas').toDataURL()]))"""
_ALL_CHANGED = """(before) => {
  const all = (PICTURES)();
  return Object.keys(before).every((name) => all[name] && all[name] !== before[name]);
}""".replace("PICTURES", _PICTURES)

Pictures = dict[str, str]


def pictures(page: Page, plots: int) -> Pictures:
    """What each plot shows, by its place and label, once so many have been drawn."""
    expect(page.locator("[role=img] canvas")).to_have_count(plots)
    page.wait_for_function("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
    found: Pictures = page.evaluate(_PICTURES)
    assert len(found) == plots, sorted(found)
    return found


def changes(page: Page, before: Pictures, act: Callable[[], None]) -> Pictures:
    """Do that, wait until no plot shows what it showed before, and return what they show now."""
    act()
    page.wait_for_function(_ALL_CHANGED, arg=before)
    return pictures(page, len(before))


@pytest.fixture
def moving(site: Site) -> Iterator[Page]:
    """A window in which every answer about samples has other values than the one before."""
    page, calls = site.window("ada"), itertools.count(1)

    def answer(route: Route) -> None:
        reply = route.fetch()
        span = parse_qs(urlsplit(route.request.url).query)["span"][0]
        route.fulfill(response=reply, body=json.dumps(filled(reply.json(), SPAN_S[span], next(calls))))

    page.clock.install()
    page.route(re.compile("/samples\\?"), answer)
    yield page
    page.unroute_all(behavior="ignoreErrors")


def filled(samples: Json, span_s: int, call: int) -> Json:
    """The answer with a value at each of its times; `call` shapes the curve."""
    end = 1_800_000_000 + call * span_s // POINTS
    samples["at"] = [end - span_s + n * span_s // POINTS for n in range(POINTS)]
    for name, values in samples.items():
        if isinstance(values, list) and name != "at":
            total = 100_000 if name.endswith("_mib") else 8
            samples[name] = [total if "_total" in name else 1 + (n * call) % 7 for n in range(POINTS)]
    return samples


def test_the_plots_of_the_cluster_move(moving: Page) -> None:
    moving.goto("/")
    is_still(moving)
    seen = pictures(moving, 2)
    for span in ("Day", "Week", "Hour"):
        seen = changes(moving, seen, moving.get_by_role("button", name=span).click)
    changes(moving, seen, lambda: moving.clock.fast_forward(31_000))


def test_the_plots_of_a_node_and_of_a_gpu_move(site: Site, moving: Page) -> None:
    gpu = site.box.json("gpus")["gpus"][0]
    moving.goto(f"/nodes/{gpu['node']}?gpu={gpu['uuid']}")
    is_still(moving)
    for plots in (9, 5):
        seen = pictures(moving, plots)
        for span in ("Hour", "Week", "Month", "Year", "Day"):
            seen = changes(moving, seen, moving.get_by_role("button", name=span, exact=True).click)
        changes(moving, seen, lambda: moving.clock.fast_forward(300_000))
        moving.get_by_role("button", name=re.compile("^GPU 0"), expanded=plots == 9).click()


def test_the_plots_of_a_running_job_move(site: Site) -> None:
    box = site.box
    job = box.submit("-g", 1, "--mem", "8G", "--", "roost", "sim-job", "--mem", "3G", "--seconds", "600")

    def sampled() -> int:
        return len(box.http("GET", f"/jobs/{job}/samples").json["at"])

    until("it has samples", lambda: sampled() > 1)
    page = site.window("ada")
    page.clock.install()
    page.goto(f"/jobs/{job}")
    expect(page.get_by_test_id("job-state")).to_have_text("running")
    is_still(page)
    seen = pictures(page, 3)
    were = sampled()
    until("it has more", lambda: sampled() > were + 1)
    changes(page, seen, lambda: page.clock.fast_forward(11_000))
    box.do("kill", job)
