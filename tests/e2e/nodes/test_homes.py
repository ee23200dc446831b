"""Where servers live: homes, locks, and servers that start by themselves."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from tests.box import Box, process, until

MakeBox = Callable[..., Box]


def test_two_homes_do_not_disturb_one_another(new_box: MakeBox) -> None:
    one, other = new_box("1x8G").up(), new_box("2x16G").up()
    theirs = one.submit("--name", "first", "sleep", 1000)
    ours = other.submit("--name", "second", "sleep", 1000)
    assert (theirs, ours) == (1, 1)
    one.comes_to(theirs, "running")
    pid = other.comes_to(ours, "running")["attempts"][0]["pid"]
    assert [job["name"] for job in one.json("ls")["jobs"]] == ["first"]
    assert (len(one.json("gpus")["gpus"]), len(other.json("gpus")["gpus"])) == (1, 2)
    one.do("down", "--kill")
    assert process(pid) is not None
    assert other.state(ours) == "running"


def test_a_second_server_on_one_home_refuses(own: Box) -> None:
    server = own.server
    in_front = own.refused(75, "up")
    assert "already running" in in_front
    assert str(server.pid) in in_front
    assert own.refused(75, "up", "--detach") == in_front
    assert own.server == server


def test_submit_starts_a_server_with_the_settings_of_the_last_up(new_box: MakeBox) -> None:
    box = new_box("3x8G").up()
    port = box.url.rpartition(":")[2]
    box.do("down")
    box.up("--port", port)
    box.do("down")
    ran = box.run("submit", "true")
    assert ran.code == 0
    assert "started a server for you" in ran.err
    assert "roost down" in ran.err
    box.ends(int(ran.out), "succeeded")
    assert len(box.json("gpus")["gpus"]) == 3
    assert box.url.endswith(f":{port}")


def test_run_starts_a_server_too(new_box: MakeBox) -> None:
    box = new_box()
    ran = box.run("run", "-g", 0, "sh", "-c", "echo hello; exit 7")
    assert (ran.code, ran.out) == (7, "hello\n")
    assert "started a server for you" in ran.err


def test_without_gpus_the_line_says_how_to_have_some(new_box: MakeBox) -> None:
    box = new_box()
    box.env["CUDA_VISIBLE_DEVICES"] = ""
    box.up("--sim", "off")
    if box.json("gpus")["gpus"]:
        return  # a machine with real GPUs
    said = box.refused(2, "submit", "true")
    assert "no GPU" in said
    assert "--sim" in said


def test_autostart_can_be_turned_off(new_box: MakeBox) -> None:
    box = new_box()
    for verb in ("submit", "run"):
        ran = box.run(verb, "true", env={"ROOST_AUTOSTART": "0"})
        assert (ran.code, ran.out) == (69, "")
        assert "roost up --detach" in ran.err
    assert box.servers() == []


def test_verbs_that_only_look_start_nothing(new_box: MakeBox) -> None:
    box = new_box()
    for verb in ("ls", "status", "gpus"):
        assert "roost up --detach" in box.refused(69, verb)
    assert box.servers() == []


def test_many_that_start_a_server_at_once_start_one(new_box: MakeBox) -> None:
    box = new_box("2x8G").up()
    box.do("down")
    racers = [box.background("submit", "-q", "-g", 0, "true") for _ in range(4)]
    ended = [racer.communicate(timeout=90) for racer in racers]
    assert [racer.returncode for racer in racers] == [0] * 4, ended
    assert sorted(int(out) for out, _ in ended) == [1, 2, 3, 4]
    assert sum("started a server" in err for _, err in ended) == 1, ended
    assert len(box.servers()) == 1


def test_term_is_a_way_to_say_down(own: Box) -> None:
    job = own.submit("sleep", 1000)
    pid = own.comes_to(job, "running")["attempts"][0]["pid"]
    server = own.server
    os.kill(server.pid, signal.SIGTERM)
    until("the server has left", lambda: not server.is_alive)
    assert process(pid) is not None
    own.up()
    assert own.state(job) == "running"
