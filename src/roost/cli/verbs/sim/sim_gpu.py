"""roost sim-gpu: break a simulated GPU, or mend it, to see what happens."""

import os

from roost.cli.parse.options import ONE, Args, Operand, Option, UsageError, Verb
from roost.cli.runtime.connect import server
from roost.client.errors import RoostError

VERB = Verb(
    "sim-gpu",
    "break a simulated GPU, or mend it",
    operands=(Operand("gpu", "1", "GPU", "its index"),),
    options=(
        Option("--fault", "it reports this fault", ONE, "TEXT"),
        Option("--hang", "its driver does not answer"),
        Option("--ok", "it is well again"),
    ),
    examples=(
        ('roost sim-gpu 2 --fault "ECC error"', "it is set aside, the others go on"),
        ("roost sim-gpu 2 --ok", "it is used again"),
    ),
)


def run(args: Args) -> int:
    """Write or remove the files that the simulated driver looks at."""
    if not args.gpu.isdecimal():
        raise UsageError(f"{args.gpu}: the index of a simulated GPU is meant, like 2")
    if sum((args.fault is not None, bool(args.hang), bool(args.ok))) != 1:
        raise UsageError("one of --fault TEXT, --hang and --ok is meant")
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
    state = f"fault: {args.fault}" if args.fault is not None else "hangs" if args.hang else "is well"
    print(f"simulated GPU {args.gpu} {state}")
    return 0


def sim_directory() -> str:
    """Where the simulated GPUs live, as the job or the server says. Raises when the GPUs are real."""
    inside = os.environ.get("ROOST_SIM_DIR")
    if inside:
        return inside
    for node in server().status().get("nodes") or []:
        if node.get("sim_dir"):
            return str(node["sim_dir"])
    raise RoostError("there are no simulated GPUs here", "roost down; roost up --sim 4x24G --detach")


def _check(index: int) -> None:
    total = (server().status().get("gpus") or {}).get("total")
    if total is not None and index >= total:
        raise UsageError(f"there is no simulated GPU {index}", "roost gpus")


def _write(path: str, text: str) -> None:
    # Renamed into place: whoever looks sees all of it or nothing.
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.rename(path + ".new", path)
