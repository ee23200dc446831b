from __future__ import annotations

from pathlib import Path

from bench.systems.slurm_text import Site, batch_script, node_names, slurm_conf

SITE = Site(Path("/w"), "box", 7001, 7002)


def test_the_node_claims_the_slots_as_cpus() -> None:
    assert "NodeName=n1 NodeHostname=box NodeAddr=127.0.0.1 Port=7002 CPUs=4 State=UNKNOWN" in slurm_conf(SITE, 4, False)


def test_many_nodes_have_ports_that_follow_another() -> None:
    conf = slurm_conf(SITE, 8, False, nodes=50)
    assert "NodeName=n[1-50] NodeHostname=box NodeAddr=127.0.0.1 Port=[7002-7051] CPUs=8 State=UNKNOWN" in conf
    assert "PartitionName=all Nodes=n[1-50] " in conf
    assert node_names(1) == "n1"


def test_everything_lives_in_the_directory_it_was_given() -> None:
    paths = [line for line in slurm_conf(SITE, 4, False).splitlines() if "=/" in line]
    assert [line for line in paths if "=/w/" not in line and "MailProg" not in line] == []


def test_the_epilog_is_a_system_of_its_own() -> None:
    assert "Epilog=/bin/true" not in slurm_conf(SITE, 4, False)
    assert "Epilog=/bin/true" in slurm_conf(SITE, 4, True)


def test_the_script_is_the_job_and_nothing_else() -> None:
    assert batch_script("stamp file 1") == "#!/bin/sh\nexec stamp file 1\n"
