"""A GPU as text: its row, and the processes on it. Pure: values in, text out."""

from roost.cli.parse.options import Json
from roost.cli.parse.values import size
from roost.cli.text.output import Cell, Column, Screen, bar, clean, cut, table
from roost.messages.terminal import say

_COLUMNS = (
    Column("GPU"),
    Column("MODEL", most=18, least=8),
    Column("STATE", most=11),
    Column("MEMORY"),
    Column("UTIL", right=True),
    Column("TEMP", right=True),
    Column("POWER", right=True),
    Column("JOBS"),
)
_NAME = 30
_INTERPRETERS = ("python", "bash", "sh", "dash", "zsh", "perl", "ruby", "node", "julia", "Rscript")
_COLOURS = {"free": "green", "used": "", "foreign": "yellow", "claimed": "yellow", "drained": "yellow", "disabled": "dim"}


def rows(gpus: list[Json], shown: Screen) -> list[str]:
    """The title, and a row for each GPU."""
    return table(_COLUMNS, [_row(gpu) for gpu in gpus], shown)


def below(gpu: Json, shown: Screen) -> list[str]:
    """The jobs and processes on a GPU, cut to the width of the screen."""
    return [cut(line, shown.width) for line in _below(gpu)]


def _row(gpu: Json) -> "tuple[str | Cell, ...]":
    used, total = gpu.get("mem_used_mib"), gpu.get("mem_mib") or 0
    seen = 0 if _gib(used) == "0.0" else used or 0  # the driver itself uses a few MiB
    memory = f"{bar(seen, _kept(gpu), total)} {_gib(used)}/{_gib(total)}G"
    name = str(gpu["index"])
    if gpu.get("alias"):
        name += f" {gpu['alias']}"
    return (
        name,
        clean(gpu.get("model") or "").removeprefix("NVIDIA ").removeprefix("GeForce "),
        Cell(str(gpu["state"]), _COLOURS.get(str(gpu["state"]), "red")),
        memory,
        _number(gpu.get("util"), "%"),
        _number(gpu.get("temp_c"), "C"),
        _number(gpu.get("power_w"), "W"),
        ", ".join(str(job["id"]) for job in gpu.get("jobs") or []) or "-",
    )


def _kept(gpu: Json) -> int:
    """MiB that are reserved for its jobs and not used yet."""
    taken = _taken(gpu)
    return sum(max((job.get("mem_mib") or 0) - taken.get(job["id"], 0), 0) for job in gpu.get("jobs") or [])


def _taken(gpu: Json) -> dict[int, int]:
    """MiB that each of its jobs uses."""
    taken: dict[int, int] = {}
    for proc in gpu.get("procs") or []:
        taken[proc.get("job") or 0] = taken.get(proc.get("job") or 0, 0) + (proc.get("mem_mib") or 0)
    return taken


def _outgrown(gpu: Json) -> dict[int, str]:
    """A note for each job that uses more memory than it requested."""
    taken = _taken(gpu)
    asked = {job["id"]: job.get("mem_mib") or 0 for job in gpu.get("jobs") or []}
    return {
        job: "  " + say("shown.mem_requested", size=size(mem)) for job, mem in asked.items() if 0 < mem < taken.get(job, 0)
    }


def _below(gpu: Json) -> list[str]:
    found = []
    procs = gpu.get("procs") or []
    if gpu.get("reason") and not (gpu["state"] == "foreign" and procs):  # the list of processes shows it
        found.append(f"     {clean(gpu['reason'])}")
    outgrown = _outgrown(gpu)
    shown_jobs = {proc.get("job") for proc in procs}
    for job in gpu.get("jobs") or []:
        if job["id"] not in shown_jobs:
            memory = "  " + say("shown.reserved", size=size(job["mem_mib"])) if job.get("mem_mib") else ""
            name = cut(clean(job.get("name") or "").strip(), _NAME)
            found.append(f"     {say('shown.job', job=job['id'])}  {clean(job.get('user') or '?')}{memory}  {name}".rstrip())
    for proc in procs:
        whose = say("shown.job", job=proc["job"]) if proc.get("job") else say("shown.foreign")
        memory = size(proc["mem_mib"]) if proc.get("mem_mib") is not None else "?"
        memory += outgrown.get(proc.get("job") or 0, "")
        found.append(
            f"     {whose}  pid {proc['pid']}  {clean(proc.get('user') or '?')}  {memory}"
            f"  {short_command(clean(proc.get('command') or ''))}".rstrip()
        )
    return found


def short_command(command: str) -> str:
    """A command line without the directory of its program and, for an interpreter, of its script."""
    words = command.split(" ")
    words[0] = _base(words[0])
    if len(words) > 1 and words[0].rstrip("0123456789.") in _INTERPRETERS:
        words[1] = _base(words[1])
    return " ".join(words)


def _base(path: str) -> str:
    return (path.rpartition("/")[2] or path) if path.startswith("/") else path


def _gib(mib: float | None) -> str:
    return "?" if mib is None else f"{mib / 1024:.1f}"


def _number(value: object, unit: str) -> str:
    return "-" if value is None else f"{value:.0f}{unit}" if isinstance(value, float) else f"{value}{unit}"
