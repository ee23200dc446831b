"""roost submit: queue a job and print its id. It must be fast, so it imports little."""

import os
import sys

from roost.cli.parse import job_options, values
from roost.cli.parse.options import COMMAND, JSON, ONE, Args, Json, Operand, Option, UsageError, Verb, parse
from roost.cli.runtime.connect import reach
from roost.cli.text.output import announce, note_of
from roost.client import jsontext
from roost.client.client import Roost, new_key
from roost.client.errors import ApiError

_OF_A_SHELL = frozenset(" \t\n|&;<>()$`\\\"'*?[]#~=%{}!")
_INSTEAD = {"gpus": "gpu_id", "append": "overwrite", "error": "merge"}
"""Of `#SBATCH` and what it says otherwise with `#ROOST`."""
OPERAND = Operand(
    "command", COMMAND, "COMMAND", "several words: run as they are; one word: a shell command or a script file"
)
VERB = Verb(
    "submit",
    "queue a job and print its id",
    operands=(OPERAND,),
    options=(
        *job_options.JOB_OPTIONS,
        Option("--from", "submit many jobs: on each line options and a command, or JSON; - is stdin", ONE, "FILE",
               dest="from_file"),
        Option("-n --dry-run", "print what would happen; submit nothing"),
        Option("-q --quiet", "print only the id"),
        JSON,
    ),
    examples=(
        ("roost submit python train.py --lr 0.1", "one GPU, now or when one is free"),
        ("roost submit -g 2 --mem 8G --time 2h python train.py", "two shared GPUs, at most two hours"),
        ("roost submit 'source venv/bin/activate && python t.py'", "one word: a shell command"),
        ("roost submit --after @ --name eval python eval.py", "start after your last job succeeded"),
        ("roost submit job.sh --seed 3", "a script whose #ROOST (or #SBATCH) lines are options"),
        ("roost submit --from jobs.txt", "a job on each line: -g 1 python train.py --seed 7"),
    ),
    about="Put options before the command; everything after it belongs to the command.",
)  # fmt: skip


def run(args: Args) -> int:
    """Submit the job or jobs."""
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
        raise UsageError("cli.submit_command", name=verb.name)
    spec: Json = {}
    script = _script(command[0])
    if script is None:
        # One word without shell syntax is a program, so the server can check that it exists.
        is_program = len(command) > 1 or not any(c in _OF_A_SHELL for c in command[0])
        spec["command"] = command if is_program else command[0]
        if len(command) == 1 and not command[0].strip():
            raise UsageError("cli.empty_command")
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
    """The spec with job ids instead of `10-20` and `@`."""
    for key in ("after", "after_any", "after_fail"):
        if key in spec and any(isinstance(item, str) for item in spec[key]):
            spec[key] = _numbers(spec[key], roost)
    return spec


def _numbers(items: list[str], roost: Roost) -> list[int]:
    if all(item[0].isdecimal() for item in items):
        return values.expand(items)
    return [job["id"] for item in items for job in roost.all_jobs(item)]


def _script(path: str) -> str | None:
    """The text of a script with directives; None if the first word of the command is not such a file."""
    if not os.path.isfile(path):
        return None
    from roost.cli.parse.scripts import read_script

    return read_script(path)


def _with_directives(verb: Verb, args: Args, script: str, path: str) -> Args:
    from roost.cli.parse.scripts import directives

    asked = directives(script, path)
    if asked.ignored:
        announce("cli.sbatch_ignored", path=path, ignored=", ".join(asked.ignored))
    try:
        below, slurm = parse(verb, asked.own), parse(verb, asked.slurm)
    except UsageError as error:
        raise UsageError(f"{path}: {error.message}", error.hint) from None
    for name in slurm.__dict__:
        if slurm.given(name) and not below.given(name) and not below.given(_INSTEAD.get(name, name)):
            below.__dict__[name] = slurm.__dict__[name]
    if below.command or below.given("from_file"):
        raise UsageError("cli.script_options", path=path)
    return parse(verb, args.argv, below)


def _submit_many(args: Args) -> int:
    from roost.cli.parse.bulk import LINE_OPTIONS, BulkReader

    if args.command:
        raise UsageError("cli.from_and_command")
    text, name = read_text(args.from_file)
    common = {"cwd": job_options.current_directory(), "umask": job_options.current_umask()}
    bulk = BulkReader(LINE_OPTIONS, args, common, os.environ).read(text, name)
    _say_back(args, bulk.strange)
    if not bulk.jobs:
        raise UsageError("cli.file_without_jobs", name=name)
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
    """The text of a file, or of stdin for `-`, and its name in messages."""
    name = "stdin" if path == "-" else path
    try:
        if path == "-":
            data = sys.stdin.buffer.read()
        else:
            with open(path, "rb") as file:
                data = file.read()
    except OSError as error:
        raise UsageError("cli.cannot_read", name=name, strerror=error) from None
    try:
        return data.decode("utf-8-sig"), name
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError("cli.line_utf8", name=name, line=line) from None


def _dry_run(args: Args, jobs: list[Json], envs: "list[dict[str, str]]", lines: list[int] | None) -> int:
    answers = reach(lambda roost: roost.dry_run(_all_resolved(jobs, roost), envs))
    if args.json:
        print(jsontext.dumps({"version": 1, "jobs": answers}))
        return 0
    from roost.messages.terminal import say

    for position, answer in enumerate(answers):
        print(say("shown.at_line", line=lines[position], text=_would(answer)) if lines else _would(answer))
        if not lines:
            _print_further(answer)
    return 0


def _would(answer: Json) -> str:
    from roost.messages.terminal import say

    if answer["would"] == "start":
        gpus = answer.get("gpus") or []
        if not gpus:
            return say("shown.would_start_cpu")
        code = "shown.would_start_gpu_of" if answer.get("node") else "shown.would_start_gpu"
        return say(code, gpus=",".join(map(str, gpus)), node=answer.get("node"))
    reasons = answer.get("reasons") or []
    return say("shown.would_wait_for", why=reasons[0]["text"]) if reasons else say("shown.would_wait")


def _print_further(answer: Json) -> None:
    """Print the other reasons and the estimate."""
    from roost.cli.text.estimate_text import estimate_lines
    from roost.cli.text.job_text import utc_now
    from roost.cli.text.output import screen, write
    from roost.cli.verbs.jobs.why import reason_lines

    shown = screen()
    write([*reason_lines((answer.get("reasons") or [])[1:], shown), *estimate_lines(answer, utc_now(), shown)])


def _print_ids(args: Args, roost: Roost, ids: list[int]) -> int:
    out = sys.stdout
    if args.json:
        print(jsontext.dumps({"version": 1, "id": ids[0], "ids": ids}))
    elif args.quiet or not out.isatty():
        out.write("\n".join(map(str, ids)) + "\n")
    elif len(ids) == 1:
        print(ids[0])
        note_of("shown.follow", job=ids[0])
    else:
        print(values.compress(ids))
        note_of("shown.queued", n=len(ids))
    if roost.notice is not None and not (args.quiet or args.json):
        from roost.cli.text.output import tell_notice

        tell_notice(roost.notice)
    return 0


def _say_back(args: Args, strange: list[str]) -> None:
    """Print how numbers without units were interpreted, and which variables were dropped."""
    for line in job_options.minutes_said_back(args):
        print("roost:", line, file=sys.stderr)
    if strange:
        announce("cli.strange_variables", ascii=", ".join(map(ascii, strange)))
