"""roost sim-job: a program that uses memory of a simulated GPU, inside a job or beside Roost as a foreign process."""

import os

from roost.cli.parse.options import ONE, Args, Option, Verb
from roost.cli.verbs.sim.sim_gpu import sim_directory

VERB = Verb(
    "sim-job",
    "use a simulated GPU: memory, load, out of memory, exit codes",
    options=(
        Option("--mem", "memory to take on each GPU (default 1G)", ONE, "SIZE"),
        Option("--seconds", "how long, in seconds (default 5)", ONE, "N"),
        Option("--util", "how busy the GPU looks, in percent (default 80)", ONE, "PERCENT"),
        Option("--oom", "run out of memory, as CUDA does"),
        Option("--exit", "exit with this code at the end", ONE, "CODE"),
        Option("--gpu", "outside a job: on this simulated GPU, as a foreign process", ONE, "INDEX"),
    ),
    examples=(
        ("roost run roost sim-job --mem 6G --seconds 5 --util 80", "6 GiB of the card that it was given"),
        ("roost run roost sim-job --mem 6G --oom", "out of memory"),
        ("roost sim-job --gpu 2 --mem 10G --seconds 60", "a foreign process on simulated GPU 2"),
    ),
)


def run(args: Args) -> int:
    """Have the node's own program do it, with the directory in which the simulated cards live."""
    from roost.node.commands.sim_job import run as simulate

    if args.gpu is not None and "ROOST_SIM_DIR" not in os.environ:
        os.environ["ROOST_SIM_DIR"] = sim_directory()
    return simulate(list(args.argv))
