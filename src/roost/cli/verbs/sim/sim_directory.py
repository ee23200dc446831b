"""Where the simulated GPUs live: a directory of the node, named by the environment of a job or by the server."""

import os

from roost.cli.runtime.connect import server
from roost.client.errors import RoostError


def sim_directory() -> str:
    """That directory. Raises when the GPUs are real."""
    inside = os.environ.get("ROOST_SIM_DIR")
    if inside:
        return inside
    for node in server().status().get("nodes") or []:
        if node.get("sim_dir"):
            return str(node["sim_dir"])
    raise RoostError("there are no simulated GPUs here", "roost down; roost up --sim 4x24G --detach")
