"""The page about many machines, typed line by line with three real hosts in the place of its three."""

from __future__ import annotations

import re
import subprocess

import pytest
from tests.box import Box
from tests.docs.pages import SKIP, blocks, read
from tests.hosts import Hosts, needs_hosts

PAGE = "docs/how-to/cluster.md"
_SIM = {"lab1": "2x24G", "lab2": "2x24G", "lab3": "2x80G"}


@needs_hosts("docs/how-to/cluster.md, from nothing to three nodes")
def test_from_nothing_to_a_lab_of_three() -> None:
    box = Box(gpus="1x8G")
    with Hosts(3) as hosts:
        lines = [line for block in blocks(read(PAGE)) if SKIP not in block.mark for line in block.commands.splitlines()]
        script = "set -e -o pipefail\n" + "\n".join(_here(line, hosts) for line in lines if line.strip())
        try:
            ran = subprocess.run(
                ["bash", "-x", "-c", script], env=box.env, cwd=box.work, capture_output=True, text=True, timeout=240
            )
            assert ran.returncode == 0, ran.stdout + ran.stderr
            names = [node["name"] for node in box.json("nodes")["nodes"] if node["state"] == "up"]
            assert {"lab1", "lab2", "lab3"} <= set(names) and len(names) == 4
            assert "on lab3 with 0,1" in ran.stdout
            ended = [box.comes_to(job, "ended") for job in (1, 2, 3)]
            assert [job["outcome"] for job in ended] == ["succeeded"] * 3
            assert [job["node"] for job in ended][1:] == ["lab3", "lab2"]
        finally:
            box.close()


def _here(line: str, hosts: Hosts) -> str:
    """The same line for these machines: with their addresses, the tests' key, simulated GPUs, and nobody to ask."""
    for number, host in enumerate(hosts, 1):
        line = line.replace(f"10.0.0.{number}", host.address)
    if found := re.match(r"roost node add (\w+) ", line):
        line += f" --yes --key {hosts.key} --sim {_SIM[found[1]]}"
    if line.startswith("roost node check"):
        line += " || true"  # these hosts have small disks, and it says so
    return line.replace("'A100|H100'", "Simulated").replace("roost up --detach", "roost up --detach --sim 1x8G --port 0")


@pytest.mark.parametrize("name", ["lab1", "lab2", "lab3"])
def test_every_machine_of_the_page_has_gpus_here(name: str) -> None:
    assert name in _SIM and f"roost node add {name} " in read(PAGE)
