"""roost submit: queue a job and print its id. The quick verb: imports as little as it can."""

import os
import sys

from roost.cli.parse import job_options, values
from roost.cli.parse.options import COMMAND, JSON, ONE, Args, Json, Operand, Option, UsageError, Verb, option_table, parse
from roost.cli.runtime.connect import reach
from roost.client import jsontext
from roost.client.client import Roost, new_key
from roost.client.errors import ApiError

_OF_A_SHELL = frozenset(" \t\n|&;<>()$`\\\"'*?[]#~=%{}!")
OPERAND = Operand(
    "command", COMMAND, "COMMAND", "several words are run as they stand; one word is a shell line, or a script file"
)
VERB = Verb(
    "submit",
    "queue a job, print its id",
    operands=(OPERAND,),
    options=(
        *job_options.JOB_OPTIONS,
        Option("--from", "many jobs: a line each, options and then the command, or JSON; - is stdin", ONE, "FILE",
               dest="from_file"),
        Option("-n --dry-run", "say what would happen, queue nothing"),
        Option("-q --quiet", "print nothing but the id"),
        JSON,
    ),
    examples=(
        ("roost submit python train.py --lr 0.1", "one GPU, now or when one is free"),
        ("roost submit -g 2 --mem 8G --time 2h python train.py", "two GPUs shared with others, two hours at most"),
        ("roost submit 'source venv/bin/activate && python t.py'", "one word: a shell line"),
        ("roost submit --after @ --name eval python eval.py", "after your last job succeeded"),
        ("roost submit job.sh --seed 3", "a script whose #ROOST (or #SBATCH) lines are options"),
        ("roost submit --from jobs.txt", "a job a line: -g 1 python train.py --seed 7"),
    ),
    about="Options stand before the command; what follows it belongs to it.",
)  # fmt: skip


def run(args: Args) -> int:
    """Queue what was asked for."""
    if args.from_file is not None:
        return _submit_many(args)
    args, spec = job_of(VERB, args)
    if args.dry_run:
        return _dry_run(args, [spec], [], None)
    key = new_key()
    roost, ids = reach(lambda found: (found, found.submit_many([resolved(spec, found)], key=key)))
    return _print_ids(args, roost, ids)


def job_of(verb: Verb, args: Args) -> "tuple[Args, Json]":
    """The job that the command line describes, script directives included."""
    command = args.command
    if not command:
        raise UsageError("the command is missing", f"roost {verb.name} python train.py; more: roost {verb.name} --help")
    spec: Json = {}
    script = _script(command[0])
    if script is None:
        # One word with nothing of a shell in it is a program: when it is not there, that is said before it runs.
        is_program = len(command) > 1 or not any(c in _OF_A_SHELL for c in command[0])
        spec["command"] = command if is_program else command[0]
        if len(command) == 1 and not command[0].strip():
            raise UsageError("the command is empty")
    else:
        args = _with_directives(verb, args, script, command[0])
        spec.update(command=command, script=script)
    spec.update(job_options.spec_of(args))
    if "cwd" not in spec:
        spec["cwd"] = job_options.current_directory()
    spec["umask"] = job_options.current_umask()
    job_options.check_text(spec)
    spec["env"], strange = job_options.environment(args.export, args.env or (), os.environ)
    _say_back(args, strange)
    return args, spec


def resolved(spec: Json, roost: Roost) -> Json:
    """The spec with ids in place of `10-20` and `@`."""
    for key in ("after", "after_any", "after_fail"):
        if key in spec and any(isinstance(item, str) for item in spec[key]):
            spec[key] = _numbers(spec[key], roost)
    return spec


def _numbers(items: list[str], roost: Roost) -> list[int]:
    if all(item[0].isdecimal() for item in items):
        return values.expand(items)
    return [job["id"] for item in items for job in roost.all_jobs(item)]


def _script(path: str) -> str | None:
    """The text of a script with directives; None when the first word of a command is no such file."""
    if not os.path.isfile(path):
        return None
    from roost.cli.parse.scripts import read_script

    return read_script(path)


def _with_directives(verb: Verb, args: Args, script: str, path: str) -> Args:
    from roost.cli.parse.scripts import directives

    words, ignored = directives(script, path)
    if ignored:
        print(f"roost: {path}: ignored #SBATCH {', '.join(ignored)}", file=sys.stderr)
    try:
        below = parse(verb, words)
    except UsageError as error:
        raise UsageError(f"{path}: {error.message}", error.hint) from None
    if below.command or below.given("from_file"):
        raise UsageError(f"{path}: a #ROOST line holds options only")
    return parse(verb, args.argv, below)


def _submit_many(args: Args) -> int:
    from roost.cli.parse.bulk import BulkReader

    if args.command:
        raise UsageError("--from takes the commands from the file, not from the command line")
    text, name = read_text(args.from_file)
    common = {"cwd": job_options.current_directory(), "umask": job_options.current_umask()}
    bulk = BulkReader(option_table(_LINE_VERB), args, common, os.environ).read(text, name)
    _say_back(args, bulk.strange)
    if not bulk.jobs:
        raise UsageError(f"{name}: no jobs in it")
    key = new_key()
    try:
        if args.dry_run:
            return _dry_run(args, bulk.jobs, bulk.envs, bulk.lines)
        roost, ids = reach(lambda found: (found, found.submit_many(_all_resolved(bulk.jobs, found), bulk.envs, key)))
    except ApiError as error:
        if error.index is not None and error.index < len(bulk.lines):
            error.message = f"{name}:{bulk.lines[error.index]}: {error.message}"
        raise
    return _print_ids(args, roost, ids)


def _all_resolved(jobs: list[Json], roost: Roost) -> list[Json]:
    if any("after" in key for job in jobs for key in job):
        return [resolved(job, roost) for job in jobs]
    return jobs


def read_text(path: str) -> tuple[str, str]:
    """The text of a file, or of stdin for `-`, and what to call it."""
    name = "stdin" if path == "-" else path
    try:
        if path == "-":
            data = sys.stdin.buffer.read()
        else:
            with open(path, "rb") as file:
                data = file.read()
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}") from None
    try:
        return data.decode("utf-8-sig"), name
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{name}:{line}: not UTF-8") from None


def _dry_run(args: Args, jobs: list[Json], envs: "list[dict[str, str]]", lines: list[int] | None) -> int:
    answers = reach(lambda roost: roost.dry_run(_all_resolved(jobs, roost), envs))
    if args.json:
        print(jsontext.dumps({"version": 1, "jobs": answers}))
        return 0
    for position, answer in enumerate(answers):
        where = f"line {lines[position]}: " if lines else ""
        print(where + _would(answer))
        if not lines:
            _print_further(answer)
    return 0


def _would(answer: Json) -> str:
    if answer["would"] == "start":
        gpus = answer.get("gpus") or []
        if not gpus:
            return "would start now on a CPU slot"
        return f"would start now on GPU {','.join(map(str, gpus))}" + (f" of {answer['node']}" if answer.get("node") else "")
    reasons = answer.get("reasons") or []
    return "would wait" + (f": {reasons[0]['text']}" if reasons else "")


def _print_further(answer: Json) -> None:
    """The other reasons, a line each, and what is foreseen."""
    from roost.cli.text.estimate_text import foreseen_lines
    from roost.cli.text.job_text import utc_now
    from roost.cli.text.output import screen, write
    from roost.cli.verbs.jobs.why import reason_lines

    shown = screen()
    write([*reason_lines((answer.get("reasons") or [])[1:], shown), *foreseen_lines(answer, utc_now(), shown)])


def _print_ids(args: Args, roost: Roost, ids: list[int]) -> int:
    out = sys.stdout
    if args.json:
        print(jsontext.dumps({"version": 1, "id": ids[0], "ids": ids}))
    elif args.quiet or not out.isatty():
        out.write("\n".join(map(str, ids)) + "\n")
    elif len(ids) == 1:
        print(ids[0])
        print(f"follow it: roost log -f {ids[0]}", file=sys.stderr)
    else:
        print(values.compress(ids))
        print(f"{len(ids):,} jobs queued; look: roost ls", file=sys.stderr)
    if roost.notice is not None and not (args.quiet or args.json):
        from roost.cli.text.output import tell_notice

        tell_notice(roost.notice)
    return 0


def _say_back(args: Args, strange: list[str]) -> None:
    """What a bare number was taken for, and which variables were left out."""
    for line in job_options.minutes_said_back(args):
        print("roost:", line, file=sys.stderr)
    if strange:
        print(f"roost: left out of the environment, not UTF-8: {', '.join(map(ascii, strange))}", file=sys.stderr)


_LINE_VERB = Verb("submit", "", options=job_options.JOB_OPTIONS)
