"""Draw docs/pictures/cli.svg: the command line at work, from what it really prints.

Starts a server with simulated GPUs in a directory of its own, types the commands of `SCENE` in a terminal, and draws
what came. Nothing of the picture is made up; the jobs are a stand-in for training that uses simulated memory.

python tools/picture.py [FILE]
"""

import contextlib
import fcntl
import json
import os
import pty
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "pictures" / "cli.svg"
WIDTH = 92
BEFORE = (
    "roost submit -q --name resnet -g 2 python train.py --lr 0.1",
    "roost submit -q --name probe-a --mem 8G python probe.py --seed 1",
    "roost submit -q --name probe-b --mem 8G python probe.py --seed 2",
    "roost submit -q --name typo pyhton eval.py",
    "roost wait -q 4",
    "roost submit -q --name eval --after 1 python eval.py",
)
SCENE = (
    "roost submit -g 2 --name vit python train.py --lr 0.3",
    "roost gpus",
    "roost ls",
    "roost why @",
)
PROGRAM = """\
import sys
from roost.node.commands.sim_job import run
name = sys.argv[0]
memory = {"train.py": "19G", "probe.py": "6G", "notebook.py": "11G"}.get(name, "2G")
sys.exit(run(["--mem", memory, "--seconds", "120", "--util", "47", *(["--gpu", "3"] if name == "notebook.py" else [])]))
"""
COLOURS = [(224, 108, 117), (152, 195, 121), (229, 192, 123), (97, 175, 239), (198, 120, 221), (86, 182, 194)]
THEME = TerminalTheme(
    (27, 31, 38),
    (208, 213, 221),
    [(27, 31, 38), *COLOURS, (208, 213, 221)],
    [(108, 117, 130), *COLOURS, (255, 255, 255)],
)
# rich's own frame fetches a font from elsewhere; this one takes what there is.
FRAME = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>roost at work: submit, gpus, ls, why</title>
<style>
.{unique_id}-matrix {{
  font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px;
}}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="100%"/></clipPath>
{lines}
</defs>
<rect fill="#1b1f26" x="-13" y="1" width="{width}" height="{height}" rx="10"/>
<g transform="translate({terminal_x}, 16)" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix" xml:space="preserve">
{matrix}
</g>
</g>
</svg>
"""


def main(argv: list[str]) -> int:
    """Play the scene and write the picture."""
    work = Path(tempfile.mkdtemp(prefix="roost-picture-", dir="/tmp"))
    for name in ("train.py", "probe.py", "eval.py", "notebook.py"):
        (work / name).write_text(PROGRAM)
    env = {key: value for key, value in os.environ.items() if not key.startswith("ROOST_") and key != "NO_COLOR"}
    env |= {
        "ROOST_HOME": str(work / "home"),
        "PATH": f"{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}",
        "TERM": "xterm-256color",
        "LC_ALL": "C.UTF-8",
        "PYTHONPATH": str(ROOT / "src"),
    }
    foreign = None
    try:
        typed("roost up --sim 4x24G --detach", env, work)
        for line in BEFORE:
            typed(line, env, work)
        foreign = stranger(env, work)
        shots = [(line, typed(line, env, work)) for line in SCENE]
    finally:
        if foreign is not None:
            foreign.kill()
            foreign.wait()
        subprocess.run(["roost", "down", "--kill"], env=env, capture_output=True)
        shutil.rmtree(work, ignore_errors=True)
    target = Path(argv[0]) if argv else TARGET
    target.write_text(draw(shots), encoding="utf-8")
    return 0


def stranger(env: dict[str, str], work: Path) -> "subprocess.Popen[bytes]":
    """A process on GPU 3 that is no job; returns when the server has seen it."""
    status = json.loads(subprocess.run(["roost", "status", "--json"], env=env, capture_output=True).stdout)
    place = status["nodes"][0]["sim_dir"]
    outside = env | {"ROOST_SIM_DIR": place}
    process = subprocess.Popen(["python", "notebook.py"], env=outside, cwd=work, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        gpus = json.loads(subprocess.run(["roost", "gpus", "--json"], env=env, capture_output=True).stdout)["gpus"]
        if gpus[3]["state"] == "foreign" and all(gpu["mem_used_mib"] for gpu in gpus):
            return process
        time.sleep(0.1)
    raise SystemExit("the GPUs did not come to look as they must")


def typed(line: str, env: dict[str, str], cwd: Path) -> str:
    """What the command prints into a terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 50, WIDTH, 0, 0))
    child = subprocess.Popen(shlex.split(line), env=env, cwd=cwd, stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True)
    os.close(theirs)
    said = b""
    with contextlib.suppress(OSError):  # the end of a terminal is an error
        while piece := os.read(ours, 65536):
            said += piece
    os.close(ours)
    child.wait()
    return said.decode().replace("\r\n", "\n").rstrip("\n")


def draw(shots: list[tuple[str, str]]) -> str:
    """The commands and what they printed, as SVG."""
    with open(os.devnull, "w") as nowhere:
        console = Console(record=True, width=WIDTH, file=nowhere, force_terminal=True, color_system="truecolor")
        for at, (line, said) in enumerate(shots):
            if at:
                console.print()
            console.print(Text.assemble(("$ ", "bright_black"), (line, "bold")))
            console.print(Text.from_ansi(said), soft_wrap=True)
        drawn = console.export_svg(theme=THEME, code_format=FRAME, unique_id="roost", font_aspect_ratio=0.602)
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', drawn)
    assert size is not None
    width, height = float(size[1]) + 28, float(size[2]) - 8  # wider margins, and no title bar on top
    drawn = drawn.replace(size[0], f'viewBox="-14 0 {width:.1f} {height:.1f}"')
    return drawn.replace(f'width="{size[1]}" height="{size[2]}" rx', f'width="{width - 2:.1f}" height="{height - 2:.1f}" rx')


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
