from __future__ import annotations

import gc
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.cli.parse import job_options
from roost.cli.parse.bulk import JOB_KEYS, Bulk, BulkReader, command_of, options_of
from roost.cli.parse.options import UsageError, Verb, option_table, parse
from roost.cli.verbs.jobs import submit
from roost.core.spec import JobSpec

ENVIRON = {"PATH": "/bin", "HOME": "/home/ana", "SECRET": "1"}
LINE = option_table(Verb("submit", "", options=job_options.JOB_OPTIONS))


def read(text: str, *words: str) -> Bulk:
    return BulkReader(LINE, parse(submit.VERB, words), {"cwd": "/work"}, ENVIRON).read(text, "jobs.txt")


def jobs(text: str, *words: str) -> list[dict[str, Any]]:
    return [{key: value for key, value in job.items() if key not in ("cwd", "env")} for job in read(text, *words).jobs]


def test_a_job_a_line_with_comments_and_blank_lines() -> None:
    text = "# first\n\n-g 2 python a.py --lr 0.1\n   \n  python b.py\r\n"
    assert jobs(text) == [{"gpus": 2, "command": ["python", "a.py", "--lr", "0.1"]}, {"command": ["python", "b.py"]}]


def test_lines_are_remembered_for_errors() -> None:
    assert read("# x\n\ntrue\n\ntrue\n").lines == [3, 5]


def test_options_of_the_command_line_are_defaults() -> None:
    assert jobs("-g 3 a b\n-l y a b", "-g", "2", "--mem", "1G", "-l", "x") == [
        {"gpus": 3, "mem_mib": 1024, "labels": ["x"], "command": ["a", "b"]},
        {"gpus": 2, "mem_mib": 1024, "labels": ["x", "y"], "command": ["a", "b"]},
    ]


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("python t.py --lr=0.1", ["python", "t.py", "--lr=0.1"]),
        ("true", ["true"]),
        ("a   b\tc", ["a", "b", "c"]),
        ("source v/bin/activate && python t.py", "source v/bin/activate && python t.py"),
        ("python 'my file.py'  -x", "python 'my file.py'  -x"),
        ("'cd /tmp && ls'", "cd /tmp && ls"),
        ('"cd /tmp && ls"', "cd /tmp && ls"),
        ("'a' 'b'", "'a' 'b'"),
        ("LR=0.1 python t.py", "LR=0.1 python t.py"),
        ("ls *.py", "ls *.py"),
        ("echo $HOME", "echo $HOME"),
        ("python 训练.py", ["python", "训练.py"]),
    ],
)
def test_the_command_is_an_argv_where_no_shell_is_needed(text: str, command: object) -> None:
    assert command_of(text) == command
    assert jobs(f"-g 1 {text}\n") == [{"gpus": 1, "command": command}]


def test_quotes_in_options_and_in_the_command_do_not_disturb_one_another() -> None:
    line = """--name 'my run' --desc "a 'b'" -g 1 -- python -c 'print("it'"'"'s")' > "out file" """
    assert jobs(line) == [
        {
            "name": "my run",
            "desc": "a 'b'",
            "gpus": 1,
            "command": """python -c 'print("it'"'"'s")' > "out file\"""",
        }
    ]


def test_an_open_quote_in_the_command_is_left_to_the_shell() -> None:
    assert jobs("-g 1 echo it's") == [{"gpus": 1, "command": "echo it's"}]


def test_json_lines_mix_with_others() -> None:
    text = '{"command": ["a", "b"], "gpus": 2}\n-g 3 c d\n{"command": "x && y", "env": {"A": "1"}}\n'
    bulk = read(text, "--mem", "1G")
    assert [job["gpus"] for job in bulk.jobs[:2]] == [2, 3]
    assert bulk.jobs[0]["mem_mib"] == 1024
    assert bulk.jobs[0]["env"] == 0
    assert bulk.jobs[2]["env"] == {**ENVIRON, "A": "1"}


def test_one_environment_is_sent_once() -> None:
    bulk = read("a b\n-g 2 a b\n--env X=1 a b\n--env X=1 -g 3 a b\n--export NONE a b\n")
    assert [job["env"] for job in bulk.jobs] == [0, 0, 1, 1, 2]
    assert bulk.envs == [ENVIRON, {**ENVIRON, "X": "1"}, {"HOME": "/home/ana", "PATH": "/bin"}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("true\n-g x true", "jobs.txt:2: --gpus x: must be a whole number"),
        ("true\n\n-g 2\n", "jobs.txt:3: the command is missing"),
        ("--gpuss 2 true", "jobs.txt:1: unknown option --gpuss"),
        ("--name 'open true", "jobs.txt:1: missing closing '"),
        ('{"command": ["a"], "gpu": 1}', "jobs.txt:1: unknown key gpu"),
        ('{"gpus": 1}', "jobs.txt:1: the command is missing"),
        ('{"command": }', "jobs.txt:1: not JSON at character 12"),
        ("--help true", "jobs.txt:1: --help is not allowed in a line"),
        ("a\0b", "jobs.txt:1: contains a NUL byte"),
        ("--from x true", "jobs.txt:1: unknown option --from"),
        ("--append --overwrite true", "jobs.txt:1: --append and --overwrite cannot be used together"),
    ],
)
def test_a_mistake_is_named_with_its_line(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(text)
    assert caught.value.message.startswith(said)


def test_a_job_as_json_may_have_every_key_of_a_job() -> None:
    assert set(JobSpec.__struct_fields__) - {"sweep", "point"} == JOB_KEYS  # those come with a sweep


WORDS = st.lists(st.text(alphabet="abcXYZ019.-_/:,=", min_size=1).filter(lambda w: w[0] not in "-="), min_size=2)


@given(WORDS)
def test_plain_words_come_through_as_they_are(words: list[str]) -> None:
    found = jobs(" ".join(["-g", "1", *words]))[0]["command"]
    assert found == (words if "=" not in words[0] else " ".join(words))


def test_many_lines_cost_as_much_each_as_few() -> None:
    def cost_s(lines: int) -> float:
        text = "".join(f"-g 1 --mem 2G --name run{n} python train.py --seed {n}\n" for n in range(lines))
        gc.collect()
        gc.freeze()  # what other tests left in memory is not searched while this is measured
        began = time.process_time()
        assert len(read(text).jobs) == lines
        took_s = time.process_time() - began
        gc.unfreeze()
        return took_s

    few, many = min(cost_s(500) for _ in range(5)), min(cost_s(10_000) for _ in range(3))
    assert many < 20 * few * 4  # linear reading takes 20 times as long, quadratic 400 times


EVERY_LINE = "\n".join(
    [
        "echo",
        "-g 2 --mem auto echo",
        "--mem 2G -l y echo",
        "--gpu-id 0,1 echo",
        "--merge echo",
        "-e err -p 3 --append echo",
        "-C sub --after 4-6 echo",
        "--without mem,time,labels echo",
        "--node any --gpu-model any --min-gpu-mem any echo",
        '{"command": "echo", "gpus": 3}',
    ]
)


@pytest.mark.parametrize(
    "words",
    [
        "", "-g 3", "--mem 1G -l x", "--mem auto", "--gpu-id 2", "--merge", "-e other --overwrite",
        "--append -t 90 --grace 5s", "--after 1,2 --after-any 3", "--exclusive --hold --preemptible --fill",
        "--node a,b --prefer-node c --gpu-model A100|T4",
        "-C /elsewhere --name n --desc d --owner ana -p -2 --retries 2 --retry-oom 1 --warn 1m --warn-signal USR1 -o out",
        "--notify end,fail --max-util 5 --min-gpu-mem 4G --prefer-gpu 1",
    ],
)  # fmt: skip
def test_a_jobs_keys_as_options_are_the_options_of_the_command_line(words: str) -> None:
    """What a page sends of its form, and what somebody types for the same: the lines become the same jobs."""
    given = parse(submit.VERB, words.split())
    spec = job_options.spec_of(given, "/work")
    typed = [*BulkReader(LINE, given, {"cwd": "/work"}, ENVIRON, "/work").lines(EVERY_LINE)]
    args, rest = options_of({"cwd": "/work", "command": "unused", "env": {"A": "1"}, **spec})
    sent = [*BulkReader(LINE, args, rest, ENVIRON, "/work").lines(EVERY_LINE)]
    numbered = {key for key in ("after", "after_any", "after_fail") if key in spec}

    def plain(job: Any) -> Any:
        return (
            str(job)
            if isinstance(job, UsageError)
            else {k: sorted(map(str, v)) if k in numbered else v for k, v in job.items()}
        )

    assert [(number, plain(job)) for number, job in sent] == [(number, plain(job)) for number, job in typed]


def test_a_directory_of_a_line_is_relative_to_where_the_text_belongs() -> None:
    reader = BulkReader(LINE, parse(submit.VERB, []), {}, {}, "/home/ana")
    found = {number: job for number, job in reader.lines("-C sub echo\n-C /abs echo") if not isinstance(job, UsageError)}
    assert (found[1]["cwd"], found[2]["cwd"]) == ("/home/ana/sub", "/abs")


def test_every_bad_line_is_told_of() -> None:
    reader = BulkReader(LINE, parse(submit.VERB, []), {}, {})
    deep = '{"command": ' + "[" * 100_000
    found = dict(reader.lines(f"echo\n-g many echo\n--help\n{{x\n{deep}\necho"))
    assert sorted(n for n, job in found.items() if isinstance(job, UsageError)) == [2, 3, 4, 5]
