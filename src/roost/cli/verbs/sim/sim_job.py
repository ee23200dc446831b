"""roost sim-job: use memory of a simulated GPU, inside a job or as a foreign process."""

import os

from roost.cli.parse.options import ONE, Args, Option, Verb
from roost.cli.verbs.sim.sim_gpu import sim_directory

VERB = Verb(
    "sim-job",
    "use a simulated GPU: memory, utilization, OOM, exit codes",
    options=(
        Option("--mem", "memory to use on each GPU (default 1G)", ONE, "SIZE"),
        Option("--seconds", "run time in seconds (default 5)", ONE, "N"),
        Option("--util", "utilization to simulate, in percent (default 80)", ONE, "PERCENT"),
        Option("--oom", "run out of GPU memory"),
        Option("--exit", "exit with this code", ONE, "CODE"),
        Option("--gpu", "outside a job: use this GPU as a foreign process", ONE, "INDEX"),
    ),
    examples=(
        ("roost run roost sim-job --mem 6G --seconds 5 --util 80", "6 GiB of the assigned GPU"),
        ("roost run roost sim-job --mem 6G --oom", "out of memory"),
        ("roost sim-job --gpu 2 --mem 10G --seconds 60", "a foreign process on simulated GPU 2"),
    ),
)


def run(args: Args) -> int:
    """Run the node program's simulation in the directory of the simulated GPUs."""
    from roost.node.commands.sim_job import run as simulate

    if args.gpu is not None and "ROOST_SIM_DIR" not in os.environ:
        os.environ["ROOST_SIM_DIR"] = sim_directory()
    return simulate(list(args.argv))
