"""What a person may ask, and the one line that says what is wrong with it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from roost.core.errors import BadRequest, RoostError, TooLarge
from roost.core.spec import MAX_ARGUMENT_BYTES, JobSpec, changed, check, default_name, display_command

BAD: list[tuple[dict[str, Any], str]] = [
    ({"command": []}, "the command is empty"),
    ({"command": " "}, "the command is empty"),
    ({"command": "a\0b"}, "NUL byte"),
    ({"command": ["a", "b\0"]}, "NUL byte"),
    ({"gpus": -1}, "gpus must be between 0 and 100,000, not -1"),
    ({"mem_mib": 0}, "mem_mib must be between"),
    ({"gpus": 0, "mem_mib": 5}, "a job without GPUs"),
    ({"exclusive": True, "mem_mib": 5}, "choose one"),
    ({"gpus": 2, "gpu_ids": ("0",)}, "2 GPUs requested, but only 1 named"),
    ({"gpus": 0, "gpu_models": ("A100",)}, "a job without GPUs"),
    ({"gpus": 0, "min_gpu_mem_mib": 5}, "a job without GPUs"),
    ({"gpus": 0, "mem_auto": True}, "a job without GPUs"),
    ({"exclusive": True, "mem_auto": True}, "choose one"),
    ({"mem_mib": 5, "mem_auto": True}, "choose one"),
    ({"min_gpu_mem_mib": 0}, "min_gpu_mem_mib must be between"),
    ({"gpu_models": ("",)}, "gpu_models: '' is not valid"),
    ({"gpu_models": ("A100|H100",)}, r"not be empty or contain , or \|"),
    ({"gpu_models": ("A\n",)}, "control characters are not allowed"),
    ({"nodes": (" ",)}, "nodes: ' ' is not valid"),
    ({"prefer_nodes": ("a,b",)}, "nodes: 'a,b' is not valid; it must not be empty or contain ,"),
    ({"nodes": ("x" * 256,)}, "at most 255"),
    ({"nodes": ("x",) * 1001}, "nodes has 1,001 entries, at most 1,000"),
    ({"warn_signal": "BOOM"}, "unknown signal 'BOOM'"),
    ({"name": "a\nb"}, "name: control characters"),
    ({"name": "x" * 201}, "at most 200"),
    ({"labels": ("a,b",)}, "labels: 'a,b' is not valid"),
    ({"labels": ("",)}, "labels: '' is not valid"),
    ({"cwd": "here"}, "cwd must be an absolute path"),
    ({"env": {"A=B": "c"}}, "invalid environment variable 'A"),
    ({"env": {"A": "\0"}}, "invalid environment variable 'A"),
    ({"script": "echo", "command": "x"}, "with a script"),
]


@pytest.mark.parametrize(("asked", "words"), BAD)
def test_one_line_says_what_is_wrong(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(RoostError, match=words) as error:
        check(JobSpec(**{"command": "true", **asked}), index=3)
    assert error.value.index == 3 and "\n" not in error.value.message


@pytest.mark.parametrize("asked", [{"command": "x" * (MAX_ARGUMENT_BYTES + 1)}, {"command": ["x" * 100_000] * 16}])
def test_a_command_that_the_kernel_would_not_take_is_too_large(asked: dict[str, Any]) -> None:
    with pytest.raises(TooLarge, match="bytes"):
        check(JobSpec(**asked))


@pytest.mark.parametrize(
    "asked",
    [
        {"name": "训练一号"},
        {"gpus": 0},
        {"gpus": 0, "nodes": ("lab3",)},
        {"mem_auto": True},
        {"command": ["echo", ""]},
        {"desc": "two\nlines"},
    ],
)
def test_ordinary_things_pass(asked: dict[str, Any]) -> None:
    check(JobSpec(**{"command": "true", **asked}))


def test_an_unknown_key_or_a_wrong_type_is_refused_as_strictly_in_an_edit() -> None:
    for changes in ({"gpu": 1}, {"gpus": "1"}):
        with pytest.raises(msgspec.ValidationError):
            changed(JobSpec("true"), changes)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["python", "-u", "/a/train.py", "--x"], "train.py"),
        ("bash run.sh", "run.sh"),
        (["/usr/bin/nvidia-smi"], "nvidia-smi"),
        (["python"], "python"),
        ("id; whoami", "id"),
        ("(cd x&&python -u t.py)", "cd"),
        ("A=1 B=2 python t.py>out", "t.py"),
        ("; ;", "job"),
        ("A=1", "job"),
        ("x" * 100, "x" * 60),
    ],
)
def test_a_job_without_a_name_is_named_by_its_command(command: list[str] | str, name: str) -> None:
    assert default_name(JobSpec(command)) == name


def test_an_argv_is_shown_as_a_shell_would_need_it() -> None:
    assert display_command(JobSpec(["echo", "a b", "it's", ""])) == """echo 'a b' 'it'"'"'s' ''"""


def test_an_environment_never_reaches_a_repr_of_what_is_kept() -> None:
    from roost.server.rounds.submit import kept
    from roost.store.writes import NewEnv

    assert b"hunter2" not in kept(JobSpec("true", env={"PASSWORD": "hunter2"}), NewEnv("digest")).spec


def test_errors_carry_a_code_and_a_status() -> None:
    assert (BadRequest.code, BadRequest.status) == ("bad_request", 400)
