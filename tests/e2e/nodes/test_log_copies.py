"""Logs of another node: what an ended job wrote survives it, and what is on a node that is away is refused in words."""

from __future__ import annotations

import shutil

from tests.box import Box, until
from tests.pipe_node import PipeNode

TRY_LATER = 75


def test_what_a_job_wrote_outlives_its_node_and_the_server(own: Box) -> None:
    far = PipeNode(own)
    job = own.submit("--node", "far", "seq 1 100000; echo oops >&2")
    own.ends(job, "succeeded")
    kept = own.home / "logs" / str(job)
    until("it is copied", (kept / "1.json").exists)
    assert kept.stat().st_mode & 0o077 == 0
    own.kill_server()
    own.up()
    far.cut()
    shutil.rmtree(far.directory.with_name("away"))
    whole = "".join(f"{n}\n" for n in range(1, 100_001))
    assert own.log(job) == own.log(job, "-f") == own.http("GET", f"/jobs/{job}/log/file").body.decode() == whole
    assert own.http("DELETE", "/nodes/far").status == 200
    assert own.log(job, "-n", 1) == "100000\n" and own.do("log", job, "--err") == "oops\n"
    own.do("rm", job)
    until("nothing is left of it", lambda: not kept.exists())


def test_the_log_of_a_running_job_on_a_node_that_is_away_is_refused_and_followed_when_it_is_back(own: Box) -> None:
    far = PipeNode(own)
    own.file("stay").touch()
    job = own.submit("--node", "far", "echo begun; while [ -e stay ]; do sleep 0.05; done; echo done")
    follower = own.background("log", "-f", "--out", job)
    assert follower.stdout is not None and follower.stdout.readline() == "begun\n"
    far.cut()
    said = own.refused(TRY_LATER, "log", job)
    assert (
        said.startswith("roost: far cannot be reached (")
        and f"): what job {job} wrote is there\nhint: roost log -f {job}" in said
    )
    own.file("stay").unlink()
    far.heal()
    out, _ = follower.communicate(timeout=60)
    assert (follower.returncode, out) == (0, "done\n")
