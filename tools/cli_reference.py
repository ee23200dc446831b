"""Write docs/reference/cli.md from the tables of the verbs, or check that it is up to date.

python tools/cli_reference.py           write
python tools/cli_reference.py --check   exit 1 when the file differs
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from roost.cli.parse.help_text import usage  # noqa: E402
from roost.cli.parse.options import FLAG, Option, Verb  # noqa: E402
from roost.cli.parse.verb_table import ALIASES, GROUPS, load  # noqa: E402

TARGET = ROOT / "docs" / "reference" / "cli.md"
HEAD = """\
# The command line

Made by `tools/cli_reference.py` from the tables that parse the command line; do not edit.

Data goes to standard output, words to standard error. `--json` prints versioned JSON. No colour in a pipe;
`NO_COLOR` is kept.

Jobs are named by `12`, `10-20`, `12,15`, `@` (your last), `@~2` (the one two before it), `all`, and by `--label`,
`--state`, `--user`. Times are `90s`, `30m`, `2h`, `1d`, `2h30m` or `1-02:00:00`; a bare number is minutes, and is said
back in words. Sizes are `8G`, `800M`.

A command of several words is run exactly as it stands, without a shell. One word is a shell line. A file whose first
comments hold `#ROOST` lines is a script: those lines are options, `#SBATCH` lines are understood where they mean
something here, and what the command line says wins.

    #!/bin/bash
    #ROOST -g 2 --time 4h --name train
    source venv/bin/activate
    python train.py "$@"

`submit --from FILE` takes a job a line: options, then the command; or a JSON object with the keys of the API. Blank
lines and `#` lines are skipped, options on the command line hold for every line, and nothing is queued unless every
line makes sense. A command without shell characters is an argv, everything else a shell line.

    # jobs.txt
    -g 1 --name small python train.py --width 64
    -g 2 --name large source venv/bin/activate && python train.py --width 512
    {"command": ["python", "eval.py"], "gpus": 1, "after": [12]}

| exit code | |
|---|---|
| the job's own | `run` and `wait`; 128+n when it ended by signal n |
| 0 | done |
| 1 | the state of a job does not allow it |
| 2 | usage, no such job, a request that can never run, or more jobs than may wait |
| 69 | no server can be reached |
| 70 | a bug |
| 75 | try later: the server is shutting down, or the disk is full |
| 77 | not permitted |
| 124 | timed out |
| 125 | the job could not be launched |
| 130 | interrupted |

| variable | |
|---|---|
| `ROOST_HOME` | all state of a server in this directory |
| `ROOST_CLAIMS` | the directory of GPU claims, one for all Roosts of the machine (`docs/explanation/claims.md`) |
| `ROOST_SERVER` | talk to this server: `https://host:port`, `http://host:port` or the path of a socket |
| `ROOST_CA_FILE` | trust the certificates in this file, not the system's, for `https://` |
| `ROOST_AUTOSTART` | `0`: `run` and `submit` do not start a server |
| `ROOST_DEBUG` | `1`: a traceback with every error |
"""


def main() -> int:
    """Write the file, or compare it."""
    text = reference()
    if "--check" in sys.argv[1:]:
        if TARGET.exists() and TARGET.read_text(encoding="utf-8") == text:
            return 0
        print(f"{TARGET.relative_to(ROOT)} is out of date: python tools/cli_reference.py", file=sys.stderr)
        return 1
    TARGET.write_text(text, encoding="utf-8")
    return 0


def reference() -> str:
    """The whole page."""
    parts = [HEAD]
    for title, names in GROUPS:
        parts.append(f"## {title[0].upper()}{title[1:]}\n")
        parts.extend(section(load(name).VERB) for name in names)
    return "\n".join(parts)


def section(verb: Verb) -> str:
    """One verb."""
    lines = [f"### roost {verb.name}", "", f"{verb.summary[0].upper()}{verb.summary[1:]}.", ""]
    if verb.about:
        lines += [*verb.about.split("\n"), ""]
    also = [name for name, meant in ALIASES.items() if meant == verb.name and not name.startswith("-")]
    if also:
        lines += [f"Also: {', '.join(f'`roost {name}`' for name in also)}.", ""]
    lines += ["```", usage(verb), "```", ""]
    rows = [(f"`{operand.metavar}`", operand.help) for operand in verb.operands]
    rows += [(spelling(option), option.help) for option in verb.options]
    if rows:
        lines += ["| | |", "|---|---|", *(f"| {left} | {cell(right)} |" for left, right in rows), ""]
    if verb.examples:
        lines += ["```", *example_lines(verb), "```", ""]
    return "\n".join(lines)


def spelling(option: Option) -> str:
    """`-g N`, `--gpus N`."""
    value = "" if option.kind is FLAG else f" {option.metavar}"
    return ", ".join(f"`{name}{value}`".replace("|", "\\|") for name in option.names)


def cell(text: str) -> str:
    """A text that may stand in a table."""
    return text.replace("|", "\\|")


def example_lines(verb: Verb) -> list[str]:
    """Examples with what they do."""
    widest = max(len(command) for command, _ in verb.examples)
    return [f"{command:<{widest}}  # {meaning}" if meaning else command for command, meaning in verb.examples]


if __name__ == "__main__":
    sys.exit(main())
