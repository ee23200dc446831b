"""Simulated GPUs through a real daemon: who is on them, what they use, and drivers that hang or fail."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.builders import in_english
from tests.integration.node.harness import SRC, Message, Node

NodeMaker = Callable[..., Node]
SIM_JOB = [sys.executable, "-m", "roost.node", "sim-job"]


@pytest.fixture
def node(make_node: NodeMaker) -> Node:
    node = make_node("--sim", "2x24G,1x80G")
    node.send("configure", sample_ms=100)
    return node


def sample_where(node: Node, wanted: Callable[[list[dict[str, Any]]], Any]) -> list[dict[str, Any]]:
    message = node.expect_where(lambda m: m["op"] == "sample" and bool(wanted(m["gpus"])))
    gpus: list[dict[str, Any]] = message["gpus"]
    return gpus


def start_sim_job(node: Node, run: str, gpus: list[str], *options: str, **spec: Any) -> None:
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SRC)}
    node.start(run, *SIM_JOB, *options, gpus=gpus, env=env, **spec)


def test_the_cards_are_as_specified_and_stay_the_same(node: Node) -> None:
    gpus = node.hello["gpus"]
    assert [(gpu["index"], gpu["model"], gpu["mem_mib"]) for gpu in gpus] == [
        (0, "Simulated 24G", 24576),
        (1, "Simulated 24G", 24576),
        (2, "Simulated 80G", 81920),
    ]
    node.kill_daemon()
    node.options = []
    assert node.attach()["gpus"] == gpus


def test_another_simulation_is_taken_when_nothing_runs(node: Node) -> None:
    node.detach()
    node.options = ["--sim", "1x8G"]
    assert len(node.attach()["gpus"]) == 1
    node.start("1.1", "sleep", "1000")
    node.started("1.1")
    node.detach()
    node.options = ["--sim", "5x8G"]
    assert len(node.attach()["gpus"]) == 1


def test_a_run_is_seen_on_its_gpus_and_its_peak_is_kept(node: Node) -> None:
    uuids = [node.hello["gpus"][n]["uuid"] for n in (0, 2)]
    start_sim_job(node, "5.2", uuids, "--mem", "6G", "--seconds", "60", "--util", "80")
    gpus = sample_where(node, lambda gpus: gpus[0]["procs"] and gpus[2]["procs"])
    assert [gpu["mem_used_mib"] for gpu in gpus] == [6144, 0, 6144]
    assert (gpus[0]["util"], gpus[0]["procs"][0]["run"]) == (80, "5.2")
    node.send("stop", run="5.2", grace_ms=5_000, why="kill")
    end = node.exited("5.2")
    assert (end["peak_mem_mib"], end["why"], end["status"]) == (6144, "kill", 143)  # of one GPU, as it is asked for
    assert end["util_mean"] is not None
    sample_where(node, lambda gpus: gpus[0]["mem_used_mib"] == 0)


@pytest.mark.parametrize("options", [(), ("--no-cgroup",)])
def test_the_memory_of_a_run_is_told_while_it_runs(make_node: Callable[..., Node], options: tuple[str, ...]) -> None:
    node = make_node("--sim", "1x8G", *options)
    node.start("7.1", sys.executable, "-c", "kept = b'x' * (200 << 20); import time; time.sleep(1000)")
    node.start("8.1", "sleep", "1000")

    def told(message: dict[str, Any]) -> bool:
        return message["op"] == "using" and any(use["run"] == "7.1" and use["rss_mib"] >= 200 for use in message["runs"])

    uses = {use["run"]: use["rss_mib"] for use in node.expect_where(told)["runs"]}
    assert 200 <= uses["7.1"] < 300 and uses.get("8.1", 0) < 100
    node.detach()
    node.attach()
    node.expect_where(told)  # a new server is told again


def test_a_foreign_process_is_named(node: Node) -> None:
    command = [*SIM_JOB, "--gpu", "1", "--sim-dir", node.hello["sim_dir"], "--mem", "3G", "--seconds", "60"]
    foreign = subprocess.Popen(command, env={"PYTHONPATH": str(SRC)}, stdout=subprocess.DEVNULL)
    try:
        (process,) = sample_where(node, lambda gpus: gpus[1]["procs"])[1]["procs"]
        assert (process["pid"], process["run"], process["mem_mib"]) == (foreign.pid, None, 3072)
        assert process["user"] and "sim-job" in process["command"]
    finally:
        foreign.kill()
        foreign.wait()
    sample_where(node, lambda gpus: not gpus[1]["procs"])


def test_a_full_card_fails_like_cuda_and_is_recognised(node: Node) -> None:
    uuid = node.hello["gpus"][0]["uuid"]
    start_sim_job(node, "1.1", [uuid], "--mem", "20G", "--seconds", "60")
    sample_where(node, lambda gpus: gpus[0]["procs"])
    start_sim_job(node, "2.1", [uuid], "--mem", "6G", "--seconds", "60")
    end = node.exited("2.1")
    assert (end["why"], end["status"]) == ("oom", 1)
    assert end["memory"] == "gpu"
    assert in_english(end["error"]).startswith(
        "CUDA out of memory (from the log): torch.cuda.OutOfMemoryError: CUDA out of memory."
    )
    start_sim_job(node, "3.1", [node.hello["gpus"][1]["uuid"]], "--oom")
    assert node.exited("3.1")["why"] == "oom"


def test_a_sim_job_ends_with_the_status_that_was_asked_for(node: Node) -> None:
    start_sim_job(node, "1.1", [node.hello["gpus"][0]["uuid"]], "--seconds", "0.1", "--exit", "3")
    assert node.exited("1.1")["status"] == 3
    assert list((Path(node.hello["sim_dir"]) / "procs").iterdir()) == []


def test_a_hung_driver_call_stalls_nobody_and_heals(node: Node) -> None:
    hang = Path(node.hello["sim_dir"]) / "hang-0"
    hang.touch()
    gpus = sample_where(node, lambda gpus: gpus[0]["fault"])
    assert gpus[0]["fault"].startswith("driver does not answer for ")
    assert gpus[1]["fault"] is None
    assert node.run("1.1", "true", gpus=[gpus[1]["uuid"]])["status"] == 0
    hang.unlink()
    sample_where(node, lambda gpus: gpus[0]["fault"] is None)


def test_a_hung_driver_does_not_keep_a_new_daemon_out(node: Node) -> None:
    (Path(node.hello["sim_dir"]) / "hang-0").touch()
    node.kill_daemon()
    assert len(node.attach()["gpus"]) == 3
    hung = node.hello["gpus"][0]["uuid"]
    unread = node.expect("sample")["gpus"]
    assert all(gpu["fault"] for gpu in unread if gpu["uuid"] == hung), "what was never read is not known to be free"
    sample_where(node, lambda gpus: gpus[0]["fault"])


def test_a_fault_is_told_with_its_text_and_heals(node: Node) -> None:
    fault = Path(node.hello["sim_dir"]) / "fault-2"
    fault.write_text("GPU has fallen off the bus")
    gpus = sample_where(node, lambda gpus: gpus[2]["fault"])
    assert [gpu["fault"] for gpu in gpus] == [None, None, "GPU has fallen off the bus"]
    fault.unlink()
    sample_where(node, lambda gpus: gpus[2]["fault"] is None)


def test_a_killed_sampler_is_started_again(node: Node) -> None:
    children = Path(f"/proc/{node.hello['pid']}/task/{node.hello['pid']}/children").read_text().split()
    (sampler,) = [int(pid) for pid in children if b"roost-runner" not in Path(f"/proc/{pid}/cmdline").read_bytes()]
    os.kill(sampler, 9)
    (Path(node.hello["sim_dir"]) / "fault-0").write_text("seen by the new one")
    sample_where(node, lambda gpus: gpus[0]["fault"] == "seen by the new one")


def test_samples_carry_the_host(node: Node) -> None:
    host: Message = node.expect("sample")["host"]
    assert 0 < host["mem_available_mib"] <= host["mem_mib"]
    assert host["load"] >= 0
