"""What is asked of a job while its node is away: said in one line, and carried out when the node is back."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.box import Box, until
from tests.pipe_node import PipeNode

TRY_LATER = 75
FOREVER = "while :; do sleep 0.05; done"
LATER = "far is unreachable; this is done when it is back\n"


def begun(box: Box) -> int:
    """A job that runs there."""
    job = box.submit("--node", "far", "--grace", "1", FOREVER)
    until("it runs", lambda: box.http("GET", f"/jobs/{job}").json["state"] == "running")
    return job


def test_what_is_asked_of_a_job_meanwhile_is_done_when_the_node_is_back(own: Box) -> None:
    far = PipeNode(own, "3x24G")
    ended, removed, paused = (begun(own) for _ in range(3))
    far.cut()
    gone = [str(ended), str(removed), str(paused)]
    until("they are unknown", lambda: own.do("ls", "-q", "--state", "unknown").split() == gone)
    ran = own.run("kill", ended)
    assert (ran.code, ran.out, ran.err) == (0, f"ending {ended}\n", f"roost: {ended}: {LATER}")
    assert own.run("pause", paused).err == f"roost: {paused}: {LATER}"
    assert own.json("rm", removed)["later"] == [{"id": removed, "node": "far"}]
    refused = f"roost: far cannot be reached: job {paused} was sent no signal\nhint: roost node show far\n"
    assert own.refused(TRY_LATER, "kill", "--signal", "USR1", paused) == refused
    assert "later" not in own.json("clone", paused, "--hold")
    far.heal()
    own.ends(ended, "killed")
    until("it is removed", lambda: own.http("GET", f"/jobs/{removed}").status == 404)
    assert own.do("ls", "-q", "--state", "paused").split() == [str(paused)]
    assert own.run("resume", paused).err == ""


def test_files_of_a_job_that_was_removed_meanwhile_are_deleted_when_the_node_is_back(own: Box) -> None:
    far = PipeNode(own)
    job, kept = (own.submit("--node", "far", "echo written") for _ in range(2))
    for each in (job, kept):
        own.ends(each, "succeeded")
    far.cut()
    own.do("rm", job)
    own.kill_server()
    own.up()
    assert files(far.directory.with_name("away"), job) and own.http("GET", f"/jobs/{job}").status == 404
    far.heal()
    until("they are deleted", lambda: not files(far.directory, job))
    assert files(far.directory, kept)


def test_programs_that_stand_still_are_noticed_and_what_was_sent_to_them_is_unknown(own: Box) -> None:
    """The local one and another: stopped, as by a debugger or a machine that hangs."""
    far = PipeNode(own)
    local = own.json("status")["node_pid"]
    here = next(node["name"] for node in own.http("GET", "/nodes").json["nodes"] if node["name"] != "far")
    stopped = [local, far.shown()["pid"]]
    assert local != far.shown()["pid"]

    def shown(field: str) -> list[str]:
        return [node[field] for node in own.http("GET", "/nodes").json["nodes"]]

    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    try:
        jobs = {node: own.submit("--node", node, "true") for node in ("far", here)}
        until("both are unreachable", lambda: set(shown("state")) == {"unreachable"}, shown=lambda: shown("state"))
        assert all("does not answer" in why for why in shown("reason"))
        until(
            "their jobs are unknown",
            lambda: own.do("ls", "-q", "--state", "unknown").split() == list(map(str, jobs.values())),
        )
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
    for job in jobs.values():
        own.ends(job, "succeeded")


def files(directory: Path, job: int) -> list[Path]:
    """What the node has of a job."""
    return list(directory.rglob(f"{job}.1"))
