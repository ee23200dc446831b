"""A server whose backup was restored elsewhere runs on: the nodes do not obey it any more, and it says so."""

from __future__ import annotations

from collections.abc import Callable

from tests.box import Box, until
from tests.pipe_node import PipeNode

MakeBox = Callable[..., Box]


def test_a_server_that_was_restored_elsewhere_commands_no_node_any_more(own: Box, new_box: MakeBox) -> None:
    node = PipeNode(own)
    job = own.submit("--node", "far", "while [ ! -e go ]; do sleep 0.02; done")
    own.comes_to(job, "running")
    own.do("backup", "copy.db")

    other = new_box("1x8G")
    other.do("restore", str(own.file("copy.db")))
    other.up()
    until("far obeys the restored server", lambda: other.http("GET", "/nodes/far").json["node"]["state"] == "up")
    until("the old server says so", lambda: "another server" in " ".join(own.json("status")["health"]))
    assert "restored from a backup" in own.refused(75, "submit", "true")
    assert other.state(job) == "running"
    new = other.submit("--node", "far", "-g", "0", "echo new")
    assert other.ends(new)["outcome"] == "succeeded" and other.log(new) == "new\n"

    own.do("down")
    own.up()
    assert "another server" in " ".join(own.json("status")["health"]), "also when it is started again"
    assert "restored from a backup" in own.refused(75, "submit", "true")
    own.file("go").touch()
    assert other.ends(job)["outcome"] == "succeeded"
    assert node.directory.is_dir()
