"""The live feed as an open page has it: a real server, real connections, simulated GPUs."""

from __future__ import annotations

import json

from tests.box import Box
from tests.e2e.people.test_people import PASSWORD, choose
from tests.feed import Json, Stream, listening

SOON_S = 3.0
"""What is promised within a second, on a machine that does other things too."""


def token_of(box: Box, name: str) -> str:
    """A token of a new user who is no administrator."""
    choose(box.do("user", "add", name, "--unix", "none").split()[1], box)
    asked = {"user": name, "password": PASSWORD, "token": "page"}
    return str(box.http("POST", "/login", asked, tcp=True, Authorization="").json["token"])


def fresh(box: Box, token: str | None = None) -> Json:
    """What somebody sees who comes now."""
    with listening(box, token) as stream:
        return stream.state


def gpu(page: Stream, index: int) -> Json:
    """The tile of one GPU."""
    return list(page.gpus.values())[index]


def test_a_job_is_seen_to_come_start_and_end(box: Box) -> None:
    with listening(box) as page:
        job = box.submit("--name", "<b>&", "-g", 1, "sleep", 1)
        page.until("the job is there", lambda: page.rows.get(job), SOON_S)
        page.until("it runs", lambda: page.rows[job]["state"] == "running" and job in page.whole["running"], SOON_S)
        (tile,) = [tile for tile in page.gpus.values() if tile["jobs"]]
        assert (tile["jobs"][0]["id"], tile["jobs"][0]["name"], tile["state"]) == (job, "<b>&", "used")
        page.until("it has ended", lambda: page.rows[job]["outcome"] == "succeeded", 20)
        assert page.whole["ended"] == [job] and page.whole["running"] == []
        page.until("its GPU is free", lambda: not any(tile["jobs"] for tile in page.gpus.values()))


def test_what_waits_says_why_and_until_when(box: Box) -> None:
    box.comes_to(box.submit("-g", 4, "sleep", 600), "running")
    with listening(box) as page:
        job = box.submit("-g", 1, "true")
        page.until("it waits", lambda: page.whole["queue"] == [job], SOON_S)
        row = page.until("it is foretold", lambda: page.rows[job]["eta"] and page.rows[job], 20)
        assert (row["reason"]["code"], row["queue_position"], page.whole["queued_total"]) == ("gpus_busy", 0, 1)
        (listed,) = box.http("GET", "/jobs?brief=true&state=queued").json["jobs"]
        assert {**listed, "eta": None} == {**row, "eta": None} and listed["eta"] is not None


def test_what_an_administrator_changes_is_on_every_page(box: Box) -> None:
    node = box.json("status")["nodes"][0]["name"]
    with listening(box) as page:
        box.do("drain", "0")
        box.do("gpu", "set", "1", "--slots", 2, "--alias", "left")
        tiles = page.gpus
        page.until("it is drained", lambda: gpu(page, 0)["state"] == "drained")
        page.until("it has slots", lambda: gpu(page, 1)["slots"] == 2 and gpu(page, 1)["alias"] == "left")
        assert page.gpus.keys() == tiles.keys() and not page.said("gpu_set")
        box.do("drain", node)
        page.until("the node is drained", lambda: page.whole["nodes"][0]["state"] == "drained")
        box.do("undrain", node)
        box.do("scheduler", "pause")
        page.until("scheduling is paused", lambda: page.whole["scheduling"] == "paused")
        box.do("policy", "fifo")
        page.until("the policy is told", lambda: page.whole["policy"] == "fifo" and page.said("settings"))
        box.do("policy", "swift")
        box.do("notice", "back at noon")
        page.until("the notice is told", lambda: page.whole["notice"] and page.whole["notice"]["text"] == "back at noon")
        box.do("user", "set", "ana", "--max-gpus", 2)
        page.until("rules are told", lambda: page.said("users"))
        box.do("gpu", "set", "1", "--alias", "")
        page.until("all of it is known", lambda: not gpu(page, 1)["alias"])


def test_many_jobs_at_once_are_not_told_one_by_one(box: Box) -> None:
    box.do("scheduler", "pause")
    with listening(box) as page:
        box.do("submit", "-q", "--from", "-", text="true\n" * 1000)
        page.until("all are counted", lambda: page.whole["queued_total"] == 1000, SOON_S)
        assert page.said("many") == [True] and len(page.whole["queue"]) == 100
        assert page.state["jobs"] and len(page.rows) == 100
        box.http("POST", "/jobs/actions", {"action": "kill", "select": {"all": True}})
        page.until("all have ended", lambda: page.whole["queued_total"] == 0 and len(page.whole["ended"]) == 30)
        assert page.said("many")[1:]
        assert page.state == fresh(box)


def test_after_the_server_was_killed_a_page_that_comes_again_has_it_all(own: Box) -> None:
    job = own.submit("-g", 1, "sleep", 600)
    with listening(own) as page:
        page.until("it runs", lambda: page.rows[job]["state"] == "running")
        boot = page.whole["server"]["boot"]
        own.kill_server()
        page.until_end()
        assert "bye" not in page.kinds
    own.up()
    with listening(own) as page:
        page.until("it runs on", lambda: page.rows.get(job, {}).get("state") == "running")
        assert page.whole["server"]["boot"] != boot


def test_a_server_that_leaves_says_so_and_does_not_wait_for_pages(own: Box) -> None:
    with listening(own) as page:
        own.do("down")
        page.until_end()
        assert page.events[-1] == ("bye", {"reason": "shutdown"})


def test_the_page_of_somebody_who_is_locked_ends(box: Box) -> None:
    token = token_of(box, "ana")
    with listening(box, token) as page, listening(box) as other:
        box.do("user", "lock", "ana")
        page.until("good-bye", lambda: page.events[-1] == ("bye", {"reason": "locked"}), SOON_S)
        page.until_end()
        other.until("users changed", lambda: other.said("users"))
        assert "bye" not in other.kinds
    again = Stream(box, token)
    again.until_end()
    again.close()
    assert again.status == 401 and not again.events


def test_the_page_of_a_token_that_is_revoked_ends(box: Box) -> None:
    token = token_of(box, "ana")
    with listening(box, token) as page:
        (row,) = [row for row in box.json("token", "ls", "--all")["tokens"] if row["user"] == "ana"]
        box.do("token", "revoke", row["id"])
        page.until("good-bye", lambda: page.events[-1] == ("bye", {"reason": "ended"}), SOON_S)
        page.until_end()


def test_private_mode_hides_names_from_open_pages_too(own: Box) -> None:
    token = token_of(own, "ana")
    job = own.submit("-g", 1, "--name", "canary7", "-l", "canary7", "sh", "-c", "sleep 600 # canary7")
    with listening(own, token) as hers, listening(own) as page:
        hers.until("she sees all", lambda: hers.rows[job]["name"] == "canary7")
        own.do("set", "users.private", "true")
        hers.until("she sees anew", lambda: hers.whole["private"] and hers.rows[job]["name"] == "(private)")
        seen = len(hers.events)
        own.do("kill", job)
        hers.until("its end", lambda: hers.rows[job]["state"] == "ended", 20)
        assert "canary7" not in json.dumps([hers.state, hers.events[seen:]])
        page.until("it is seen", lambda: page.whole["private"] and page.rows[job]["state"] == "ended", 20)
        assert page.rows[job]["name"] == "canary7" and page.kinds.count("state") == 1
        assert hers.state == fresh(own, token)


def test_a_browser_gets_it_packed_and_it_is_the_same(box: Box) -> None:
    with listening(box, is_packed=True) as packed, listening(box) as plain:
        job = box.submit("--name", "packed", "-g", 1, "true")
        packed.until("it has ended", lambda: packed.rows.get(job, {}).get("outcome") == "succeeded", 20)
        plain.until("it has ended", lambda: plain.rows.get(job, {}).get("outcome") == "succeeded", 20)
        assert packed.rows[job] == plain.rows[job]
        box.do("down")
        packed.until_end()
        assert packed.events[-1] == ("bye", {"reason": "shutdown"})
        assert packed.unpacker is not None and packed.unpacker.eof  # the sum was right, and nothing is missing
    box.up()
