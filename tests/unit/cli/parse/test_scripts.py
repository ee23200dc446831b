from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.cli.parse import scripts
from roost.cli.parse.options import UsageError


def test_a_file_with_directives_is_a_script(tmp_path: Path) -> None:
    path = tmp_path / "job.sh"
    path.write_text("#!/bin/bash\n#ROOST -g 2\necho hi\n")
    assert scripts.read_script(str(path)) == "#!/bin/bash\n#ROOST -g 2\necho hi\n"


@pytest.mark.parametrize(
    "content", [b"#!/bin/sh\necho hi\n", b"\x7fELF\0\0#ROOST -g 1\n", b"echo\n#ROOST -g 2\n", b"#ROOSTER -g 2\n", b""]
)
def test_other_files_are_not(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "job.sh"
    path.write_bytes(content)
    assert scripts.read_script(str(path)) is None


def test_what_is_no_file_is_not(tmp_path: Path) -> None:
    assert scripts.read_script(str(tmp_path)) is None
    assert scripts.read_script(str(tmp_path / "none")) is None
    assert scripts.read_script("a\0b") is None


def test_a_script_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "job.sh"
    path.write_bytes(b"#ROOST -g 1\necho \xff\n")
    with pytest.raises(UsageError, match="must be UTF-8"):
        scripts.read_script(str(path))


def test_directives_end_with_the_first_line_of_code() -> None:
    text = "#!/bin/sh\n# a comment\n\n#ROOST -g 2 --name 'a b' # why\n#ROOST --time 2h\necho\n#ROOST -g 9\n"
    assert vars(scripts.directives(text, "job.sh")) == {
        "own": ["-g", "2", "--name", "a b", "--time", "2h"],
        "slurm": [],
        "ignored": [],
    }


def test_an_open_quote_is_named_with_its_line() -> None:
    with pytest.raises(UsageError, match=r"job\.sh:2: missing closing '"):
        scripts.directives("#!/bin/sh\n#ROOST --name 'x\n", "job.sh")


@pytest.mark.parametrize(
    ("line", "understood"),
    [
        ("--job-name=x", ["--name=x"]),
        ("-J x -t 1-00:00:00", ["--name=x", "--time=1-00:00:00"]),
        ("-Jx", ["--name=x"]),
        ("--gres=gpu:2", ["--gpus=2"]),
        ("--gres=gpu:a100:4", ["--gpus=4", "--gpu-model=a100"]),
        ("--gres=gpu:H100", ["--gpus=1", "--gpu-model=H100"]),
        ("--gres=gpu:ours:2", ["--gpus=2"]),
        ("--gres=gpu", ["--gpus=1"]),
        ("--gpus a100:3", ["--gpus=3", "--gpu-model=a100"]),
        ("--gpus-per-node=fast:2", ["--gpus=2"]),
        ("-w lab3", ["--node=lab3"]),
        ("--nodelist=lab[1-2],box", ["--node=lab1", "--node=lab2", "--node=box"]),
        ("-C a100", ["--gpu-model=a100"]),
        ("--constraint='[A100|H100]'", ["--gpu-model=A100|H100"]),
        ("-G 2", ["--gpus=2"]),
        ("--output=o-%j.txt --error=e", ["--output=o-%j.txt", "--error=e"]),
        ("-D /x --chdir=/y", ["--cwd=/x", "--cwd=/y"]),
        ("--dependency=afterok:1:2,afterany:3", ["--after=1,2", "--after-any=3"]),
        ("--dependency=afternotok:4", ["--after-fail=4"]),
        ("--begin=16:00 --comment='a b'", ["--begin=16:00", "--desc=a b"]),
        ("--open-mode=append", ["--append"]),
        ("--hold", ["--hold"]),
        ("--requeue -J x", ["--preemptible", "--name=x"]),
    ],
)
def test_slurm_options_that_mean_something_here(line: str, understood: list[str]) -> None:
    assert scripts.sbatch_options(scripts.split_words(line)) == (understood, [])


def test_slurm_options_that_do_not_are_named_once() -> None:
    text = "#SBATCH --partition=gpu\n#SBATCH -N 1 --ntasks 4\n#SBATCH -N 2\n#SBATCH --gres=fpga:1\n"
    assert scripts.directives(text, "x").ignored == ["--partition", "-N", "--ntasks", "--gres=fpga:1"]


@pytest.mark.parametrize("line", ["-C skylake", "--constraint=a100&ib", "--constraint=a100*2", "-w lab[1-", "-w lab[x]"])
def test_words_of_a_site_are_not_guessed_at(line: str) -> None:
    understood, unknown = scripts.sbatch_options(scripts.split_words(line))
    assert understood == [] and len(unknown) == 1


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a", ["a"]),
        ("a,b", ["a", "b"]),
        ("n[08-10]", ["n08", "n09", "n10"]),
        ("n[1,3-4]-ib,x", ["n1-ib", "n3-ib", "n4-ib", "x"]),
        ("a,n[1],m[2]", ["a", "n1", "m2"]),
        ("", []),
        ("n[1-100000]", []),
        ("n[1][2]", []),
        ("n[3-1]", []),
    ],
)
def test_lists_of_nodes_as_slurm_writes_them(text: str, names: list[str]) -> None:
    assert scripts.expand_nodes(text) == names


@given(st.text(alphabet="n[]-,12", max_size=10))
def test_no_list_of_nodes_breaks_it(text: str) -> None:
    assert all(scripts.expand_nodes(text))


@given(st.text(alphabet="ab '\"\\#\t", max_size=12))
def test_words_are_those_of_the_standard_library(line: str) -> None:
    try:
        expected = shlex.split(line, comments=True)
    except ValueError:
        return
    if "#" not in line:  # shlex takes a # inside a word for a comment, the shell does not
        assert scripts.split_words(line) == expected
