"""A machine is added as a node in the browser, checked, cut off, healed, given up and removed: over ssh, as people do."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from tests.box import until
from tests.browser.site import Site, is_still, sticks_out, violations
from tests.hosts.cluster import Hosts
from tests.hosts.host import Host

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def hosts(home: Site) -> Iterator[Hosts]:
    """A machine of its own, on which ada has her account."""
    if os.geteuid() != 0 or shutil.which("sshd", path="/usr/sbin:/usr/bin") is None:
        pytest.skip("NOT TESTED: nodes of other machines in a browser; that needs root and sshd")
    ada = next(user for user in home.box.json("users")["users"] if user["user"] == "ada")
    with Hosts(1, (ada["unix"],)) as found:
        yield found


def add(page: Page, name: str, address: str, key: str = "") -> None:
    """Fill the dialog in and send it."""
    page.goto("/nodes")
    page.get_by_role("button", name="Add node").click()
    dialog = page.get_by_role("dialog", name="Add node")
    dialog.get_by_label("Name").fill(name)
    dialog.get_by_label("Address").fill(address)
    dialog.get_by_label("Key file").fill(key)
    dialog.get_by_text("More", exact=True).click()
    dialog.get_by_label("Simulated GPUs").fill("2x24G")
    dialog.get_by_role("button", name="Add node").click()


def test_what_cannot_be_added_is_said_in_the_dialog(site: Site) -> None:
    site.allow("status of 403", "status of 400", "status of 503")
    page = site.owners_window()
    dialog = page.get_by_role("dialog", name="Add node")
    add(page, "p1", "pipe:")
    expect(dialog.get_by_role("alert")).to_contain_text(
        "only the server's own account"
    )  # with its credentials, on its machine
    dialog.get_by_label("Address").fill("ssh://root@")
    dialog.get_by_role("button", name="Add node").click()
    expect(dialog.get_by_role("alert")).to_contain_text("ssh://")
    dialog.get_by_label("Address").fill("ssh://root@127.0.0.1:1")
    dialog.get_by_role("button", name="Add node").click()
    expect(dialog.get_by_role("alert")).to_contain_text("Connection refused")
    expect(dialog.get_by_label("Name")).to_have_value("p1")  # nothing of it was lost
    assert len(site.box.http("GET", "/nodes").json["nodes"]) == 1
    other = site.window("ben")
    other.goto("/nodes")
    is_still(other)
    expect(other.get_by_role("button", name=re.compile("Add node|Check|Drain"))).to_have_count(0)


def test_a_machine_is_a_node_from_its_first_to_its_last_day(site: Site, hosts: Hosts) -> None:
    site.allow("status of 409", "status of 503")  # of a host key that nobody knows, of a log that is away
    host, page = hosts[0], site.owners_window()  # nodes are added by the server's own account
    comes(page, host, str(hosts.key))
    job = site.box.submit("--owner", "ada", "-g", 1, "--node", host.name, "--cwd", "/tmp", "sleep 300")
    until("it runs", lambda: site.box.http("GET", f"/jobs/{job}").json["state"] == "running")
    is_checked(page, host)
    host.cut()
    is_unknown(page, host, job)
    host.heal()
    page.goto(f"/jobs/{job}")
    expect(page.get_by_test_id("job-state")).to_have_text("running")
    expect(page.get_by_test_id("job-away")).to_have_count(0)
    host.power_off()
    is_given_up(page, host)
    page.goto(f"/jobs/{job}")
    expect(page.get_by_test_id("job-state")).to_have_text("lost")
    is_removed(page, host)


def comes(page: Page, host: Host, key: str) -> None:
    """It is added once somebody has said that its key is right."""
    add(page, host.name, host.url("root"), key)
    dialog = page.get_by_role("dialog", name="Add node")
    expect(dialog).to_contain_text(host.host_key)
    assert not violations(page)
    dialog.get_by_role("button", name="Keys match, add node").click()
    expect(dialog).to_have_count(0)
    there = page.get_by_role("region", name=host.name)
    expect(there).to_contain_text(host.url("root"))
    expect(there).to_contain_text("up")
    expect(there.get_by_role("row", name=re.compile("^1"))).to_contain_text("free")
    expect(there).to_contain_text("each user's account")  # root's login


def is_checked(page: Page, host: Host) -> None:
    """The list of what is there and what is not."""
    page.get_by_role("region", name=host.name).get_by_role("button", name="Check").click()
    found = page.get_by_role("dialog", name=f"Checks on {host.name}")
    expect(found.get_by_role("listitem").filter(has_text="Host key")).to_contain_text(host.host_key)
    expect(found.get_by_role("listitem").filter(has_text="Connection").get_by_role("img", name="passed")).to_be_visible()
    assert not violations(page)
    found.get_by_role("button", name="Close").last.click()


def is_unknown(page: Page, host: Host, job: int) -> None:
    """The page of its job says what is not known, and why; the overview has its GPUs in grey."""
    page.goto(f"/jobs/{job}")
    expect(page.get_by_test_id("job-state")).to_have_text("unknown")
    expect(page.get_by_test_id("job-away")).to_contain_text(f"{host.name} has been unreachable for")
    expect(page.get_by_test_id("job-away")).to_contain_text("the job was running then")
    for path in (f"/jobs/{job}", "/", "/wall", "/nodes", f"/nodes/{host.name}", "/jobs"):
        page.goto(path)
        is_still(page)
        assert not violations(page), path
        assert sticks_out(page) <= 0, path
    page.goto("/")
    group = page.get_by_role("region", name=host.name)
    expect(group).to_contain_text("unreachable")
    expect(group.locator("[data-state=unreachable]")).to_have_count(2)
    page.goto(f"/nodes/{host.name}")
    expect(page.get_by_test_id("node-reason")).to_be_visible()


def is_given_up(page: Page, host: Host) -> None:
    """After an administrator confirms what is lost."""
    page.goto(f"/nodes/{host.name}")
    page.get_by_role("button", name="Give up its jobs").click()
    asked = page.get_by_role("dialog", name=f"Give up the jobs of {host.name}?")
    expect(asked).to_contain_text("Jobs on it: 1")
    asked.get_by_role("button", name="Give up its jobs").click()
    expect(page.get_by_text("1 lost")).to_be_visible()


def is_removed(page: Page, host: Host) -> None:
    """The server forgets it."""
    page.goto(f"/nodes/{host.name}")
    page.get_by_role("button", name="Remove", exact=True).click()
    page.get_by_role("dialog", name=f"Remove {host.name}?").get_by_role("button", name="Remove").click()
    expect(page).to_have_url(re.compile("/nodes$"))
    expect(page.get_by_role("region", name=host.name)).to_have_count(0)


def test_a_new_host_key_is_trusted_and_a_node_with_jobs_is_removed(site: Site, hosts: Hosts) -> None:
    site.allow("status of 409")
    host, page, box = hosts[0], site.window("ada"), site.box
    words = (host.name, host.url("root"), "--key", str(hosts.key), "--sim", "2x24G")
    box.do("node", "add", *words, "--host-key", host.host_key)
    was = host.host_key
    host.power_off()
    host.change_host_key()
    host.power_on()
    page.goto(f"/nodes/{host.name}")
    expect(page.get_by_test_id("node-reason")).to_contain_text("host key")
    page.get_by_role("button", name="Trust new key").click()
    asked = page.get_by_role("dialog", name=re.compile("Trust the new host key"))
    expect(asked).to_contain_text(was)
    expect(asked).to_contain_text(host.host_key)
    asked.get_by_role("button", name="Trust it").click()
    expect(page.get_by_test_id("node-reason")).to_have_count(0)
    job = box.submit("--owner", "ada", "-g", 1, "--node", host.name, "--cwd", "/tmp", "sleep 300")
    until("it runs", lambda: box.http("GET", f"/jobs/{job}").json["state"] == "running")
    expect(page.get_by_role("row", name=re.compile(f"#{job}"))).to_be_visible()
    page.get_by_role("button", name="Remove", exact=True).click()
    gone = page.get_by_role("dialog", name=f"Remove {host.name}?")
    expect(gone).to_contain_text("Unfinished jobs on it: 1")
    gone.get_by_role("button", name="Remove and lose jobs").click()
    expect(page).to_have_url(re.compile("/nodes$"))
    box.ends(job)
    assert box.http("GET", f"/jobs/{job}").json["outcome"] == "lost"
