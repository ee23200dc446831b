"""Results of jobs on other nodes: through the file that `ROOST_REPORT` names, for no server can be reached from there."""

from __future__ import annotations

from typing import Any

from tests.box import Box, until

WAIT = "until [ -e {flag} ]; do sleep 0.02; done"


def add_far(box: Box) -> None:
    """Another node, over a pipe."""
    box.do("node", "add", "far", "pipe:", "--dir", str(box.work / "far"), "--sim", "2x24G")


def results(box: Box, job: int) -> dict[str, Any]:
    found: dict[str, Any] = box.http("GET", f"/jobs/{job}").json["results"]
    return found


def come(box: Box, job: int, **wanted: Any) -> None:
    """Wait until a job has said that."""
    until("it has reported", lambda: results(box, job) == wanted, shown=lambda: results(box, job))


def test_a_sweep_on_another_node_has_its_columns(own: Box) -> None:
    add_far(own)
    line = (
        'echo "loss=0.{a} socket=[$ROOST_SOCKET]" >> "$ROOST_REPORT"; echo loss=0.{a}5 note=it went well >> "$ROOST_REPORT"'
    )
    own.do("sweep", "-p", "a=1..3", "-g", 0, "--node", "far", line)
    own.do("sweep", "-p", "a=1..2", "-g", 0, "--node", "far", "roost report square=$(({a} * {a})) 'note=a b=c'")
    own.do("wait", "all")
    first, second = (own.json("sweep", "show", str(sweep)) for sweep in (1, 2))
    wanted = [{"loss": float(f"0.{a}5"), "socket": "[]", "note": "it went well"} for a in (1, 2, 3)]
    assert [point["results"] for point in first["points"]] == wanted
    assert [point["results"] for point in second["points"]] == [
        {"square": 1, "note": "a b=c"},
        {"square": 4, "note": "a b=c"},
    ]
    assert "LOSS" in own.do("sweep", "show", "1").splitlines()[3].split()


def test_results_come_while_it_runs_and_survive_what_may_die(own: Box) -> None:
    add_far(own)
    one, two, three = (own.work / name for name in ("one", "two", "three"))
    steps = [
        f'{WAIT.format(flag=flag)}; echo step={n} seen{n}=1 >> "$ROOST_REPORT"' for n, flag in enumerate((one, two, three))
    ]
    job = own.submit("-g", 0, "--node", "far", "; ".join(steps))
    one.touch()
    come(own, job, step=0, seen0=1)
    own.kill_server()
    own.kill_all_nodes()
    two.touch()
    own.up()
    come(own, job, step=1, seen0=1, seen1=1)
    own.kill_all_nodes()
    three.touch()
    own.ends(job, "succeeded")
    assert results(own, job) == {"step": 2, "seen0": 1, "seen1": 1, "seen2": 1}


def test_one_that_ended_while_nobody_was_there_has_its_results(own: Box) -> None:
    add_far(own)
    flag = own.work / "flag"
    job = own.submit("-g", 0, "--node", "far", f'{WAIT.format(flag=flag)}; echo loss=0.5 >> "$ROOST_REPORT"; touch done')
    own.comes_to(job, "running")
    own.kill_server()
    own.kill_all_nodes()
    flag.touch()
    until("it is done", (own.work / "done").exists)
    own.up()
    own.ends(job, "succeeded")
    assert results(own, job) == {"loss": 0.5}


def test_a_line_that_is_no_result_is_said_in_the_log(own: Box) -> None:
    job = own.submit("-g", 0, 'echo loss 0.5 >> "$ROOST_REPORT"; echo acc=1 >> "$ROOST_REPORT"')
    own.ends(job, "succeeded")
    assert results(own, job) == {"acc": 1}
    assert own.do("log", job, "--err") == "roost: ROOST_REPORT: expected NAME=VALUE: 'loss 0.5'\n"
