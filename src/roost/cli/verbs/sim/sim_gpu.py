"""roost sim-gpu: make a simulated GPU fail, or repair it."""

import os

from roost.cli.parse.options import ONE, Args, Operand, Option, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.client.errors import RoostError
from roost.messages.terminal import say

VERB = Verb(
    "sim-gpu",
    "make a simulated GPU fail, or repair it",
    operands=(Operand("gpu", "1", "GPU", "its index"),),
    options=(
        Option("--fault", "the GPU reports this fault", ONE, "TEXT"),
        Option("--hang", "the driver does not answer"),
        Option("--ok", "repair the GPU"),
    ),
    examples=(
        ('roost sim-gpu 2 --fault "ECC error"', "this GPU is not used; the others are not affected"),
        ("roost sim-gpu 2 --ok", "the GPU is used again"),
    ),
)


def run(args: Args) -> int:
    """Write or remove the files that the simulated driver reads."""
    if not args.gpu.isdecimal():
        raise UsageError("cli.simulated_index", gpu=args.gpu)
    if sum((args.fault is not None, bool(args.hang), bool(args.ok))) != 1:
        raise UsageError("cli.fault_hang_ok")
    directory = sim_directory()
    if "ROOST_SIM_DIR" not in os.environ:
        _check(int(args.gpu))
    fault, hang = f"{directory}/fault-{args.gpu}", f"{directory}/hang-{args.gpu}"
    if args.fault is not None:
        _write(fault, args.fault)
    elif args.hang:
        _write(hang, "")
    else:
        for path in (fault, hang):
            if os.path.exists(path):
                os.unlink(path)
    code = "shown.sim_fault" if args.fault is not None else "shown.sim_hang" if args.hang else "shown.sim_ok"
    print(say(code, gpu=args.gpu, fault=args.fault))
    return 0


def sim_directory() -> str:
    """The directory of the simulated GPUs, from the job or the server. Raises if the GPUs are real."""
    inside = os.environ.get("ROOST_SIM_DIR")
    if inside:
        return inside
    for node in server().status().get("nodes") or []:
        if node.get("sim_dir"):
            return str(node["sim_dir"])
    raise RoostError("cli.no_simulated")


def _check(index: int) -> None:
    total = (server().status().get("gpus") or {}).get("total")
    if total is not None and index >= total:
        raise UsageError("cli.no_such_simulated", index=index)


def _write(path: str, text: str) -> None:
    # Renamed into place, so readers see a complete file or none.
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.rename(path + ".new", path)
