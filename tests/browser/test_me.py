"""What is one's own in the browser: tokens, notifications, defaults, the password."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

from playwright.sync_api import expect
from tests.box import until
from tests.browser.site import PASSWORD, Site


def test_a_token_is_made_shown_once_used_and_revoked(site: Site) -> None:
    page = site.window("ada")
    page.goto("/me")
    tokens = page.get_by_role("region", name="Tokens")
    tokens.get_by_label("Purpose").fill("the <cluster> script")
    tokens.get_by_role("button", name="Create token").click()
    token = page.get_by_test_id("token").inner_text()

    def asks() -> int:
        return site.box.http("GET", "/me", tcp=True, Authorization=f"Bearer {token}").status

    assert site.box.http("GET", "/me", tcp=True, Authorization=f"Bearer {token}").json["user"] == "ada"
    page.reload()
    listed = tokens.get_by_role("listitem").filter(has_text="the <cluster> script")
    expect(listed).to_be_visible()
    assert token not in page.content()
    listed.get_by_role("button", name="Revoke").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(listed).to_have_count(0)
    assert asks() == 401


@contextlib.contextmanager
def listener(heard: list[dict[str, object]]) -> Iterator[int]:
    """A webhook; its port."""

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Not onto the screen of the tests."""

    server = HTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def test_a_target_is_added_tested_and_told_of_an_end(site: Site) -> None:
    site.allow("status of 400")  # an address that is none
    heard: list[dict[str, object]] = []
    page = site.window("ada")
    page.goto("/me")
    part = page.get_by_role("region", name="Notifications")
    with listener(heard) as port:
        part.get_by_role("button", name="Add", exact=True).click()
        part.get_by_label("Service URL").fill("no address at all")
        part.get_by_role("button", name="Add target").click()
        expect(part.get_by_role("alert")).to_be_visible()
        part.get_by_label("Service URL").fill(f"json://127.0.0.1:{port}/s3cret")
        part.get_by_label("Name", exact=True).fill("my hook")
        part.get_by_role("button", name="Add target").click()
        target = part.get_by_role("listitem").filter(has_text="my hook")
        expect(target).to_be_visible()
        assert "s3cret" not in page.content()
        target.get_by_role("button", name="Test").click()
        expect(target).to_contain_text("Test message sent.")
        assert len(heard) == 1
        page.goto("/submit")
        page.get_by_role("textbox", name="Command", exact=True).fill("true")
        page.get_by_label("Name", exact=True).fill("loud one")
        page.get_by_role("button", name="Submit", exact=True).click()
        until("the hook was told", lambda: any("loud one" in str(one) for one in heard))
        page.goto("/me")
        target.get_by_role("button", name="Delete").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        expect(target).to_have_count(0)


def test_defaults_are_kept_and_the_form_begins_with_them(site: Site) -> None:
    page = site.window("ben")
    page.goto("/me")
    page.get_by_role("region", name="Defaults").get_by_role("button", name="Edit").click()
    dialog = page.get_by_role("dialog", name="Defaults")
    dialog.get_by_label("GPU memory", exact=True).fill("7G")
    dialog.get_by_label("Time limit", exact=True).fill("2h")
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_test_id("defaults")).to_contain_text("7G")
    page.goto("/submit")
    expect(page.get_by_label("GPU memory", exact=True)).to_have_value("7G")
    expect(page.get_by_label("Time limit", exact=True)).to_have_value("2h")


def test_a_new_password_logs_other_browsers_out(site: Site) -> None:
    site.allow("status of 401")
    site.user("gina")
    page, other = site.window("gina", anew=True), site.window("gina", anew=True)
    page.goto("/me")
    page.get_by_label("Current password").fill(PASSWORD)
    page.get_by_label("New password").fill(PASSWORD + "!")
    page.get_by_label("Repeat password").fill(PASSWORD + "!")
    page.get_by_role("button", name="Set password").click()
    expect(page.get_by_text("Password set.")).to_be_visible()
    expect(other.get_by_role("dialog", name="Log in again")).to_be_visible()
    expect(page.get_by_role("dialog", name="Log in again")).to_have_count(0)
